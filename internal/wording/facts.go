package wording

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// Fact is a line about something: a name, and a text, a time or both.
type Fact struct {
	Name, Text string
	Note       string     // what that means
	State      string     // by which it has a tone; may be empty
	At         *time.Time // when it was or will be; nil if no time belongs to it
	Due        bool       // it will be
	Took       string     // how long it had lasted then, in place of how long ago that was
	By, Why    string     // who did it

	WorkflowID, RunID string // of another run, which the text names
}

// nonEmpty returns the facts that say something.
func nonEmpty(all ...Fact) []Fact {
	return slices.DeleteFunc(all, func(f Fact) bool { return f.Text == "" && f.At == nil })
}

// RunFacts say of a run which it is, where it came from, and when.
func RunFacts(d *view.Description) []Fact {
	all := []Fact{{Name: "run", Text: d.RunID}}
	if s := d.Schedule; s != nil {
		all = append(all, Fact{Name: "schedule", Text: s.Name + ", for " + human.Time(s.Nominal)})
	}
	all = append(all, Fact{Name: "run before", Text: d.After, WorkflowID: d.WorkflowID, RunID: d.After}, Fact{Name: "next run", Text: d.Next, WorkflowID: d.WorkflowID, RunID: d.Next})
	if b := d.Base; b != nil {
		all = append(all, Fact{
			Name: "continues", Text: fmt.Sprintf("from call %d of run %s of %s", b.Call, b.RunID, b.WorkflowID), By: b.By, Why: b.Why, WorkflowID: b.WorkflowID, RunID: b.RunID,
		})
	}
	if p := d.Parent; p != nil {
		all = append(all, Fact{Name: "parent", Text: Parent(p.WorkflowID, p.Call, p.Detached), WorkflowID: p.WorkflowID, RunID: p.RunID})
	}
	all = append(all, Fact{Name: "started", At: &d.Created})
	if d.Closed != nil {
		all = append(all, Fact{Name: "ended", At: d.Closed, Took: human.Duration(max(0, d.Closed.Sub(d.Created)))})
	} else {
		all = append(all, Fact{Name: "run deadline", At: d.RunDeadline, Due: true}, Fact{Name: "deadline", At: d.ChainDeadline, Due: true})
	}
	all = append(all, runSettings(d.Priority, d.Key, d.Weight, d.Attributes)...)
	return nonEmpty(append(all, Fact{Name: "trace", Text: d.Trace})...)
}

// modes say what the modes of a gate mean.
var modes = map[string]string{
	"hold": "a call keeps its slot in backoff", "release": "a retry queues again, at the end", "rejoin": "a retry goes before calls that came later",
}

// GateFacts say what a gate lets pass, what of it was edited, and how its breaker and budget are.
func GateFacts(g *view.Gate) (all []Fact) {
	for _, part := range GateParts {
		all = append(all, Fact{Name: part, Text: GatePart(g.Spec, part), Note: GatePartEdited(g, part)})
	}
	all = append(all, Fact{Name: "mode", Text: g.Mode, Note: modes[g.Mode]})
	if g.Spec.MaxHold > 0 {
		all = append(all, Fact{Name: "longest hold", Text: human.Exact(g.Spec.MaxHold)})
	}
	for _, key := range slices.Sorted(maps.Keys(g.KeyBounds)) {
		all = append(all, Fact{Name: "key " + key, Text: g.KeyBounds[key].String()})
	}
	if e := g.Edited; e != nil {
		all = append(all, Fact{Name: "edited", At: &e.Since, By: e.By, Why: e.Why})
	}
	breaker := Fact{Name: "breaker is", Text: GateBreaker(g), State: g.Breaker}
	if g.OpenKeys > 0 {
		breaker.State = "open"
	}
	if breaker.State == "open" {
		breaker.At, breaker.Due = g.OpenUntil, true
	}
	if all = append(all, breaker); g.Tokens != nil {
		all = append(all, Fact{Name: "budget has", Text: fmt.Sprintf("%g of %d tokens", *g.Tokens, g.Spec.Budget.Tokens)})
	}
	return nonEmpty(all...)
}

// ScheduleFacts say when a schedule fires, and how often it did.
func ScheduleFacts(s *view.Schedule) []Fact {
	overlap := cmp.Or(s.Spec.Overlap, schedule.Skip)
	all := []Fact{{Name: "times", Text: Times(s.Spec)}, {Name: "overlap", Text: string(overlap), Note: Overlaps[overlap]}}
	if s.Spec.Jitter > 0 {
		all = append(all, Fact{Name: "jitter", Text: human.Exact(s.Spec.Jitter)})
	}
	all = append(all, runSettings(s.Priority, s.Key, s.Weight, s.Attributes)...)
	if s.RunTimeout > 0 {
		all = append(all, Fact{Name: "run timeout", Text: human.Exact(s.RunTimeout)})
	}
	if s.ChainTimeout > 0 {
		all = append(all, Fact{Name: "chain timeout", Text: human.Exact(s.ChainTimeout)})
	}
	if s.Retry != nil {
		all = append(all, Fact{Name: "retry", Text: s.Retry.String()})
	}
	return append(all,
		Fact{Name: "catch-up", Text: human.Exact(cmp.Or(s.Spec.CatchUp, schedule.DefaultCatchUp)), Note: "how late a fire may be after a downtime"},
		Fact{Name: "started", Text: human.Count(int(s.Started))}, Fact{Name: "skipped", Text: human.Count(int(s.Skipped)), Note: "because of overlap or a pause"},
		Fact{Name: "missed", Text: human.Count(int(s.Missed)), Note: "no node was up in time"}, Fact{Name: "set", At: &s.Set})
}

// runSettings say what is set for a run, or for those that a schedule starts.
func runSettings(priority int, key string, weight int, attributes map[string]string) (all []Fact) {
	if priority != 0 {
		all = append(all, Fact{Name: "priority", Text: strconv.Itoa(priority)})
	}
	if key != "" {
		all = append(all, Fact{Name: "key", Text: Key(key, weight)})
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		all = append(all, Fact{Name: "attribute", Text: name + "=" + attributes[name]})
	}
	return all
}
