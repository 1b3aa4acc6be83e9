package wording

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
)

// PolicyTotals says how often and how long one call can try by a policy.
func PolicyTotals(e *retry.Explanation) []Fact {
	attempts := "at most " + AttemptLimit(e.Executions) + " in a call"
	if e.Executions >= retry.Unlimited {
		attempts = "no limit"
	}
	if e.Layers > 1 {
		attempts += fmt.Sprintf(", in %d nested layers", e.Layers)
	}
	waits, worst := "at most "+Lasts(e.Waits)+" in all", "no bound: an attempt may take any time (set a timeout)"
	if e.Waits == retry.Forever {
		waits = unboundedWaits(e)
	}
	if w := e.Policy.AttemptTimeout; w > 0 {
		worst = Lasts(e.Worst) + ", if attempts take their full timeout of " + Lasts(w)
	}
	d := e.Policy.WithDefaults()
	free := fmt.Sprintf("waits that errors ask for (at most %s each), queues, attempts lost in a crash (%d allowed)", Lasts(d.MaxServerDelay), d.CrashLimit-1)
	return []Fact{
		{Name: "attempts", Text: attempts}, {Name: "waits", Text: waits}, {Name: "worst case", Text: worst}, {Name: "not counted", Text: free},
	}
}

// unboundedWaits says whether waits that no duration can hold end.
func unboundedWaits(e *retry.Explanation) string {
	for _, s := range e.Schedules {
		if !s.Complete {
			return "no bound"
		}
	}
	return "more than 292y in all"
}

// mostPlanned is how many attempts of a schedule are shown: the first ones and the last.
const mostPlanned = 20

// PlannedAttempt is an attempt of a schedule that is shown.
type PlannedAttempt struct {
	retry.PlannedAttempt
	Gap  bool   // attempts before it are not shown
	Note string // may be empty
}

// Planned returns the attempts of a schedule that are shown.
func Planned(s *retry.Schedule) (shown []PlannedAttempt) {
	for i, a := range s.Attempts {
		if i >= mostPlanned-1 && i < len(s.Attempts)-1 {
			continue
		}
		p := PlannedAttempt{PlannedAttempt: a, Gap: i >= mostPlanned}
		if i >= s.Sure {
			p.Note = "if jitter leaves time"
		}
		shown = append(shown, p)
	}
	return shown
}

// AttemptLimit is a number of attempts, which may be unlimited.
func AttemptLimit(n int) string {
	if n >= retry.Unlimited {
		return "unlimited"
	}
	return human.Count(n)
}

// Lasts is a duration of a policy, for comparison.
func Lasts(d time.Duration) string {
	if d == retry.Forever {
		return "no end"
	}
	return human.Exact(d)
}

// StartsAt says when an attempt starts, as far as a duration can hold it.
func StartsAt(d time.Duration) string {
	if d == retry.Forever {
		return "after 292y"
	}
	return human.Exact(d)
}
