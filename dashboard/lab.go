package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// labFilter says which policy is tried on which calls.
type labFilter struct {
	Text     string `query:"policy"`
	Activity string `query:"activity"`
	Workflow string `query:"workflow"`
	listing.Span
}

// labPage shows a trial of another policy on recorded calls.
type labPage struct {
	labFilter
	Tabs      []listTab
	Problem   string
	Explain   template.URL
	Canonical string
	Trial     *view.PolicyTrial // nil if there was none
	Says      []string
	Load      *barChart
	Record    *onRecord
}

// labTime limits the duration of a trial.
const labTime = 8 * time.Second

func lab(q *request) (any, error) {
	p := &labPage{}
	if err := q.readSpanned(&p.labFilter, &p.Span, "7d"); err != nil {
		return nil, err
	}
	p.Text = typed(q.URL.Query(), "policy")
	p.Tabs = spanTabs("lab", &p.Span, spanned(&p.labFilter))
	p.Record = q.onRecord("lab")
	if p.Text == "" {
		return p, nil
	}
	policy, err := policyedit.Read(p.Text)
	if err != nil {
		p.Problem = err.Error()
		return p, nil
	}
	p.Record.check(policy)
	p.Canonical, p.Explain = policy.String(), link("policy", "policy", policy.String())
	ctx, cancel := context.WithTimeout(q.ctx, labTime)
	defer cancel()
	t, err := ops.TryPolicy(ctx, q.engine, policy, view.TrialFilter{Workflow: p.Workflow, Activity: p.Activity, Since: p.Since.At, Until: p.Until.At})
	if q.tooMuch(err) {
		p.Problem = fmt.Sprintf("There is too much on record to read it in %s. Choose an activity or a shorter time, or let the command take its time: perdure policy try.", human.Duration(labTime))
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	says := "No call like that failed at first in this time: there is nothing to try the policy on."
	if t.Calls > 0 {
		says = fmt.Sprintf("Tried on %s with %s, from %s to %s.", human.Plural(t.Calls, "call", "calls"), human.Plural(t.Recorded.Attempts, "attempt", "attempts"), human.Time(*t.From), human.Time(*t.To))
	}
	p.Trial, p.Says, p.Load = t, append([]string{says}, wording.TrialUntried(t, "this time")...), loadChart(&t.Load)
	return p, nil
}

// trialSaved says what the policy of a trial saves.
func trialSaved(t *view.PolicyTrial) string {
	return strings.Join(nonEmpty(wording.TrialSaved(t), wording.TrialEstimate(t)), " ")
}

// loadChart draws how many attempts start over time.
func loadChart(l *view.TrialLoad) *barChart {
	if len(l.Points) == 0 || l.Width <= 0 {
		return nil
	}
	counts := wording.TrialStarts(l)
	line := timeSpans{l.Points[0].Time, l.Width, len(counts[0])}
	var all []series
	for i, tone := range []string{"wait", "busy", "retry"}[:len(counts)] {
		all = append(all, series{[]string{"recorded", "with the policy", "at worst"}[i], tone, counts[i]})
	}
	return line.draw("Attempts that start, "+per(l.Width), "attempts", 96, all...)
}
