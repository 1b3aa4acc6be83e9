package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/coro"
)

// Map runs fn for every item, all at the same time, and returns the results in
// the order of the items. One that fails does not stop the others: when all have
// ended, Map returns the results it has together with the error of the first
// item, in order, that failed. fn must use the context it is given.
func Map[T, R any](wf *Context, items []T, fn func(wf *Context, item T) (R, error)) ([]R, error) {
	wf.enter()
	results := make([]R, len(items))
	errs := make([]error, len(items))
	g := &group{open: len(items)}
	for i, item := range items {
		Go(wf, func(wf *Context) {
			results[i], errs[i] = fn(wf, item)
			g.done()
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
