package policylab

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// attempts returns the attempts of a call, each with what questions found out about it, and
// numbered as if nobody had asked. An attempt that was found to be done is the one that
// succeeded; after one that was not, what was decided stands with the question.
func attempts(all []Attempt) []Attempt {
	var out []Attempt
	questions := 0
	for _, a := range all {
		if a.Question == 0 {
			a.Number -= questions
			out = append(out, a)
			continue
		}
		questions++
		if len(out) == 0 {
			continue // the ledger does not keep the attempt
		}
		about := &out[len(out)-1]
		switch a.Outcome {
		case core.Found:
			about.Outcome, about.Failure, about.ErrorType, about.Reason = core.Completed, nil, "", retry.ReasonSucceeded
			about.Ended = a.Ended
		case core.Absent:
			about.Settled, about.Reason, about.Next, about.Paused = true, a.Reason, a.Next, a.Paused
		default:
			about.Reason, about.Paused = a.Reason, a.Paused
		}
	}
	return out
}

// doubt asks the policy about an attempt that may have had its effect, before anything else is
// asked. It reports whether that ends the call. What its own questions would have found is
// known only if somebody asked: else the attempt was done at best, and was not at worst.
func (r *replay) doubt(a *Attempt, types []string, ended int64) (over bool) {
	switch r.lab.policy.AfterUnknown(types...) {
	case retry.PauseUnknown:
		r.end(view.EndedPaused, ended)
	case retry.FailUnknown:
		r.end(view.EndedFailed, ended)
	case retry.VerifyUnknown:
		if a.Settled {
			return false
		}
		if r.guess(); r.mode == best {
			r.end(view.EndedSucceeded, ended)
		}
	}
	return r.ending != ""
}
