package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"lathe/engine"
	"lathe/engine/llama"
	"lathe/engine/safetensors"
)

// modelSource is what --model turned out to be: a directory or a preset, with its shape read and
// nothing loaded.
type modelSource struct {
	name     string // as the user gave it
	dir      string // "" for a preset
	preset   string // "" for a directory
	config   llama.Config
	identity string // for the workload: equal where shape and origin of the weights are equal
}

const presetPrefix = "preset:"

// hubID is what a model on a hub is called: owner/name.
var hubID = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

// resolveModel finds the shape behind a --model. A hub id stands for the preset of its shape where
// no weights are asked for: under --load-format dummy, or when only a plan is made (shapeOnly).
func resolveModel(name, loadFormat string, shapeOnly bool) (modelSource, error) {
	if preset, ok := strings.CutPrefix(name, presetPrefix); ok {
		if loadFormat == "safetensors" {
			return modelSource{}, usageError("--load-format auto", "--load-format safetensors: %s has no files", name)
		}
		return presetSource(name, preset)
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return dirSource(name, loadFormat == "dummy")
	case err == nil:
		return modelSource{}, notADirectory(name)
	case !errors.Is(err, fs.ErrNotExist):
		return modelSource{}, usageError("", "open model: %w", err)
	case !hubID.MatchString(name):
		return modelSource{}, usageError("--model takes a Hugging Face directory, or one of "+strings.Join(presetNames(), ", "),
			"open model: %s: no such directory", name)
	}
	return hubSource(name, loadFormat == "dummy" || shapeOnly)
}

// notADirectory says what a file in the place of a model directory is.
func notADirectory(name string) error {
	ckpt, err := safetensors.OpenFile(name)
	if err == nil {
		ckpt.Close()
		err = fmt.Errorf("open model: %s: is a file", name)
	}
	return usageError("give the directory that holds config.json and the weights", "%w", err)
}

func hubSource(id string, seeded bool) (modelSource, error) {
	preset, known := llama.HubPreset(id)
	switch {
	case known && seeded:
		return presetSource(id, preset)
	case known:
		return modelSource{}, usageError("download it and give its directory, or measure its shape with --load-format dummy",
			"open model: %s: no such directory, and Lathe downloads nothing from a hub", id)
	}
	return modelSource{}, usageError("download it and give its directory",
		"open model: %s: no such directory, and no preset has its shape", id)
}

func presetSource(name, preset string) (modelSource, error) {
	cfg, err := llama.Preset(preset)
	if err != nil {
		return modelSource{}, usageError("presets: "+strings.Join(presetNames(), ", "), "open model: %s: no such preset", name)
	}
	return modelSource{name: name, preset: preset, config: cfg, identity: presetPrefix + preset}, nil
}

func dirSource(dir string, seeded bool) (modelSource, error) {
	cfg, err := llama.ReadConfig(dir)
	if err != nil {
		return modelSource{}, usageError("", "open model: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return modelSource{}, usageError("", "open model: %w", err)
	}
	sum := sha256.Sum256(data)
	identity := "config-sha256:" + hex.EncodeToString(sum[:])
	if seeded {
		identity += ",seeded"
	}
	return modelSource{name: dir, dir: dir, config: cfg, identity: identity}, nil
}

// seeded says whether the weights will be random numbers.
func (m modelSource) seeded(loadFormat string) bool { return m.dir == "" || loadFormat == "dummy" }

// open maps the weights, or names the seed in their place.
func (m modelSource) open(o engineOptions) (*engine.Source, error) {
	seed := uint64(o.Seed)
	switch {
	case m.dir == "":
		src, err := engine.OpenPreset(m.preset, seed)
		if err == nil {
			src.Name = m.name
		}
		return src, err
	case o.LoadFormat == "dummy":
		return engine.OpenShape(m.dir, seed)
	}
	return engine.OpenDir(m.dir, safetensors.Options{IgnoreIndex: o.IgnoreIndex})
}
