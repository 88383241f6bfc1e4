package main

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"lathe/engine"
	"lathe/engine/llama"
)

// engineOptions are the model and engine flags, the same in every command that runs a model. They
// stand whole in the raw file's header.
type engineOptions struct {
	Model              string   `json:"model"`       // directory, preset:NAME or hub id
	LoadFormat         string   `json:"load_format"` // auto | safetensors | dummy
	IgnoreIndex        bool     `json:"ignore_index"`
	Tokenizer          string   `json:"tokenizer"` // "": beside the model
	Backend            string   `json:"backend"`   // cpu | cuda | reference | path of a plug-in
	Kernels            []string `json:"kernels,omitempty"`
	Device             string   `json:"device"` // "": the first; as given until the model is loaded, CUDA's index then
	CPUISA             string   `json:"cpu_isa"`
	KVCacheDtype       string   `json:"kv_cache_dtype"` // bf16 | f32
	Deterministic      bool     `json:"deterministic"`
	Profile            bool     `json:"profile"`
	ProfileStartStep   int      `json:"profile_start_step"` // -1: the middle of the output
	ProfileSteps       int      `json:"profile_steps"`
	Threads            int      `json:"threads"`   // 0: one a core that the process may use
	PageSize           int      `json:"page_size"` // tokens
	MemFractionStatic  float64  `json:"mem_fraction_static"`
	ChunkedPrefillSize int      `json:"chunked_prefill_size"` // rows a submission; 0: the engine's choice, -1: whole
	MaxModelLen        int      `json:"max_model_len"`        // 0: the model's
	Seed               int      `json:"seed"`
	DisableCUDAGraph   bool     `json:"disable_cuda_graph"`
	CUDAGraphMaxBS     int      `json:"cuda_graph_max_bs"` // 0: the largest batch asked for

	ownFlag string // brought what follows the first shared of Kernels; "": all are of --kernel
	shared  int
}

// maxThreads bounds --threads: above it no machine gains, and one that is typed wrong must not start
// a million threads.
const maxThreads = 1024

var deviceName = regexp.MustCompile(`^(\d+|GPU-[0-9a-fA-F-]+|MIG-[0-9a-zA-Z/-]+)$`)

// The words of the flags that choose one of a few.
func loadFormats() []string  { return []string{"auto", "safetensors", "dummy"} }
func cpuISAs() []string      { return []string{"avx512bf16", "avx512", "avx2", "portable"} }
func kvTypes() []string      { return []string{"bf16", "f32"} }
func backendWords() []string { return []string{"cpu", "cuda", "reference"} }

// addEngineFlags declares the flags of engineOptions. defaultBackend comes from the environment.
func addEngineFlags(cmd *cobra.Command, o *engineOptions, defaultBackend string) {
	fs := cmd.Flags()
	fs.StringVar(&o.Model, "model", "", "Hugging Face directory or preset:NAME (also --model-path)")
	choiceVar(fs, &o.LoadFormat, "load-format", "auto", loadFormats(), "where weights come from; dummy: config.json only, seeded")
	fs.BoolVar(&o.IgnoreIndex, "ignore-index", false, "read every *.safetensors file of the directory, whatever its index says")
	fs.StringVar(&o.Tokenizer, "tokenizer", "", "directory or tokenizer.json (default: beside the model)")
	fs.StringVar(&o.Backend, "backend", defaultBackend, "cpu, cuda, reference, or the path of a plug-in")
	wordsVar(fs, &o.Kernels, repeatFlag, "kernel", "OP=FILE: replace one operator (repeatable)")
	fs.StringVar(&o.Device, "device", "", "INDEX, GPU-uuid or MIG-uuid")
	choiceVar(fs, &o.CPUISA, "cpu-isa", "", cpuISAs(), "force a path of the CPU backend; default: the best that runs")
	kv := choiceVar(fs, &o.KVCacheDtype, "kv-cache-dtype", "bf16", kvTypes(), "type of the KV pages")
	kv.accepts = map[string]string{"auto": "bf16", "bfloat16": "bf16", "float32": "f32"}
	fs.BoolVar(&o.Deterministic, "deterministic", false, "same bits whatever the batch (always so on the CPU)")
	fs.BoolVar(&o.Profile, "profile", false, "a second pass under a profiler, its numbers kept apart")
	wholeVar(fs, &o.ProfileStartStep, "profile-start-step", -1, -1, "first decode step of the profiler window; -1: the middle of the output")
	wholeVar(fs, &o.ProfileSteps, "profile-steps", 1, 1, "decode steps in the profiler window")
	wholeVar(fs, &o.Threads, "threads", 0, 0, "threads of the CPU backend; 0: one a core")
	wholeVar(fs, &o.PageSize, "page-size", engine.DefaultPageSize, 1, "tokens a KV page, a power of two up to 256")
	fractionVar(fs, &o.MemFractionStatic, "mem-fraction-static", 0.9, "share of memory for weights and KV")
	wholeVar(fs, &o.ChunkedPrefillSize, "chunked-prefill-size", 0, -1, "rows of a prefill submission; 0: the engine's choice, -1: prompts whole")
	wholeVar(fs, &o.MaxModelLen, "max-model-len", 0, 0, "longest sequence in tokens; 0: the model's")
	wholeVar(fs, &o.Seed, "seed", 0, 0, "seed of weights without files and of random prompts")
	fs.BoolVar(&o.DisableCUDAGraph, "disable-cuda-graph", false, "launch every step eagerly")
	wholeVar(fs, &o.CUDAGraphMaxBS, "cuda-graph-max-bs", 0, 0, "largest captured batch; 0: the largest asked for")
	completeEngineFlags(cmd)
}

// completeEngineFlags offers the fixed words to the shell.
func completeEngineFlags(cmd *cobra.Command) {
	fixed := func(name string, words ...string) {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveDefault))
	}
	fixed("model", presetNames()...)
	fixed("backend", backendWords()...)
	fixed("load-format", loadFormats()...)
	fixed("cpu-isa", cpuISAs()...)
	fixed("kv-cache-dtype", kvTypes()...)
}

// Validate checks what can be checked without opening a file.
func (o *engineOptions) Validate() error {
	if o.Model == "" {
		return usageError("--model preset:tiny runs without any file", "--model: needs a directory or a preset")
	}
	if o.Backend == "" {
		return usageError("", "--backend: must be cpu, cuda, reference or the path of a plug-in")
	}
	if o.PageSize > 256 || o.PageSize&(o.PageSize-1) != 0 {
		return usageError("", "--page-size: %d: must be a power of two from 1 to 256", o.PageSize)
	}
	if o.Threads > maxThreads {
		return usageError("", "--threads: %d: must be at most %d", o.Threads, maxThreads)
	}
	if _, err := o.kernelFlags(); err != nil {
		return err
	}
	if err := o.refuseUnbuilt(); err != nil {
		return err
	}
	return o.validateDevice()
}

// refuseUnbuilt names what a flag asks for and this version does not do: ignoring it would time
// something else than was asked for.
func (o *engineOptions) refuseUnbuilt() error {
	if o.Profile {
		return usageError("perf record -- lathe ... profiles the whole command", "--profile: this version has no profiled pass yet")
	}
	return nil
}

// validateDevice accepts SGLang's --device cpu|cuda where it names the backend in use.
func (o *engineOptions) validateDevice() error {
	switch {
	case o.Device == "":
		return nil
	case deviceName.MatchString(o.Device) && slices.Contains([]string{"cpu", "reference"}, o.Backend):
		return usageError("--backend cuda has devices", "--device: %s: backend %s runs on the processor and has no devices to choose from", o.Device, o.Backend)
	case deviceName.MatchString(o.Device):
		return nil
	case o.Device == o.Backend:
		o.Device = ""
		return nil
	case slices.Contains(backendWords(), o.Device):
		return usageError("--backend "+o.Device+" picks it", "--device: %s: names a kind of device, and the backend is %s", o.Device, o.Backend)
	}
	return usageError("", "--device: %s: must be an index, a GPU-uuid or a MIG-uuid", o.Device)
}

// profileWindow checks the profiler window against the decode steps of a point.
func (o *engineOptions) profileWindow(outputLen int) error {
	if o.Profile && o.ProfileStartStep >= outputLen {
		return fmt.Errorf("--profile-start-step: %d: the output has %d tokens", o.ProfileStartStep, outputLen)
	}
	return nil
}

// presetNames are the models that need no file, as --model takes them.
func presetNames() []string {
	names := llama.Presets()
	for i, n := range names {
		names[i] = presetPrefix + n
	}
	return names
}
