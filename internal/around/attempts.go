package around

import (
	"context"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
)

// Attempts holds the interceptors around the attempts of one run, and the watchers that are
// not idle for it. The zero value has none and is not Asked.
type Attempts struct {
	list
	// Asked says that OfRun made the value.
	Asked bool
	// Headers are those of the run as interceptors see them, with the trace parent. All attempts
	// share the map. It is nil if there are none of them.
	Headers map[string]string
	// Values are the values that bodies find in their context; nil for none.
	Values context.Context
}

// Attempts returns the interceptors and watchers of attempts of an unknown run.
func (c *Chain) Attempts() Attempts { return Attempts{list: *c.of(intercept.Attempt)} }

// OfRun returns the interceptors and watchers of the attempts of a run.
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
	if a.Any() {
		a.Headers = history.WithTrace(start.Headers, start.Trace)
	}
	return a
}

// Any reports whether there are interceptors or watchers.
func (a *Attempts) Any() bool { return len(a.all) > 0 }

// Around sets the interceptors and watchers of an attempt.
func (o *Operation) Around(a *Attempts) { o.list = a.list }
