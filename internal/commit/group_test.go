package commit

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/perdure/perdure/store"
)

// TestAGroupTakesTheTurnsOfThoseWhoAreReady: on one processor, with a store that returns
// immediately, every caller would find the committer idle and get a group to itself.
func TestAGroupTakesTheTurnsOfThoseWhoAreReady(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) { return durable(turns), nil })
	var running, callers sync.WaitGroup
	running.Go(b.Run)
	const n = 200
	for i := range n {
		callers.Go(func() {
			if err := b.Commit(turn(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	b.stop(errors.New("the test is over"))
	running.Wait()
	if groups := len(b.store.commits); groups > n/4 {
		t.Errorf("%d turns were committed in %d groups", n, groups)
	}
}
