package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// cudaPlugin is the CUDA backend's file, beside the executable.
const cudaPlugin = "liblathe_cuda.so"

// isBackendWord says whether a --backend is one of the words, and not a path.
func isBackendWord(name string) bool { return slices.Contains(backendWords(), name) }

// pluginPath is the file behind a --backend that is not built in: cuda lies beside the executable,
// anything else is a path.
func pluginPath(name string) (string, error) {
	path := name
	if name == "cuda" {
		exe, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("backend cuda: where this executable lies is unknown: %w", err)
		}
		path = filepath.Join(filepath.Dir(exe), cudaPlugin)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil && name == path:
		return "", fmt.Errorf("backend %s: no such plug-in", name)
	case err != nil:
		return "", fmt.Errorf("backend %s: %s: no such plug-in", name, path)
	case !info.Mode().IsRegular(): // opening a pipe waits for its writer
		return "", fmt.Errorf("backend %s: not a file", name)
	}
	return path, nil
}
