package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestOpenOneTensor(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6}
	path := file(t, SingleFile, one("w", "BF16", "[1,3]", data))
	for _, p := range []string{path, filepath.Dir(path)} {
		c := opened(t, p, Options{})
		w, ok := c.Tensor("w")
		if want := (Tensor{Name: "w", DType: "BF16", Shape: []int64{1, 3}, Data: data, File: path}); !ok || !reflect.DeepEqual(w, want) {
			t.Errorf("%+v, %v, want %+v", w, ok, want)
		}
		if cap(w.Data) != len(w.Data) {
			t.Error("an append to Data would write into the map")
		}
		if _, ok := c.Tensor("v"); ok || c.Bytes() != 6 || c.Path != path || !reflect.DeepEqual(c.Files, []string{path}) || len(c.Warnings) != 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestHeaderAccepts(t *testing.T) {
	for header, names := range map[string]string{
		`{}`:                    "",
		`{}   `:                 "",
		"{ \n\t\r}":             "",
		`{"__metadata__":{}}`:   "",
		`{"__metadata__":null}`: "",
		`{"__metadata__":{"format":"pt","a":"\u00e9\n\"\\\/\ud83d\ude00"}}`:                                                   "",
		`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`:                                                              "a",
		`{"a":{"dtype":"F32","shape":[0,9223372036854775807,9223372036854775807],"data_offsets":[0,0]}}`:                      "a",
		`{"a":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[0,0]}}`:                      "a",
		`{"a":{"data_offsets":[0,0],"shape":[0,3],"dtype":"I64"},"b":{"shape":[-0],"dtype":"F32","data_offsets":[0,0]}}`:      "a b",
		`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"future":{"x":[1,-2.5e3,"\u0041",{"y":null}],"z":true}}}`:        "a",
		`{"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`:                                                          "a",
		`{"\ud83d\ude00":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`: "😀 ",
	} {
		c, err := OpenFile(file(t, "x.safetensors", pack(header, nil)))
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		if got := strings.Join(c.Names(), " "); got != names {
			t.Errorf("%s: names %q, want %q", header, got, names)
		}
		c.Close()
	}
}

func TestHeaderRefuses(t *testing.T) {
	entry := func(body string) string { return `{"w":{` + body + `}}` }
	sound := `"dtype":"BF16","shape":[2],"data_offsets":[0,4]`
	for header, class := range map[string]Class{
		``: HeaderJSON, ` `: HeaderJSON, ` {}`: HeaderJSON, `{`: HeaderJSON, `{}}`: HeaderJSON, `{},`: HeaderJSON, `{,}`: HeaderJSON, `{"w"}`: HeaderJSON,
		`{"w":{}}`: HeaderJSON, `{"w":[]}`: HeaderJSON, `{"w":1}`: HeaderJSON, `{w:{}}`: HeaderJSON, "{\"w\n\":{}}": HeaderJSON, `{"w\x":{}}`: HeaderJSON,
		`{"\ud800":{}}`: HeaderJSON, `{"\ud800\u0041":{}}`: HeaderJSON, `{"\u12`: HeaderJSON, `{"\`: HeaderJSON, `{"\u12G4":{}}`: HeaderJSON,
		`{"__metadata__":{"a":1}}`: HeaderJSON, `{"__metadata__":[]}`: HeaderJSON, `{"__metadata__":{},"__metadata__":{}}`: HeaderJSON, `{"__metadata__":nul}`: HeaderJSON,
		entry(sound) + "x": HeaderJSON, entry(sound + ","): HeaderJSON, entry(sound + `,"dtype":"BF16"`): HeaderJSON,
		entry(`"shape":[2],"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":[2]`): HeaderJSON,
		entry(`"dtype":16,"shape":[2],"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"bf16","shape":[2],"data_offsets":[0,4]`): DType,
		entry(`"dtype":"BF16","shape":2,"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":["2"],"data_offsets":[0,4]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[2.0],"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":[2e0],"data_offsets":[0,4]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[02],"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":[+2],"data_offsets":[0,4]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[2,],"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":[2 2],"data_offsets":[0,4]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[[2]],"data_offsets":[0,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":[null],"data_offsets":[0,4]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[-2],"data_offsets":[0,4]`): ShapeBytes, entry(`"dtype":"BF16","shape":[3],"data_offsets":[0,4]`): ShapeBytes,
		entry(`"dtype":"BF16","shape":[],"data_offsets":[0,4]`): ShapeBytes, entry(`"dtype":"BF16","shape":[0],"data_offsets":[0,4]`): ShapeBytes,
		entry(`"dtype":"BF16","shape":[18446744073709551616],"data_offsets":[0,4]`): ShapeBytes, entry(`"dtype":"BF16","shape":[9223372036854775807],"data_offsets":[0,4]`): ShapeBytes,
		entry(`"dtype":"BF16","shape":[4294967296,4294967296,2],"data_offsets":[0,4]`): ShapeBytes, entry(`"dtype":"F4","shape":[7],"data_offsets":[0,4]`): ShapeBytes,
		entry(`"dtype":"BF16","shape":[2],"data_offsets":[]`): HeaderJSON, entry(`"dtype":"BF16","shape":[2],"data_offsets":[0]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[2],"data_offsets":[0,4,4]`): HeaderJSON, entry(`"dtype":"BF16","shape":[2],"data_offsets":[0,4.0]`): HeaderJSON,
		entry(`"dtype":"BF16","shape":[2],"data_offsets":[-4,0]`): Offsets, entry(`"dtype":"BF16","shape":[2],"data_offsets":[4,0]`): Offsets,
		entry(`"dtype":"BF16","shape":[2],"data_offsets":[2,4]`): Offsets, entry(`"dtype":"BF16","shape":[2],"data_offsets":[9223372036854775804,9223372036854775808]`): Offsets,
		entry(`"dtype":"BF16","shape":[1],"data_offsets":[0,2]`): Offsets, entry(`"dtype":"BF16","shape":[2],"data_offsets":[99999999999999999999999,4]`): Offsets,
		entry(`"dtype":"BF16","shape":[3],"data_offsets":[0,6]`): Truncated, entry(sound + `,"x":` + strings.Repeat("[", 65) + strings.Repeat("]", 65)): HeaderJSON,
		entry(sound + `,"x":[1,}`): HeaderJSON, entry(sound + `,"x":tru`): HeaderJSON, entry(sound + `,"x":-`): HeaderJSON, entry(sound + `,"x":1.`): HeaderJSON,
		entry(sound + `,"x":{"a" 1}`): HeaderJSON, entry(sound + `,"x":{"a":1,}`): HeaderJSON, entry(sound + `,"x":`): HeaderJSON,
	} {
		path := file(t, SingleFile, pack(header, make([]byte, 4)))
		_, err := OpenFile(path)
		wantFault(t, err, class, path)
		outside := strings.HasSuffix(header, "x") || strings.Contains(header, "[0,2]") // what is wrong lies outside the entry
		if strings.HasPrefix(header, `{"w":{"`) && !outside {
			wantFault(t, err, class, `"w"`)
		}
	}
}

func TestRangesMustTileTheData(t *testing.T) {
	entry := func(name string, begin, end int) string {
		return fmt.Sprintf(`%q:{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}`, name, max(end-begin, 0), begin, end)
	}
	for _, tc := range []struct {
		entries []string
		class   Class
		mention []string
	}{
		{[]string{entry("b", 4, 8), entry("a", 0, 4), entry("e", 4, 4)}, "", nil}, // any order in the header
		{[]string{entry("a", 0, 4), entry("b", 4, 7)}, Offsets, []string{"1 trailing bytes"}},
		{[]string{entry("a", 0, 4), entry("b", 5, 8)}, Offsets, []string{`"b"`, "hole of 1 bytes", `"a"`}},
		{[]string{entry("a", 1, 8)}, Offsets, []string{`"a"`, "hole of 1 bytes", "start of the data"}},
		{[]string{entry("a", 0, 5), entry("b", 4, 8)}, Offsets, []string{`"b"`, "overlap", `"a"`}},
		{[]string{entry("a", 0, 8), entry("b", 0, 8)}, Offsets, []string{`"b"`, "overlap", `"a"`}},
		{[]string{entry("a", 0, 8), entry("e", 3, 3)}, Offsets, []string{`"e"`, "overlap"}},
		{[]string{entry("a", 0, 4), entry("b", 4, 9), entry("c", 9, 12)}, Truncated, []string{`"b"`, "4 are missing"}},
		{nil, Offsets, []string{"8 trailing bytes"}},
	} {
		path := file(t, SingleFile, pack("{"+strings.Join(tc.entries, ",")+"}", []byte("datadata")))
		c, err := OpenFile(path)
		if tc.class == "" {
			if err != nil || strings.Join(c.Names(), "") != "aeb" {
				t.Errorf("%q: %v", tc.entries, err)
			}
			continue
		}
		wantFault(t, err, tc.class, append(tc.mention, path)...)
	}
}

func TestP197_HeaderLengths(t *testing.T) {
	lengths := []int{8, 9, 15, 16, 1 << 20}
	for n := 99_992; n <= 100_008; n++ {
		lengths = append(lengths, n)
	}
	if !testing.Short() {
		lengths = append(lengths, MaxHeader)
	}
	for _, n := range lengths {
		header := `{}`
		if n > 100 {
			header = `{"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`
		}
		data := []byte{0x80, 0x3f, 0x40, 0xc0}[:len(header)/50*4]
		header += strings.Repeat(" ", n-len(header))
		path := file(t, SingleFile, pack(header, data))
		c, err := OpenFile(path)
		if err != nil {
			t.Errorf("header of %d bytes: %v", n, err)
			continue
		}
		if w, ok := c.Tensor("w"); n > 100 && (!ok || !bytes.Equal(w.Data, data)) {
			t.Errorf("header of %d bytes: data %x", n, w.Data)
		}
		c.Close()
		os.Remove(path)
	}
	for _, n := range []uint64{MaxHeader + 1, 1 << 32, 1<<62 + 5, 1<<63 - 1, 1 << 63, 1<<64 - 8, 1<<64 - 1} {
		path := file(t, SingleFile, binary.LittleEndian.AppendUint64(nil, n))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := OpenFile(path)
		runtime.ReadMemStats(&after)
		wantFault(t, err, HeaderLength, path, fmt.Sprint(n), "limit of 100000000")
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("length %d: %d bytes allocated", n, got)
		}
	}
}
