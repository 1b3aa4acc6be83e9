package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/retry"
)

// policyPage explains a policy that a person enters, using the code that decides.
type policyPage struct {
	Text      string
	Nested    string
	Problem   string
	Presets   []linked
	Canonical string
	Verdicts  []retry.Verdict
	Schedules []plannedAttempts
	Facts     []trait
	Warnings  []string
	Try       template.URL
	Record    *onRecord
}

// plannedAttempts are the attempts for one kind of error.
type plannedAttempts struct {
	Errors  string
	Rows    []plannedRow
	More    string
	Drawing *barChart
}

type plannedRow struct {
	Number                              int
	Wait, Start, Earliest, Latest, Note string
	Gap                                 bool // attempts before it are omitted
}

func showPolicy(q *request) (any, error) {
	v := q.URL.Query()
	p := &policyPage{Text: typed(v, "policy"), Nested: v.Get("nested")}
	for _, preset := range policyedit.Presets {
		p.Presets = append(p.Presets, linked{preset.Name, link("policy", "policy", preset.Policy.String())})
	}
	p.Record = q.onRecord("policy")
	if p.Text == "" {
		return p, nil
	}
	layers := 1
	if p.Nested != "" {
		var err error
		if layers, err = strconv.Atoi(p.Nested); err != nil || layers < 1 || layers > 100 {
			p.Problem = fmt.Sprintf("The number of nested layers is %q. Write one from 1 to 100.", clipBytes(p.Nested, 50))
			return p, nil
		}
	}
	policy, err := policyedit.Read(p.Text)
	if err != nil {
		p.Problem = err.Error()
		return p, nil
	}
	p.Record.check(policy)
	e, err := retry.Explain(policy, layers)
	if err != nil {
		p.Problem = err.Error()
		return p, nil
	}
	p.explain(e)
	return p, nil
}

// explain adds an explanation.
func (p *policyPage) explain(e *retry.Explanation) {
	p.Canonical, p.Try = e.Policy.String(), link("lab", "policy", e.Policy.String())
	p.Verdicts = e.Verdicts
	for i := range e.Schedules {
		p.Schedules = append(p.Schedules, planned(&e.Schedules[i]))
	}
	for _, w := range e.Warnings {
		p.Warnings = append(p.Warnings, w.Text)
	}
	attempts := "at most " + limited(e.Executions) + " in a call"
	if e.Executions >= retry.Unlimited {
		attempts = "no limit"
	}
	if e.Layers > 1 {
		attempts += fmt.Sprintf(", in %d nested layers", e.Layers)
	}
	waits, worst := "at most "+lasts(e.Waits)+" in all", "no bound: an attempt may take any time (set a timeout)"
	if e.Waits == retry.Forever {
		waits = "no bound"
	}
	if w := e.Policy.AttemptTimeout; w > 0 {
		worst = lasts(e.Worst) + ", if attempts take their full timeout of " + lasts(w)
	}
	d := e.Policy.WithDefaults()
	p.Facts = []trait{{Name: "attempts", Text: attempts}, {Name: "waits", Text: waits}, {Name: "worst case", Text: worst}, {Name: "not counted", Text: fmt.Sprintf(
		"waits that errors ask for (at most %s each), queues, attempts lost in a crash (%d allowed)", lasts(d.MaxServerDelay), d.CrashLimit-1)}}
}

// drawnAttempts is how many attempts a table and a drawing show: the first ones and the
// last.
const drawnAttempts = 20

// planned shows when attempts start, as a table and as a drawing: a line from the earliest
// to the latest start of each, and a mark where it starts without jitter.
func planned(s *retry.Schedule) plannedAttempts {
	out := plannedAttempts{Errors: s.Errors}
	var shown []retry.PlannedAttempt
	for i, a := range s.Attempts {
		if i >= drawnAttempts-1 && i < len(s.Attempts)-1 {
			continue
		}
		row := plannedRow{Number: a.Number, Wait: lasts(a.Delay), Start: lasts(a.Start), Earliest: lasts(a.Earliest), Latest: lasts(a.Latest)}
		row.Gap = i >= drawnAttempts && i == len(s.Attempts)-1
		if i >= s.Sure {
			row.Note = "if jitter leaves time"
		}
		out.Rows = append(out.Rows, row)
		shown = append(shown, a)
	}
	if !s.Complete {
		out.More = "And so on."
	}
	end := time.Duration(1)
	for _, a := range shown {
		if a.Latest < retry.Forever {
			end = max(end, a.Latest, a.Start)
		}
	}
	const row = 14
	c := &barChart{Title: "When attempts start, from the first on", Height: row * len(shown)}
	at := func(d time.Duration) float64 { return 99 * float64(min(d, end)) / float64(end) }
	for i, a := range shown {
		says := fmt.Sprintf("attempt %d: %s, from %s to %s", a.Number, lasts(a.Start), lasts(a.Earliest), lasts(a.Latest))
		y := float64(row * i)
		c.Bars = append(c.Bars, rectangle{"gap", hundredths(at(a.Earliest)), hundredths(y + 4), hundredths(max(0.3, at(a.Latest)-at(a.Earliest))), "6", says},
			rectangle{"busy", hundredths(at(a.Start)), hundredths(y + 2), "0.5", "10", says})
	}
	c.Says = fmt.Sprintf("%s: %s in %s", c.Title, human.Plural(len(s.Attempts), "attempt", "attempts"), lasts(end))
	c.Labels = []chartLabel{{"0.00", "start", "0s"}, {"50.00", "middle", lasts(end / 2)}, {"100.00", "end", lasts(end)}}
	if len(shown) > 1 && end > 1 {
		out.Drawing = c
	}
	return out
}

// limited formats a number of attempts.
func limited(n int) string {
	if n >= retry.Unlimited {
		return "unlimited"
	}
	return human.Count(n)
}

// lasts formats a duration for comparison.
func lasts(d time.Duration) string {
	if d == retry.Forever {
		return "after 292y"
	}
	return human.Exact(d)
}
