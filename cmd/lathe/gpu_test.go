package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"lathe/cuda/device"
)

// twoGPUs is a machine with two devices, the second cut into slices.
func twoGPUs() (device.Source, error) {
	return &device.Fake{Is: device.Machine{Driver: "580.1", Devices: []device.Device{
		{Index: 0, UUID: "GPU-aaaa1111", Name: "NVIDIA H200"},
		{Index: 1, UUID: "GPU-bbbb2222", Name: "NVIDIA H200", MIG: ptrTo(true), MIGDevices: []device.MIG{{UUID: "MIG-cccc3333", Name: "NVIDIA H200 MIG 1g.18gb"}}},
	}}}, nil
}

// under is an application in which CUDA_VISIBLE_DEVICES has that value; nil is unset.
func under(list *string, open func() (device.Source, error)) *application {
	lookup := func(key string) (string, bool) {
		if key != envVisible || list == nil {
			return "", false
		}
		return *list, true
	}
	return &application{term: newTerminal(nil, nil), lookup: lookup, nvml: open,
		env: func(key string) string { value, _ := lookup(key); return value }}
}

// TestP176_VisibleDevicesEverywhere: the header, doctor and --device read the list alike.
func TestP176_VisibleDevicesEverywhere(t *testing.T) {
	const unset = "\x00"
	for _, c := range []struct {
		list, shown string // uuids in CUDA's order
		note        string
		device      string // of --device
		index, err  string
	}{
		{list: unset, shown: "GPU-aaaa1111 GPU-bbbb2222", device: "GPU-bbbb2222", index: "1"},
		{list: "GPU-bbbb2222", shown: "GPU-bbbb2222", device: "GPU-bbbb2222", index: "0"},
		{list: "GPU-bbbb2222", shown: "GPU-bbbb2222", device: "1", err: `--device: find device "1": CUDA counts the visible devices from 0 to 0`},
		{list: "1,0", shown: "GPU-bbbb2222 GPU-aaaa1111", device: "GPU-aaaa", index: "1"},
		{list: "0,GPU-bbbb2222", shown: "GPU-aaaa1111 GPU-bbbb2222", device: "1", index: "1",
			note: "CUDA_VISIBLE_DEVICES: the list mixes indices and uuids: some drivers end it where the kind changes"},
		{list: " 1 ", shown: "GPU-bbbb2222", device: "0", index: "0"},
		{list: "", device: "0", err: `--device: find device "0": CUDA shows this process no device`},
		{list: "-1", device: "GPU-aaaa1111", err: `--device: find device "GPU-aaaa1111": CUDA shows this process no device`},
		{list: "7", device: "0", note: "CUDA_VISIBLE_DEVICES: 7: no device has this index: the driver has 2 devices, 0 to 1: it hides itself and what follows",
			err: `--device: find device "0": CUDA shows this process no device: 7: no device has this index: the driver has 2 devices, 0 to 1: it hides itself and what follows`},
		{list: "0,0", device: "0", note: "CUDA_VISIBLE_DEVICES: 0: this device stands twice, and CUDA shows none then",
			err: `--device: find device "0": CUDA shows this process no device: 0: this device stands twice, and CUDA shows none then`},
		{list: "MIG-cccc3333", shown: "MIG-cccc3333", device: "MIG-cccc3333", index: "0"},
	} {
		list := &c.list
		if c.list == unset {
			list = nil
		}
		app := under(list, twoGPUs)
		h := app.hostFacts()
		var shown []string
		for i, g := range h.GPUs {
			shown = append(shown, g.UUID)
			if g.Index != i || strings.HasPrefix(g.UUID, "MIG-") != strings.Contains(g.Name, "MIG") {
				t.Errorf("%q: %+v at %d", c.list, g, i)
			}
		}
		if got, note := strings.Join(shown, " "), strings.Join(h.Notes, "\n"); got != c.shown || note != c.note {
			t.Errorf("%q: the header has %q, notes %q", c.list, got, note)
		}
		text := examine(machine{fstest.MapFS{}}, twoGPUs, list).text()
		row := "none"
		if c.shown != "" {
			row = "0: " + strings.ReplaceAll(c.shown, " ", ", 1: ")
		}
		if _, rest, _ := strings.Cut(text, "shown by cuda"); !strings.HasPrefix(strings.TrimSpace(rest)+"\n", row+"\n") || !strings.Contains(text, c.note) {
			t.Errorf("%q: doctor says %s", c.list, text)
		}
		if env := app.environment(); (len(env) == 1) != (list != nil) || list != nil && env[0].Value != c.list {
			t.Errorf("%q: the header's environment is %v", c.list, env)
		}
		o := engineOptions{Backend: "cuda", Device: c.device}
		err := app.resolveDevice(&o)
		switch {
		case c.err == "" && (err != nil || o.Device != c.index):
			t.Errorf("%q: --device %s is %s, %v", c.list, c.device, o.Device, err)
		case c.err != "" && (err == nil || err.Error() != c.err || exitCode(t.Context(), err) != 2):
			t.Errorf("%q: --device %s: %v", c.list, c.device, err)
		}
	}
}

// TestResolveDeviceWithoutNVML: an index is the plug-in's to judge; a uuid cannot be looked up.
func TestResolveDeviceWithoutNVML(t *testing.T) {
	for _, c := range []struct {
		backend, device, err string
		open                 func() (device.Source, error)
	}{
		{"cuda", "", "", noDriver},
		{"cuda", "3", "", noDriver},
		{"cuda", "GPU-1", "--device: GPU-1: a uuid is looked up through NVML: no NVIDIA driver", noDriver},
		{"cuda", "GPU-1", "--device: GPU-1: a uuid is looked up through NVML: odd", func() (device.Source, error) { return nil, errors.New("odd") }},
		{"cpu", "", "", func() (device.Source, error) { panic("a processor has no NVML") }},
	} {
		o := engineOptions{Backend: c.backend, Device: c.device}
		err := under(nil, c.open).resolveDevice(&o)
		if c.err == "" && (err != nil || o.Device != c.device) || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s %s: %v", c.backend, c.device, err)
		}
	}
}

// TestP168_StandardOutputStaysClean: doctor's JSON is JSON, and says what was found, with a library that
// talks on standard output in NVML's place.
func TestP168_StandardOutputStaysClean(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs gcc on Linux")
	}
	library := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", library, "../../cuda/device/testdata/stub_nvml.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := exec.Command(self, "doctor", "--format", "json")
	p.Env = append(os.Environ(), childVariable+"=1", "LD_LIBRARY_PATH="+filepath.Dir(library))
	var out, errs bytes.Buffer
	p.Stdout, p.Stderr = &out, &errs
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if errs.Len() > 0 {
		t.Errorf("standard error has %q", errs.String())
	}
	var d doctorFacts
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if strings.Contains(d.GPUNote, "no NVML (cgo") {
		t.Skip(d.GPUNote)
	}
	want := "no NVIDIA driver: nvml: stub library: " + library + " is the toolkit's, to link against only"
	if d.GPU != nil || d.GPUNote != want {
		t.Errorf("gpu %v, note %q, want %q", d.GPU, d.GPUNote, want)
	}
	if n := len(d.Troubles); n == 0 || d.Troubles[n-1].What != want || d.Troubles[n-1].Fix == "" {
		t.Errorf("warnings %v", d.Troubles)
	}
}
