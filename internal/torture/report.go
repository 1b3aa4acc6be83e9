package torture

import (
	"time"

	"github.com/perdure/perdure/internal/witness"
)

// Report is what came of a torture.
type Report struct {
	Seed        uint64  `json:"seed"`
	Asked       string  `json:"for"`
	Seconds     float64 `json:"seconds"` // in which processes were hurt
	Interrupted bool    `json:"interrupted,omitempty"`

	Work  witness.Tally `json:"work"`
	Hurt  Troubles      `json:"hurt"`
	Still Still         `json:"longest_still"`

	Lost     int               `json:"lost"`
	Doubled  int               `json:"doubled"`
	Orphaned int               `json:"orphaned"`
	Wrong    int               `json:"wrong"`
	Findings []witness.Finding `json:"findings,omitempty"`
}

// Still is the longest time in which nothing moved.
type Still struct {
	Seconds float64 `json:"seconds"`
	At      float64 `json:"at"` // seconds after the beginning
	// Amid is what was done meanwhile, and in the time of a lease before.
	Amid []string `json:"amid,omitempty"`
}

// maxFindings is how many findings a report has, and maxFinding how long one is, in bytes: one
// fault may show in each of a thousand runs.
const (
	maxFindings = 100
	maxFinding  = 4000
)

func newReport(t *torture, hurtFor time.Duration, still witness.Pause, interrupted bool, work witness.Tally, found []witness.Finding) *Report {
	r := &Report{
		Seed: t.Seed, Asked: t.For.String(), Seconds: hurtFor.Seconds(), Interrupted: interrupted,
		Work: work, Hurt: t.crew.progress().Done,
		Still: Still{Seconds: still.For.Seconds(), At: max(still.From.Sub(t.began), 0).Seconds()},
	}
	for _, d := range t.deeds {
		if d.at.After(still.From.Add(-lease)) && d.at.Before(still.From.Add(still.For)) {
			r.Still.Amid = append(r.Still.Amid, d.what)
		}
	}
	for _, f := range found {
		r.add(f)
	}
	return r
}

func (r *Report) add(f witness.Finding) {
	switch f.Kind {
	case witness.Lost:
		r.Lost++
	case witness.Doubled:
		r.Doubled++
	case witness.Orphaned:
		r.Orphaned++
	default:
		r.Wrong++
	}
	if len(r.Findings) == maxFindings {
		return
	}
	if len(f.What) > maxFinding {
		f.What = f.What[:maxFinding] + "..."
	}
	r.Findings = append(r.Findings, f)
}

// Clean reports whether nothing was found.
func (r *Report) Clean() bool { return r.Lost+r.Doubled+r.Orphaned+r.Wrong == 0 }
