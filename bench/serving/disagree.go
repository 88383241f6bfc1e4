package serving

import "fmt"

// Disagreements says which requests a harness takes for a success and the exact
// reading does not, or the other way round, and why.
func Disagreements(exact *Result, others ...*Result) []string {
	byID := make(map[string]*ExactRequest, len(exact.Exact))
	for i := range exact.Exact {
		byID[exact.Exact[i].ID] = &exact.Exact[i]
	}
	var notes []string
	for _, r := range others {
		for i := range r.Requests {
			o := &r.Requests[i]
			q := byID[o.ID]
			switch {
			case q == nil || q.Success == o.Success:
			case o.Success:
				notes = append(notes, fmt.Sprintf("%s: %s counts a success, exact a failure: %s: %s", o.ID, r.Semantics, q.ErrorClass, q.ErrorText))
			default:
				why := o.ErrorClass
				if o.ErrorText != "" {
					why += ": " + o.ErrorText
				}
				notes = append(notes, fmt.Sprintf("%s: exact counts a success, %s a failure: %s", o.ID, r.Semantics, why))
			}
		}
	}
	return notes
}
