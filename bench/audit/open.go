package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"lathe/bench"
	"lathe/bench/frame"
	"lathe/bench/serving"
)

// Options say how a file is read.
type Options struct {
	// Count counts tokens where a file holds texts and no second count of them;
	// nil leaves it.
	Count serving.Counter
}

// MaxFile is how many bytes of a result file are read, decompressed; a longer
// one is refused before it fills the memory.
const MaxFile = 256 << 20

// Open reads a result file, recognised by what is in it. PATH#N is the N-th
// result of a file that holds several; without it the last is meant.
func Open(path string, o Options) (*File, error) {
	path, entry := splitEntry(path)
	f, err := open(path, entry, o)
	if err != nil {
		var raw rawError
		if errors.As(err, &raw) {
			return nil, raw.error
		}
		var at *fs.PathError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("read result file: %w", err)
		}
		return nil, fmt.Errorf("read result file: %s: %w", filepath.Base(path), err)
	}
	f.Name = filepath.Base(path)
	return f, nil
}

// splitEntry takes the number of a result off a path; 0 is none.
func splitEntry(path string) (string, int) {
	if _, err := os.Stat(path); err == nil {
		return path, 0
	}
	if at := strings.LastIndexByte(path, '#'); at > 0 {
		if n, err := strconv.Atoi(path[at+1:]); err == nil && n > 0 {
			return path[:at], n
		}
	}
	return path, 0
}

// headSize is how much of a file is looked at to tell what it is.
const headSize = 64 << 10

func open(path string, entry int, o Options) (*File, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, errors.New("is a directory")
	}
	text, err := bench.OpenText(path)
	if err != nil {
		return nil, cutStream(err)
	}
	defer text.Close()
	head := bufio.NewReaderSize(text, headSize)
	start, _ := head.Peek(headSize)
	if ours(start) {
		if entry > 0 {
			return nil, errors.New("a raw file holds one run: it has no numbered results")
		}
		return openRaw(path, o)
	}
	data, err := io.ReadAll(io.LimitReader(head, MaxFile+1))
	if err != nil {
		return nil, cutStream(err)
	}
	return parse(data, filepath.Base(path), entry, o)
}

// cutStream says in words that compressed data ends too early.
func cutStream(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("its compressed data is cut short: %w", err)
	}
	return err
}

// ours says whether a file begins as a raw file does.
func ours(start []byte) bool {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) && runKind().Match(line)
}

func runKind() *regexp.Regexp { return regexp.MustCompile(`"kind"\s*:\s*"run"`) }

// parse reads the bytes of a result file that is none of ours.
func parse(data []byte, name string, entry int, o Options) (*File, error) {
	switch {
	case len(data) > MaxFile:
		return nil, fmt.Errorf("longer than %d MiB", MaxFile>>20)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("it is empty")
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if isLlamaCSV(data) {
		return readLlamaCSV(data, entry)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it is neither UTF-8 text nor a compressed file")
	}
	d := &frame.Doc{}
	texts, warnings, err := values(d, data)
	if err != nil {
		return nil, err
	}
	f, err := recognise(d, texts, name, entry, o)
	if err != nil {
		return nil, err
	}
	f.Warnings = append(f.Warnings, warnings...)
	return f, nil
}

// values takes a file of one JSON value, or of one a line, apart, and leaves the
// last of them in d.
func values(d *frame.Doc, data []byte) (texts [][]byte, warnings []string, err error) {
	whole := d.Parse(data)
	if whole == nil {
		return [][]byte{data}, nil, nil
	}
	whole = fmt.Errorf("%w", whole) // the document is used again below
	text := whole.Error()
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if d.Parse(line) != nil {
			if len(texts) > 0 && last(lines[i+1:]) {
				_ = d.Parse(texts[len(texts)-1]) // it was read above
				return texts, []string{fmt.Sprintf("line %d, the last, is torn and was left out", i+1)}, nil
			}
			if len(texts) == 0 {
				return nil, nil, errors.New(text + cutShort(data))
			}
			return nil, nil, fmt.Errorf("line %d is not JSON", i+1)
		}
		texts = append(texts, line)
	}
	return texts, nil, nil
}

// cutShort says of a JSON text that cannot be read that it does not end as one.
func cutShort(data []byte) string {
	data = bytes.TrimSpace(data)
	if (data[0] == '{' || data[0] == '[') && data[len(data)-1] != '}' && data[len(data)-1] != ']' {
		return ": it is cut short"
	}
	return ""
}

// last says whether only blank lines follow.
func last(lines [][]byte) bool {
	for _, l := range lines {
		if len(bytes.TrimSpace(l)) > 0 {
			return false
		}
	}
	return true
}

// form is one kind of result file: how a value of it is told, and its reader.
type form struct {
	what string
	is   func(v frame.Value) bool
	read func(v frame.Value, o Options) (*File, error)
}

func forms() []form {
	return []form{
		{"vLLM", isVLLM, readVLLM},
		{"SGLang", isSGLang, readSGLang},
		{"AIPerf", isAIPerf, readAIPerf},
		{"NVBench", isNVBench, readNVBench},
		{"vLLM offline", isVLLMOffline, readVLLMOffline},
		{"SGLang offline", isSGLangThroughput, readSGLangThroughput},
	}
}

// recognise picks the reader of a file's values, the last of which is in d, and
// the value.
func recognise(d *frame.Doc, texts [][]byte, name string, entry int, o Options) (*File, error) {
	switch {
	case isLlama(d.Root()):
		return readLlama(texts, entry)
	case isOneBatch(d.Root()):
		return readOneBatch(texts, entry)
	case isGuideLLM(d.Root()):
		f, err := readGuideLLM(d.Root(), entry)
		if err != nil {
			return nil, fmt.Errorf("guidellm result: %w", err)
		}
		return f, nil
	}
	if entry > len(texts) {
		return nil, fmt.Errorf("it holds %s, not %d", plural(len(texts), "result"), entry)
	}
	at := len(texts)
	if entry > 0 {
		at = entry
		if err := d.Parse(texts[at-1]); err != nil {
			return nil, err
		}
	}
	for _, form := range forms() {
		if !form.is(d.Root()) {
			continue
		}
		f, err := form.read(d.Root(), o)
		if err != nil {
			return nil, fmt.Errorf("%s result: %w", form.what, err)
		}
		if f.Entries == 0 {
			f.Entry, f.Entries = at, len(texts)
		}
		f.severalResults(entry)
		f.named(name)
		return f, nil
	}
	if what := otherFile(d.Root()); what != "" {
		return nil, errors.New(what)
	}
	return nil, fmt.Errorf("not a result file that is known: JSON of %s", shape(d.Root()))
}

// otherFile names files that are near to a result and none.
func otherFile(v frame.Value) string {
	for name := range v.Members() {
		if _, err := serving.ParseSemantics(name); err == nil {
			return "a report of lathe: audit the capture that it was made from"
		}
	}
	switch {
	case v.Get("metadata").Get("benchmark_phase").Is(frame.String):
		return "AIPerf's records of requests: audit profile_export_aiperf.json beside it"
	case v.Is(frame.Array) && !v.First().Get("benchmark").Is(frame.Missing) && !v.First().Get("metric").Is(frame.Missing):
		return "vLLM's side file for PyTorch's dashboards: audit the result beside it"
	}
	return ""
}

// severalResults says that others stand in the file too.
func (f *File) severalResults(entry int) {
	if f.Entries > 1 && entry == 0 {
		f.warn(fmt.Sprintf("it holds %d results: the last is read; FILE#N is the N-th", f.Entries))
	}
}

// shape names what a value is by its first keys.
func shape(v frame.Value) string {
	if !v.Is(frame.Object) {
		return "an array or a single value"
	}
	var keys []string
	for k := range v.Members() {
		if keys = append(keys, strconv.Quote(clip(k, 40))); len(keys) == 4 {
			break
		}
	}
	if len(keys) == 0 {
		return "an empty object"
	}
	return "the keys " + strings.Join(keys, ", ") + ", …"
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
