package workload

import (
	"bytes"
	"testing"
)

// Readers take any bytes without a panic; what they accept, the datasets draw
// from without a panic and without an empty prompt.

func drawn(t *testing.T, d Dataset) {
	t.Helper()
	set, err := d.Sample(streams(t, 1), spelled{vocab: 50, around: 1})
	if err != nil {
		return
	}
	for i, r := range set.Requests {
		if r.Text() == "" {
			t.Errorf("%T: request %d is empty", d, i)
		}
	}
}

func FuzzReadConversations(f *testing.F) {
	f.Add([]byte(`[{"conversations":[{"value":"a b c d"},{"value":"e f g h"}]},{"conversation":[{"value":"a"},{"value":"b"}],"image":"x"}]`))
	f.Add([]byte(`[{"conversations":[{"from":"human","value":"\ud83d x"},{"value":""},{"value":"z"}],"video":[]}]`))
	f.Add([]byte(`[{"conversations":[]},{}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadConversations(bytes.NewReader(data))
		if err != nil {
			return
		}
		drawn(t, VLLMShareGPT{N: 4, Conversations: rows, Shortage: Repeat})
		drawn(t, SGLangShareGPT{N: 4, Conversations: rows, ContextLen: 100})
		drawn(t, SGLangRandom{N: 4, InputLen: 9, OutputLen: 3, FromSharegpt: true, Conversations: rows})
	})
}

func FuzzReadCustom(f *testing.F) {
	f.Add([]byte("{\"prompt\":\"a b\",\"output_tokens\":5}\n\n{\"prompt\":\"c\",\"output_tokens\":\"6\"}\n"))
	f.Add([]byte("{\"prompt\":\"\",\"output_tokens\":1e400}\r\n{\"prompt\":\"x\",\"output_tokens\":-1.5}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadCustom(bytes.NewReader(data))
		if err != nil {
			return
		}
		drawn(t, VLLMCustom{N: 4, Rows: rows, OutputLen: OutputOfRow, Shortage: Repeat})
		drawn(t, VLLMCustom{Rows: rows, OutputLen: 7, Shortage: Truncate})
	})
}

func FuzzReadCustomConversations(f *testing.F) {
	f.Add([]byte("{\"conversations\":[{\"content\":\"a b\"},{\"value\":\"c d\"}]}\nnot json\n{\"conversation\":[{},{}]}\n"))
	f.Add([]byte("{\"conversations\":[{\"\":\"a\"},{\"content\":null}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, _, err := ReadCustomConversations(bytes.NewReader(data))
		if err != nil {
			return
		}
		drawn(t, SGLangShareGPT{N: 4, Conversations: rows, OutputLen: 5, PromptSuffix: "s"})
	})
}

func FuzzReadBurstGPT(f *testing.F) {
	f.Add([]byte("Timestamp,Model,Request tokens,Response tokens\n1,GPT-4,3,4\n2,ChatGPT,5,6\n"))
	f.Add([]byte("Model,x,y,Response tokens\nGPT-4,,-3,4\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadBurstGPT(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range rows {
			rows[i].InputLen = min(rows[i].InputLen, 1000) // a prompt of 2^62 tokens is no reader's matter
		}
		drawn(t, VLLMBurstGPT{N: 4, Rows: rows})
	})
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte("a b\r\nc\rd e f"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := ReadLines(bytes.NewReader(data))
		if err != nil {
			return
		}
		drawn(t, VLLMSonnet{N: 2, Lines: lines, InputLen: 40, Version: August2026,
			Template: func(s string) (string, error) { return s, nil }})
	})
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("{\"timestamp\":1.5,\"input_length\":20,\"output_length\":3,\"hash_ids\":[1,2]}\n"))
	f.Add([]byte("{\"timestamp\":-1,\"input_length\":1,\"output_length\":0,\"hash_ids\":null}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadTrace(bytes.NewReader(data), DefaultTraceLabels())
		if err != nil {
			return
		}
		drawn(t, VLLMTimedTrace{N: 4, Rows: rows, ChunkTokens: 16, SecondsPerTic: 1})
	})
}
