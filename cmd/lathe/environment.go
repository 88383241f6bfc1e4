package main

import (
	"os"
	"path/filepath"
)

// The environment variables that Lathe reads; there are no others, and every one that mattered
// stands in the raw file. NO_COLOR is obeyed without being read: nothing is coloured.
const (
	envBackend = "LATHE_BACKEND"        // default of --backend
	envCache   = "LATHE_CACHE"          // default: lathe in the user's cache directory
	envVisible = "CUDA_VISIBLE_DEVICES" // as the driver reads it
	envSummary = "GITHUB_STEP_SUMMARY"  // file that gate appends its outcome to
)

// defaultBackend is the backend where --backend is not given.
func (app *application) defaultBackend() string {
	if b := app.env(envBackend); b != "" {
		return b
	}
	return "cpu"
}

// cacheDir is where what was fetched is kept between runs.
func (app *application) cacheDir() (string, error) {
	if dir := app.env(envCache); dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", usageError(envCache+" names one", "find the cache directory: %w", err)
	}
	return filepath.Join(user, "lathe"), nil
}
