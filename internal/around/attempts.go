package around

import (
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
)

// Attempts is what stands around the attempts of one run: the interceptors, and the watchers
// that are not idle for it. Its zero value is nothing, and nothing that was asked yet.
type Attempts struct {
	list
	// Asked says that OfRun made it.
	Asked bool
	// Values are those that bodies find in their context; nil for none.
	Values context.Context
}

// Attempts returns what stands around attempts of runs of which nothing is known.
func (c *Chain) Attempts() Attempts { return Attempts{list: *c.of(intercept.Attempt)} }

// OfRun returns what stands around the attempts of a run.
func (c *Chain) OfRun(start *history.Start) Attempts {
	all := c.of(intercept.Attempt)
	a, fewer := Attempts{list: *all, Asked: true}, false
	for i, m := range all.all {
		if m.watch != nil {
			if values, idle := m.watch.Idle(start); idle {
				if !fewer {
					a.all, fewer = append([]Member(nil), all.all[:i]...), true
				}
				a.Values = values
				continue
			}
		}
		if fewer {
			a.all = append(a.all, m)
		}
	}
	return a
}

// Any reports whether there is something.
func (a *Attempts) Any() bool { return len(a.all) > 0 }

// Around sets what stands around an attempt.
func (o *Operation) Around(a *Attempts) { o.list = a.list }
