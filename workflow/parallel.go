package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/retry"
)

// MapOption is an option of Map.
type MapOption func(*mapping)

type mapping struct{ limit int }

// Limit makes Map run fn for at most n items at a time: the next one begins when one has
// ended. It keeps a long list below the number of calls that a run may have open
// (perdure.MaxPendingCalls). The history still has all calls; split work that exceeds
// perdure.MaxHistory into child workflows or runs that continue as new.
func Limit(n int) MapOption { return func(m *mapping) { m.limit = n } }

// Map runs fn for every item, all at the same time or with Limit a few at a time, begun
// in order. A failure does not stop the others. When all have ended, Map returns the
// results in the order of the items, together with the error of the first item, in that
// order, that failed; the result of a failed item is the zero value. fn must use the
// context it is given. A limit below 1 is a terminal error.
func Map[T, R any](wf *Context, items []T, fn func(wf *Context, item T) (R, error), options ...MapOption) ([]R, error) {
	wf.enter()
	m := mapping{limit: max(1, len(items))}
	for _, set := range options {
		set(&m)
	}
	if m.limit < 1 {
		return nil, retry.Terminal(fmt.Errorf("workflow.Map: the limit is %d; use 1 or more", m.limit))
	}
	results := make([]R, len(items))
	errs := make([]error, len(items))
	g := &group{open: len(items)}
	next := 0
	for range min(m.limit, len(items)) {
		Go(wf, func(wf *Context) {
			for next < len(items) {
				i := next
				next++
				results[i], errs[i] = fn(wf, items[i])
				g.done()
			}
		})
	}
	for g.open > 0 {
		g.waiting = wf.co
		wf.park()
	}
	for i, err := range errs {
		if err != nil {
			return results, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return results, nil
}

// group waits for coroutines to end.
type group struct {
	open    int
	waiting *coro.Coroutine
}

func (g *group) done() {
	if g.open--; g.open == 0 && g.waiting != nil {
		g.waiting.Wake()
	}
}
