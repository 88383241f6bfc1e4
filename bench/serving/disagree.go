package serving

import (
	"fmt"
	"strings"
)

// Disagreements says which requests a harness takes for a success and the exact
// reading does not, or the other way round, and why: a line a cause, in the order
// of the first request that it meets.
func Disagreements(exact *Result, others ...*Result) []string {
	byID := make(map[string]*ExactRequest, len(exact.Exact))
	for i := range exact.Exact {
		byID[exact.Exact[i].ID] = &exact.Exact[i]
	}
	var causes []string
	met := map[string][]string{}
	for _, r := range others {
		for i := range r.Requests {
			o := &r.Requests[i]
			if cause := disagreement(r.Semantics, o, byID[o.ID]); cause != "" {
				if met[cause] == nil {
					causes = append(causes, cause)
				}
				met[cause] = append(met[cause], o.ID)
			}
		}
	}
	for i, cause := range causes {
		causes[i] = few(met[cause]) + ": " + cause
	}
	return causes
}

// disagreement is "" where both readings take a request for the same.
func disagreement(sem Semantics, o *Outcome, q *ExactRequest) string {
	switch {
	case q == nil || q.Success == o.Success:
		return ""
	case o.Success:
		return fmt.Sprintf("%s counts a success, exact a failure: %s: %s", sem, q.ErrorClass, q.ErrorText)
	}
	why := o.ErrorClass
	if o.ErrorText != "" {
		why += ": " + o.ErrorText
	}
	return fmt.Sprintf("exact counts a success, %s a failure: %s", sem, why)
}

// few names the first requests of many.
func few(ids []string) string {
	const shown = 3
	if len(ids) <= shown {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%d requests (%s, …)", len(ids), strings.Join(ids[:shown], ", "))
}
