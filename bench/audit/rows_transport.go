package audit

// transportRows are the rows of table 1B.
func transportRows() []row {
	const logs = "it changes a log, a header or a route, no number"
	return []row{
		{id: "B1", topic: "connections", moves: []Figure{TTFT, E2EL}, state: connections, keeps: "ITL, TPOT; token counts"},
		{id: "B2", topic: "size of the pool", moves: []Figure{TTFT, E2EL}, keeps: "ITL, TPOT; token counts",
			arises: func(a, b side) bool { return bothHarnessed(a, b) && (poolOfProbes(a) || poolOfProbes(b)) },
			rules: []rule{
				{is: poolOfProbes, does: "as many connections as requests at a time, shared by probes and requests"},
				{does: "requests never wait for a connection"},
			}},
		{id: "B3", topic: "keep-alive and cached addresses", moves: []Figure{TTFT, E2EL}, keeps: "ITL, TPOT; token counts",
			rules: []rule{
				{is: perConnection(true), does: "nothing is kept: each request resolves and connects", reads: up(TTFT, E2EL)},
				{is: perConnection(false), does: "connections are kept, addresses are resolved once"},
				{is: acts(VLLM, VLLMRust, SGLangRust), does: "connections are kept, addresses are resolved once"},
				{is: acts(SGLang), does: "nothing is kept: each request resolves and connects", reads: up(TTFT, E2EL)},
			}},
		{id: "B4", topic: "connecting inside TTFT", moves: []Figure{TTFT, E2EL}, state: connecting, keeps: "ITL, TPOT; token counts"},
		{id: "B5", topic: "proxies", moves: []Figure{TTFT, E2EL, ITL}, state: func(s side) stance {
			if p := s.Flags.Proxy; p != nil {
				return told(orNone(*p))
			}
			if of(SGLang, VLLMRust)(s) {
				return told(orNone("")) // one that the environment names is ignored
			}
			return untold("whether the environment named a proxy is not told")
		}, keeps: "token counts"},
		{id: "B6", topic: "time limits and retries", moves: []Figure{Completed, FailedCount, TTFT, E2EL}, arises: bothHarnessed,
			rules: []rule{
				{is: of(VLLMRust), does: "30 s to connect; a failed connection is tried up to 3 more times with a fresh clock, so that the lost time vanishes"},
				{does: "6 h for a request, no limit to connect, no retry"},
			}, rare: always("a connection failed or took long"), keeps: "runs in which every connection stood at once"},
		{id: "B7", topic: "read buffer", moves: []Figure{ITL, TPOT}, arises: bothHarnessed,
			rules: []rule{
				{is: where(of(VLLM), func(s side) bool { return s.sw.SSETrim }), does: "64 KiB"},
				{is: of(VLLM), does: "256 KiB"},
				{is: of(SGLang), does: "10 MiB; a line above 20 MiB fails the request"},
				{does: "the Rust library's own"},
			}, rare: always("the client fell behind its reads"), keeps: "runs whose client kept up"},
		{id: "B8", topic: "verification of certificates", never: logs},
		{id: "B9", topic: "garbage collection in the client", moves: []Figure{Tails}, arises: bothHarnessed,
			rules: []rule{
				{is: of(VLLM), does: "the garbage collector is frozen before the run"},
				{is: of(SGLang), does: "the garbage collector runs; the limit of open files is raised", reads: up(Tails)},
				{does: "no garbage collector (Rust)"},
			}, keeps: "means and medians"},
		{id: "B10", topic: "start of the clock", never: "all stamp before encoding, pool, resolving and connecting"},
		{id: "B11", topic: "error text of an answer that is not 200", never: logs},
		{id: "B12", topic: "authentication", never: "it decides whether requests succeed, which the counts show"},
		{id: "B13", topic: "headers", never: logs},
		{id: "B14", topic: "request ids", never: logs},
	}
}

func perConnection(want bool) func(side) bool {
	return func(s side) bool { return s.Load.PerConn != nil && *s.Load.PerConn == want }
}

// sharedProbes says that probes share the pool and the duration: by the header of
// a capture, or by the release of vLLM's client.
func sharedProbes(s side) bool {
	return s.Load.Probes && (s.Load.Sharing || s.Harness == VLLM && s.sw.ProbeShared)
}

// poolOfProbes says that probes and requests share a pool with an end.
func poolOfProbes(s side) bool { return sharedProbes(s) && s.Load.Concurrency.N > 0 }

func connections(s side) stance {
	switch {
	case perConnection(true)(s):
	case perConnection(false)(s), acts(VLLM, VLLMRust, SGLangRust)(s):
		return told("one pool for the run")
	case !acts(SGLang)(s):
		return untold("whether connections were used again is not told")
	}
	return told("a new connection for each request", up(TTFT, E2EL))
}

// connecting says which requests have a connect in their time to first token.
func connecting(s side) stance {
	switch {
	case perConnection(true)(s):
	case perConnection(false)(s), acts(VLLM, VLLMRust, SGLangRust)(s):
		return told("where no connection is idle: the first wave, which is nearly all of a run that starts at once")
	case !acts(SGLang)(s):
		return untold("when connections were made is not told")
	}
	return told("in every request", up(TTFT, E2EL))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
