package policyedit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Classes sums up what an edit means for many calls: those of one name that have one policy
// are a class.
type Classes struct {
	edit Edit
	all  map[[2]string]*Class
	seen int
}

// NewClasses returns the classes of no calls.
func NewClasses(edit Edit) *Classes { return &Classes{edit: edit, all: map[[2]string]*Class{}} }

// Class is the calls of one name that have one policy, and what an edit means for them.
type Class struct {
	Name          string
	Before, After retry.Policy
	Calls         int
	Example       string // workflow ID of one of them

	states                map[string]int
	leftBefore, leftAfter [2]int // the fewest and the most attempts
	exhausted             int    // calls that have none left
	next                  *time.Time
	last                  [2]time.Time // the earliest and the latest moment of the last start; zero: no bound
}

// Seen is how many calls were added.
func (c *Classes) Seen() int { return c.seen }

// All returns the classes, the largest first.
func (c *Classes) All() []*Class {
	return slices.SortedFunc(maps.Values(c.all), func(x, y *Class) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Example, y.Example))
	})
}

// Add adds a call of a workflow ID to its class. The error says why it cannot have the
// policy that would come of the edit.
func (c *Classes) Add(id string, p *view.Call) error {
	before, after, err := apply(p, c.edit)
	if err != nil {
		return err
	}
	class := c.all[[2]string{p.Name, p.Policy}]
	if class == nil {
		class = &Class{
			Name: p.Name, Before: before, After: after, Example: id, states: map[string]int{},
			leftBefore: [2]int{remaining(p, before), remaining(p, before)}, leftAfter: [2]int{remaining(p, after), remaining(p, after)},
		}
		c.all[[2]string{p.Name, p.Policy}] = class
	}
	c.seen++
	class.add(p)
	return nil
}

func (c *Class) add(p *view.Call) {
	c.Calls++
	c.states[p.State]++
	widen(&c.leftBefore, remaining(p, c.Before))
	widen(&c.leftAfter, remaining(p, c.After))
	if remaining(p, c.After) == 0 {
		c.exhausted++
	}
	if p.Next != nil && (c.next == nil || p.Next.Before(*c.next)) {
		c.next = p.Next
	}
	if w := c.After.Within; w > 0 && w != retry.Forever {
		last := p.Scheduled.Add(w)
		if c.last[0].IsZero() || last.Before(c.last[0]) {
			c.last[0] = last
		}
		if last.After(c.last[1]) {
			c.last[1] = last
		}
	}
}

func widen(span *[2]int, n int) { span[0], span[1] = min(span[0], n), max(span[1], n) }

// States says how many of the calls are in which state.
func (c *Class) States() string {
	states := make([]string, 0, len(c.states))
	for state, n := range c.states {
		states = append(states, human.Count(n)+" "+state)
	}
	slices.Sort(states)
	return strings.Join(states, ", ")
}

// Consequence says what the edit means for the calls: a sentence without its end.
func (c *Class) Consequence(now time.Time) string {
	text := "the next attempts start as before"
	if c.next != nil {
		text = "the next attempts are due as before, the first " + human.Until(*c.next, now)
	}
	text += fmt.Sprintf("; %s attempts are left, instead of %s", spanText(c.leftAfter), spanText(c.leftBefore))
	switch {
	case c.last[0].IsZero():
		text += "; no time limit ends them"
	case c.last[0].Equal(c.last[1]):
		text += "; none starts after " + human.Time(c.last[0])
	default:
		text += "; none starts after " + human.Time(c.last[0]) + " to " + human.Time(c.last[1])
	}
	if c.exhausted > 0 {
		text += fmt.Sprintf("; %s no attempt left: the next failure is the last", human.Plural(c.exhausted, "call has", "calls have"))
	}
	return text
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
