package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"lathe/bench/serving"
)

func (c *corpus) results(t *testing.T, name string, opt serving.Options, semantics ...string) []*serving.Result {
	t.Helper()
	for i := range c.scenarios {
		if s := &c.scenarios[i]; s.Name == name {
			opt.Count = counter(s.Tokenizer)
			return read(t, bytes.NewReader(lines(t, s.records(t))), semantics, opt)
		}
	}
	t.Fatalf("no scenario %s", name)
	return nil
}

func TestSGLangGoodputBlock(t *testing.T) {
	opt := serving.Options{Version: serving.November, Goodput: []string{"ttft:200", "tpot:60.5"}}
	r := loadCorpus(t).results(t, "forty-chat-1", opt, "sglang:sglang-oai-chat")[0]
	run := SGLangRun{Date: goldenDate(), Backend: "sglang-oai-chat", Dataset: "sharegpt", RequestRate: math.Inf(1)}
	text, err := SGLangBlock(run, r)
	if err != nil {
		t.Fatal(err)
	}
	want := "---------------------Goodput----------------------\n" +
		"SLOs (ms):                               ttft:200 tpot:60.5\n" +
		"Request goodput (req/s):                 2.00      \n" +
		"SLO attainment (%):                      37.50     \n" +
		"TTFT SLO attainment (%):                 37.50     \n" +
		"TPOT SLO attainment (%):                 95.00     \n" +
		"----------------End-to-End Latency----------------\n"
	if !strings.Contains(text, want) {
		t.Errorf("block:\n%s\nwant in it:\n%s", text, want)
	}
	file, err := SGLangResult(run, r)
	if err != nil {
		t.Fatal(err)
	}
	if want := `, "max_concurrent_requests": 30, "goodput_slos_ms": {"ttft": 200.0, "tpot": 60.5}, "request_goodput": 2.003378746871924, "slo_attainment": 0.375, "slo_attainment_by_metric": {"ttft": 0.375, "tpot": 0.95}}` + "\n"; !strings.HasSuffix(string(file), want) {
		t.Errorf("file ends in %s", file[len(file)-300:])
	}
}

func TestVLLMQueueMetrics(t *testing.T) {
	opt := serving.Options{Version: serving.November, Percentiles: []float64{99}}
	r := loadCorpus(t).results(t, "plain-chat-2", opt, "vllm:openai-chat")[0]
	four, model := 4, "m"
	run := VLLMRun{
		Date: goldenDate(), Backend: "openai-chat", ModelID: "org/m", TokenizerID: &model, RequestRate: 6, MaxConcurrency: &four,
		PercentileMetrics: []string{"e2el_including_client_queue", "client_queue_time"}, RampUpStrategy: "linear", RampStart: 1, RampEnd: 8,
		RPSChanges: []RPSChange{{1, "2026-08-17T12:34:50"}}, Probe: &Probe{Completed: 3, MedianE2ELMS: 1.5},
	}
	text, err := VLLMBlock(run, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"---------------Client-side Queueing---------------\nMean Client Queue Time (ms):             0.00      \n",
		"--------Queue-inclusive End-to-end Latency--------\nMean E2EL incl. Client Queue (ms):       127.00    \n"} {
		if !strings.Contains(text, want) {
			t.Errorf("block:\n%s\nwant in it:\n%s", text, want)
		}
	}
	file, err := VLLMResult(run, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"max_concurrency": 4, "ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 8, "duration": `,
		`"rtfx": 0.0, "probe_completed": 3, "probe_failed": 0, "probe_median_e2el_ms": 1.5, `, `"rps_change_events": [{"rps": 1, "timestamp": "2026-08-17T12:34:50"}], "mean_client_queue_time_ms": 0.0, `} {
		if !strings.Contains(string(file), want) {
			t.Errorf("%s\nis not in\n%s", want, file)
		}
	}
	if name := VLLMResultName(run); name != "openai-chat-ramp-up-linear-1qps-8qps-concurrency4-m-20260817-123456.json" {
		t.Errorf("name %q", name)
	}
	run.RequestRate = math.Inf(1)
	if text, err = VLLMBlock(run, r); err != nil || strings.Contains(text, "Queue-inclusive") {
		t.Errorf("queue-inclusive latency without a rate: %v", err)
	}
}

func TestSteadyLine(t *testing.T) {
	input := int64(306)
	rate := 252.89
	line := string(SteadyLine(&serving.Steady{ConcurrencyRatio: .5, WindowStart: .1, WindowEnd: 1.31, Duration: 1.21, Threshold: 2, Completed: 3, TotalInput: &input, InputThroughput: &rate, TotalOutput: 43, PeakConcurrency: 4}))
	want := `{"concurrency_ratio": 0.5, "window_start": 0.1, "window_end": 1.31, "duration": 1.21, "concurrency_threshold": 2, "completed": 3, "total_input": 306, "input_throughput": 252.89, "total_output": 43.0, "total_output_retokenized": null, "output_throughput": 0.0, "output_throughput_retokenized": null, "average_concurrency": 0.0, "peak_concurrency": 4, "peak_output_throughput": 0.0}` + "\n"
	if line != want {
		t.Errorf("%s\nwant\n%s", line, want)
	}
}

func TestPercentG(t *testing.T) {
	for x, want := range map[float64]string{500: "500", 60.5: "60.5", 0.123: "0.123", 1e6: "1e+06", 123456: "123456", 1234567: "1.23457e+06", 0.0001: "0.0001", 0.00001234: "1.234e-05", 99.99999: "100"} {
		if got := percentG(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// A text that Python holds as halves of a pair is written as it was.
func TestHalfPairs(t *testing.T) {
	w := &pyJSON{}
	w.value("a\xED\xA0\xBDb\xED\xB8\x82\U0001F642\u007f\x01\"\xFF")
	if got, want := string(w.b), `"a\ud83db\ude02\ud83d\ude42`+"\x7f"+`\u0001\"\ufffd"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
