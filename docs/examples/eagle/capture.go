package main

import (
	"bytes"
	"encoding/json"
	"time"

	"lathe/bench"
)

// capture is the raw file of one answer of the completions endpoint, asked for
// as SGLang's client does, without a frame of usage alone: vLLM's client asks for
// one, on which SGLang's fails.
func capture() []byte {
	status := 200
	q := bench.Request{Kind: bench.KindRequest, ID: "r0", Endpoint: "completions", PromptLen: promptTokens, RequestedOutputLen: tokens, Status: &status, Reason: "OK"}
	var last time.Duration
	for _, x := range answer("completions", asked{}) {
		q.Reads = append(q.Reads, bench.Read{TNS: int64(x.at), B64: x.data})
		last = x.at
	}
	q.End = &bench.RequestEnd{Kind: "eof", TNS: int64(last)}
	var b bytes.Buffer
	for _, record := range []any{
		&bench.Run{Kind: bench.KindRun, Schema: bench.Schema, Command: "docs/examples/eagle", Argv: []string{"-capture"}, StartedAt: "2026-11-30T12:00:00Z",
			Workload: bench.Workload{Kind: "serve", Model: "eagle"}, Options: json.RawMessage("{}"), Warnings: []string{"written by a script: its stamps are those of the script, nothing was measured"}},
		&q,
		&bench.End{Kind: bench.KindEnd, DurationNS: int64(last), Reason: bench.EndCompleted},
	} {
		line, err := json.Marshal(record)
		if err != nil {
			panic(err) // plain structs
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}
