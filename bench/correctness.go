package bench

// KindCorrectness is the Workload.Kind of a run that compares a backend with the
// reference instead of timing it: its points have checks and no steps.
const KindCorrectness = "correctness"

// CheckCorrectness names the Check of one prompt against the reference backend.
// Its detail is a Correctness.
const CheckCorrectness = "correctness"

// Correctness is how far a backend's logits of one prompt lay from the
// reference's, which chose the tokens for both.
type Correctness struct {
	Prompt       int       `json:"prompt"`     // row of the point's prompts
	PromptLen    int       `json:"prompt_len"` // tokens
	CutLen       *int      `json:"cut_len"`    // prompt tokens a submission; null: the batch whole
	Steps        int       `json:"steps"`      // prefill and decode steps
	Largest      float64   `json:"largest_logit_difference"`
	EachRMS      float64   `json:"largest_relative_rms"` // RMS of a step's differences over the deviation of its logits
	MedianRMS    float64   `json:"median_relative_rms"`
	TokensEqual  int       `json:"tokens_equal"`
	FirstWrong   *int      `json:"first_wrong_step"` // a token that differs beyond the gap
	NonFinite    *int      `json:"non_finite_step"`  // a logit that is no finite number
	Tolerance    Tolerance `json:"tolerance"`
	ReferenceIDs []int32   `json:"reference_ids"`
}

// Tolerance is what a class of numeric paths may differ by, relative to the
// standard deviation of a row of the reference's logits.
type Tolerance struct {
	Class     string  `json:"class"`
	EachRMS   float64 `json:"each_relative_rms"`
	MedianRMS float64 `json:"median_relative_rms"`
	Gap       float64 `json:"relative_gap"` // of the two best logits, up to which the token may differ
}

// OK says whether everything lies within the tolerance.
func (c Correctness) OK() bool {
	return c.NonFinite == nil && c.FirstWrong == nil && c.EachRMS <= c.Tolerance.EachRMS && c.MedianRMS <= c.Tolerance.MedianRMS
}
