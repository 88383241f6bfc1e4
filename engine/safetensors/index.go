package safetensors

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// place is one line of an index's weight_map.
type place struct{ tensor, file string }

// openIndexed opens the shards that an index names. Every name is judged before
// any file is opened.
func openIndexed(dir, index string) (*Checkpoint, error) {
	places, err := readIndex(index)
	if err != nil {
		return nil, at(index, err)
	}
	shards := shardNames(places)
	for _, s := range shards {
		if err := checkShardName(s); err != nil {
			return nil, at(index, err)
		}
	}
	if err := checkPresent(dir, shards); err != nil {
		return nil, at(index, err)
	}
	c := &Checkpoint{Path: index, tensors: map[string]Tensor{}}
	for _, s := range shards {
		if err := c.add(filepath.Join(dir, filepath.FromSlash(s))); err != nil {
			c.Close()
			return nil, at(index, err)
		}
	}
	if err := c.checkPlaces(dir, places); err != nil {
		return nil, c.giveUp(err)
	}
	return c, nil
}

// openAll opens every *.safetensors file of a directory, by name.
func openAll(dir string) (*Checkpoint, error) {
	files := weightFiles(dir)
	if len(files) == 0 {
		return nil, noWeights(dir)
	}
	c := &Checkpoint{Path: dir, tensors: map[string]Tensor{}}
	for _, f := range files {
		if err := c.add(filepath.Join(dir, f)); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// readIndex reads {"metadata": any, "weight_map": {"tensor": "file"}}.
func readIndex(path string) ([]place, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fault(Index, "the index is empty")
	}
	defer f.Close()
	if size > MaxIndex {
		return nil, fault(Index, "the index has %d bytes, the limit is %d", size, MaxIndex)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxIndex))
	if err != nil {
		return nil, &Error{Class: Index, Msg: "cannot read: " + reason(err), Err: err}
	}
	return parseIndex(b)
}

func parseIndex(b []byte) ([]place, error) {
	if !utf8.Valid(b) {
		return nil, fault(Index, "the index is not valid UTF-8")
	}
	c := &cursor{b: b}
	var places []place
	found := false
	err := c.object(func(key string) (err error) {
		if key != "weight_map" {
			return c.skip()
		}
		if found {
			return fault(Index, "duplicate key in the index: weight_map stands twice")
		}
		found = true
		places, err = parseWeightMap(c)
		return err
	})
	if err == nil {
		err = c.end()
	}
	if _, ok := err.(*Error); err != nil && !ok {
		err = fault(Index, "not the JSON of an index: it %v", err)
	}
	if err == nil && !found {
		err = fault(Index, "the index has no weight_map")
	}
	if err == nil && len(places) == 0 {
		err = fault(Index, "the weight_map of the index is empty")
	}
	return places, err
}

func parseWeightMap(c *cursor) ([]place, error) {
	var places []place
	seen := map[string]struct{}{}
	err := c.object(func(tensor string) error {
		if _, dup := seen[tensor]; dup {
			return fault(Index, "duplicate key in weight_map: %s is listed twice", quote(tensor))
		}
		seen[tensor] = struct{}{}
		file, err := c.str()
		places = append(places, place{tensor, file})
		return err
	})
	return places, err
}

// object calls member after each key of an object.
func (c *cursor) object(member func(key string) error) error {
	if err := c.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := c.more('}', first)
		if err != nil || !more {
			return err
		}
		key, err := c.key()
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
}

// shardNames lists the files of an index once each, sorted.
func shardNames(places []place) []string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.file
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkShardName refuses a name that could lead out of the directory. Symbolic
// links are not followed here: download caches are made of them.
func checkShardName(name string) error {
	slashed := strings.ReplaceAll(name, `\`, "/")
	drive := len(slashed) > 1 && slashed[1] == ':'
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return fault(Index, "the index names a file %s", quote(name))
	case drive || strings.HasPrefix(slashed, "/"):
		return fault(PathEscape, "the index names %s: an absolute path leads outside the model directory", quote(name))
	case strings.Contains(name, `\`) || slices.Contains(strings.Split(slashed, "/"), "..") || !filepath.IsLocal(name):
		return fault(PathEscape, "the index names %s: the path leads outside the model directory", quote(name))
	}
	return nil
}

// checkPresent compares the index with the directory.
func checkPresent(dir string, shards []string) error {
	var absent []string
	for _, s := range shards {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(s))); err != nil {
			absent = append(absent, s)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	others := weightFiles(dir)
	others = slices.DeleteFunc(others, func(f string) bool { return slices.Contains(shards, f) })
	msg := fmt.Sprintf("the index names %d shards, %d of them absent: %s", len(shards), len(absent), list(absent))
	if len(others) > 0 {
		msg += fmt.Sprintf("; the directory holds %d other safetensors files (%s): the index does not describe this directory, remove it or have it ignored", len(others), list(others))
	}
	return fault(Index, "%s", msg)
}

// checkPlaces demands that each tensor is where the index says.
func (c *Checkpoint) checkPlaces(dir string, places []place) error {
	for _, p := range places {
		t, ok := c.tensors[p.tensor]
		want := filepath.Join(dir, filepath.FromSlash(p.file))
		if !ok {
			return fault(Index, "the index says that tensor %s is in %s; it is in no shard", quote(p.tensor), p.file)
		}
		if t.File != want {
			return fault(Index, "the index says that tensor %s is in %s; it is in %s", quote(p.tensor), p.file, filepath.Base(t.File))
		}
	}
	if extra := len(c.tensors) - len(places); extra > 0 {
		listed := make(map[string]struct{}, len(places))
		for _, p := range places {
			listed[p.tensor] = struct{}{}
		}
		unlisted := slices.DeleteFunc(slices.Clone(c.names), func(n string) bool { _, ok := listed[n]; return ok })
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: the shards hold %d tensors that the index does not list: %s", c.Path, extra, list(unlisted)))
	}
	return nil
}

// weightFiles lists the *.safetensors files of a directory by name.
func weightFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".safetensors") {
			names = append(names, e.Name())
		}
	}
	return names
}

// list prints the first five names.
func list(names []string) string {
	const most = 5
	quoted := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, strings.Trim(quote(n), `"`))
	}
	s := strings.Join(quoted, ", ")
	if len(names) > most {
		s += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return s
}
