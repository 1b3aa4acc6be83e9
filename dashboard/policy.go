package dashboard

import (
	"fmt"
	"html/template"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/retry"
)

// policyPage explains a policy that a person enters, using the code that decides.
type policyPage struct {
	*retry.Explanation // nil if there is none to show
	Text               string
	Nested             string
	Problem            string
	Presets            []linked
	Facts              []wording.Fact
	Try                template.URL
	Record             *onRecord
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
	if p.Explanation, err = retry.Explain(policy, layers); err != nil {
		p.Problem = err.Error()
		return p, nil
	}
	p.Try, p.Facts = link("lab", "policy", policy.String()), wording.PolicyTotals(p.Explanation)
	return p, nil
}

// startsChart draws when attempts start: a line from the earliest to the latest start of each, and a
// mark where it starts without jitter. It is nil where that says nothing.
func startsChart(s *retry.Schedule) *barChart {
	shown := wording.Planned(s)
	end := time.Duration(1)
	for _, a := range shown {
		if a.Latest < retry.Forever {
			end = max(end, a.Latest, a.Start)
		}
	}
	if len(shown) <= 1 || end == 1 {
		return nil
	}
	const row = 14
	c := &barChart{Title: "When attempts start, from the first on", Height: row * len(shown)}
	at := func(d time.Duration) float64 { return 99 * float64(min(d, end)) / float64(end) }
	for i, a := range shown {
		says := fmt.Sprintf("attempt %d: %s, from %s to %s", a.Number, wording.StartsAt(a.Start), wording.StartsAt(a.Earliest), wording.StartsAt(a.Latest))
		y := float64(row * i)
		c.Bars = append(c.Bars, rectangle{"gap", percent(at(a.Earliest)), hundredths(y + 4), percent(max(0.3, at(a.Latest)-at(a.Earliest))), "6", says},
			rectangle{"busy", percent(at(a.Start)), hundredths(y + 2), "0.5%", "10", says})
	}
	c.Says = fmt.Sprintf("%s: %s in %s", c.Title, human.Plural(len(s.Attempts), "attempt", "attempts"), wording.Lasts(end))
	c.Labels = []chartLabel{{percent(0), "start", "0s"}, {percent(50), "middle", wording.Lasts(end / 2)}, {percent(100), "end", wording.Lasts(end)}}
	return c
}
