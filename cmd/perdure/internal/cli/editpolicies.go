package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// policyClass is the calls of one name that had one policy, and what an edit means for them.
type policyClass struct {
	name          string
	before, after retry.Policy
	calls         int
	example       string
	states        map[string]int

	leftBefore, leftAfter [2]int // the fewest and the most attempts
	exhausted             int    // calls that have none left
	next                  *time.Time
	last                  [2]time.Time // the earliest and the latest moment of the last start; zero: no bound
}

// showEdits shows what an edit changes for many calls, those that have the same policy
// together.
func (a *app) showEdits(ctx context.Context, e *perdure.Engine, selected view.BulkResult, edit func(retry.Policy) (retry.Policy, error)) error {
	numbers := map[string][]int64{}
	var runs []string
	for _, r := range selected.Records {
		if numbers[r.WorkflowID] == nil {
			runs = append(runs, r.WorkflowID)
		}
		numbers[r.WorkflowID] = append(numbers[r.WorkflowID], r.Call)
	}
	classes, seen := map[[2]string]*policyClass{}, 0
	for _, id := range runs {
		d, err := e.Workflow(id).Describe(ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range d.Pending {
			if p := &d.Pending[i]; p.Policy != "" && slices.Contains(numbers[id], p.Call) {
				if err := classify(classes, id, p, edit); err != nil {
					return err
				}
				seen++
			}
		}
	}
	all := make([]*policyClass, 0, len(classes))
	for _, c := range classes {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y *policyClass) int {
		return cmp.Or(cmp.Compare(y.calls, x.calls), cmp.Compare(x.name, y.name), cmp.Compare(x.example, y.example))
	})
	for _, c := range all {
		a.showClass(c)
	}
	if seen < selected.Calls && selected.Calls > len(selected.Records) {
		a.printf("These are %s of the %s that are selected; the others are not looked at one by one.\n\n", term.Count(seen), term.Plural(selected.Calls, "call", "calls"))
	}
	return nil
}

// classify adds a call to its class.
func classify(classes map[[2]string]*policyClass, id string, p *view.Call, edit func(retry.Policy) (retry.Policy, error)) error {
	before, err := retry.Parse(p.Policy)
	if err != nil {
		return err
	}
	after, err := valid(edit, before)
	if err != nil {
		return usage("See: perdure policy explain --help", "Call %d (%s) of workflow %q cannot have that policy: %s", p.Call, p.Name, id, sentence(err))
	}
	c := classes[[2]string{p.Name, p.Policy}]
	if c == nil {
		c = &policyClass{
			name: p.Name, before: before, after: after, example: id, states: map[string]int{},
			leftBefore: [2]int{remaining(p, before), remaining(p, before)}, leftAfter: [2]int{remaining(p, after), remaining(p, after)},
		}
		classes[[2]string{p.Name, p.Policy}] = c
	}
	c.calls++
	c.states[p.State]++
	widen(&c.leftBefore, remaining(p, before))
	widen(&c.leftAfter, remaining(p, after))
	if remaining(p, after) == 0 {
		c.exhausted++
	}
	if p.Next != nil && (c.next == nil || p.Next.Before(*c.next)) {
		c.next = p.Next
	}
	if w := after.Within; w > 0 && w != retry.Forever {
		last := p.Scheduled.Add(w)
		if c.last[0].IsZero() || last.Before(c.last[0]) {
			c.last[0] = last
		}
		if last.After(c.last[1]) {
			c.last[1] = last
		}
	}
	return nil
}

func widen(span *[2]int, n int) { span[0], span[1] = min(span[0], n), max(span[1], n) }

// showClass shows what an edit means for the calls of a class.
func (a *app) showClass(c *policyClass) {
	states := make([]string, 0, len(c.states))
	for state, n := range c.states {
		states = append(states, term.Count(n)+" "+state)
	}
	slices.Sort(states)
	a.printf("%s (%s), such as in %s: %s\n  - %s\n  + %s\n", term.Plural(c.calls, "call", "calls"), c.name, c.example, strings.Join(states, ", "), c.before, c.after)
	text := "the next attempts start as before"
	if c.next != nil {
		text = "the next attempts are due as before, the first " + term.Until(*c.next, a.env.Now())
	}
	text += fmt.Sprintf("; %s attempts are left, instead of %s", spanText(c.leftAfter), spanText(c.leftBefore))
	switch {
	case c.last[0].IsZero():
		text += "; no time ends them"
	case c.last[0].Equal(c.last[1]):
		text += "; none starts after " + term.Time(c.last[0])
	default:
		text += "; none starts after " + term.Time(c.last[0]) + " to " + term.Time(c.last[1])
	}
	if c.exhausted > 0 {
		text += fmt.Sprintf("; %s no attempt left: the next failure is the last", term.Plural(c.exhausted, "call has", "calls have"))
	}
	a.printf("  %s.\n\n", text)
}

func spanText(span [2]int) string {
	if span[0] == span[1] {
		return leftText(span[0])
	}
	if span[1] == retry.Unlimited {
		return leftText(span[0]) + " or more"
	}
	return leftText(span[0]) + " to " + leftText(span[1])
}
