package workload

// DryRow is what a dry run prints of a request.
type DryRow struct {
	PromptLen    int    `json:"prompt_len"`
	OutputLen    int    `json:"output_len"`
	PromptSHA256 string `json:"prompt_sha256"`
	PromptHead   string `json:"prompt_head"`
}

// DryRun is the rows of a set for a dry run.
func (s Set) DryRun() []DryRow {
	rows := make([]DryRow, len(s.Requests))
	for i, r := range s.Requests {
		rows[i] = DryRow{r.PromptLen, r.OutputLen, r.SHA256(), r.Head()}
	}
	return rows
}
