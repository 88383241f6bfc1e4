package safetensors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestShardedCheckpoint(t *testing.T) {
	dir := directory(t, map[string][]byte{"b.safetensors": tensors("x", "y"), "a.safetensors": tensors("z"), "other.safetensors": tensors("x"),
		IndexFile: index("x:b.safetensors", "z:a.safetensors", "y:b.safetensors")})
	c := opened(t, dir, Options{})
	if got := strings.Join(c.Names(), ""); got != "zxy" || len(c.Files) != 2 || c.Path != filepath.Join(dir, IndexFile) || len(c.Warnings) != 0 {
		t.Errorf("names %s, %+v", got, c)
	}
	if y, _ := c.Tensor("y"); y.File != filepath.Join(dir, "b.safetensors") {
		t.Errorf("y in %s", y.File)
	}
	dir = directory(t, map[string][]byte{"sub/b.safetensors": tensors("x", "y"), IndexFile: index("x:sub/b.safetensors")})
	c = opened(t, dir, Options{})
	if _, ok := c.Tensor("y"); !ok || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "does not list: y") {
		t.Errorf("an unlisted tensor: %q", c.Warnings)
	}
	dir = directory(t, map[string][]byte{SingleFile: tensors("x"), IndexFile: index("x:gone.safetensors")})
	c = opened(t, dir, Options{})
	if len(c.Names()) != 1 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], IndexFile) {
		t.Errorf("a single file beside an index: %q", c.Warnings)
	}
}

func TestIndexRefuses(t *testing.T) {
	for text, mention := range map[string]string{
		"": "empty", " ": "JSON", "{": "JSON", "[]": "JSON", "{}": "weight_map", `{"weight_map":{}}`: "weight_map", `{"weight_map":[]}`: "JSON",
		`{"weight_map":{"x":1}}`: "JSON", `{"weight_map":{"x":"a"}} x`: "JSON", `{"weight_map":{"x":"a","x":"a"}}`: "listed twice",
		`{"weight_map":{"x":"a"},"weight_map":{"x":"a"}}`: "weight_map stands twice", `{"weight_map":{"x":""}}`: `""`, "{\"weight_map\":{\"x\":\"a\\u0000b\"}}": `x00`,
		"{\"weight_map\":{\"x\":\"\xff\"}}": "UTF-8", `{"metadata":` + strings.Repeat("[", 100000): "nests",
		`{"weight_map":{"x":"good.safetensors","q":"good.safetensors"}}`:  `"q"`,
		`{"weight_map":{"y":"good.safetensors","x":"other.safetensors"}}`: "it is in other.safetensors",
		`{"weight_map":{"x":"gone.safetensors"}}`:                         "gone.safetensors",
	} {
		files := map[string][]byte{IndexFile: []byte(text), "good.safetensors": tensors("x"), "other.safetensors": tensors("y")}
		_, err := Open(directory(t, files))
		wantFault(t, err, Index, IndexFile, mention)
	}
	_, err := Open(directory(t, map[string][]byte{IndexFile: index("x:a.safetensors", "y:b.safetensors"), "a.safetensors": tensors("x", "y"), "b.safetensors": tensors("y")}))
	wantFault(t, err, Index, IndexFile, `"y"`, "a.safetensors", "b.safetensors", "both")
	_, err = Open(directory(t, map[string][]byte{IndexFile: index("x:a.safetensors"), "a.safetensors": tensors("x")[:5]}))
	wantFault(t, err, Truncated, "a.safetensors")
}

func TestIndexPathEscapes(t *testing.T) {
	for _, name := range []string{"../outside.safetensors", "a/../../outside.safetensors", "..", "a/..", "/outside.safetensors", `C:\outside.safetensors`, "c:/outside.safetensors",
		`\\host\share\x.safetensors`, `..\outside.safetensors`, `a\..\..\outside.safetensors`, "//host/x"} {
		dir := directory(t, map[string][]byte{"outside.safetensors": tensors("x"), "m/" + IndexFile: index("w:good.safetensors", "x:"+name), "m/good.safetensors": []byte("not opened before all names are judged")})
		_, err := Open(filepath.Join(dir, "m"))
		wantFault(t, err, PathEscape, IndexFile, "outside")
	}
}

// A download cache keeps its files elsewhere and links to them.
func TestSymbolicLinksAreFollowed(t *testing.T) {
	dir := directory(t, map[string][]byte{"blobs/1234": tensors("x"), "m/" + IndexFile: index("x:a.safetensors")})
	if err := os.Symlink(filepath.Join("..", "blobs", "1234"), filepath.Join(dir, "m", "a.safetensors")); err != nil {
		t.Skip(err)
	}
	opened(t, filepath.Join(dir, "m"), Options{})
}

func TestP195_StaleIndex(t *testing.T) {
	files := map[string][]byte{}
	var places []string
	for i := 1; i <= 30; i++ {
		places = append(places, fmt.Sprintf("t%d:a-%d.safetensors", i, i))
	}
	for i := 1; i <= 15; i++ {
		files[fmt.Sprintf("b-%d.safetensors", i)] = tensors(fmt.Sprintf("t%d", i), fmt.Sprintf("t%d", i+15))
	}
	files[IndexFile] = index(places...)
	dir := directory(t, files)
	_, err := Open(dir)
	wantFault(t, err, Index, IndexFile, "30 shards", "15 other safetensors files", "a-1.safetensors", "b-1.safetensors", "index does not describe")

	c := opened(t, dir, Options{IgnoreIndex: true})
	if len(c.Names()) != 30 || len(c.Files) != 15 || c.Path != dir {
		t.Errorf("%d tensors in %d files, %s", len(c.Names()), len(c.Files), c.Path)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.safetensors"), tensors("t7"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = OpenWith(dir, Options{IgnoreIndex: true})
	wantFault(t, err, Index, "t7", "b-7.safetensors", "c.safetensors")

	dir = directory(t, map[string][]byte{IndexFile: index("x:a-1.safetensors", "y:a-2.safetensors"), "a-1.safetensors": tensors("x")})
	_, err = Open(dir)
	wantFault(t, err, Index, "2 shards, 1 of them absent", "a-2.safetensors")
	_, err = OpenWith(t.TempDir(), Options{IgnoreIndex: true})
	wantFault(t, err, MissingFile, "safetensors")
}

func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	for path, mention := range map[string]string{filepath.Join(dir, "gone"): "gone", dir: SingleFile} {
		_, err := Open(path)
		wantFault(t, err, MissingFile, mention, "safetensors")
	}
	_, err := OpenFile(dir)
	wantFault(t, err, MissingFile, "regular file")
	_, err = Open(directory(t, map[string][]byte{"model-00002-of-00002.safetensors": tensors("x")}))
	wantFault(t, err, MissingFile, IndexFile, "model-00002-of-00002.safetensors")
	_, err = Open(directory(t, map[string][]byte{SingleFile + "/x": nil}))
	wantFault(t, err, MissingFile, SingleFile, "regular file")
}
