package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

var dozer = workflow.New("dozer", func(wf *workflow.Context, d time.Duration) (bool, error) {
	return true, workflow.Sleep(wf, d)
})

// heldScan is a store whose first answer about coming due times is held back
// after it was read.
type heldScan struct {
	store.Opener
	read, release chan struct{}
	once          *sync.Once
}

type heldStore struct {
	store.Store
	heldScan
}

func (h heldScan) Open(ctx context.Context) (store.Store, error) {
	s, err := h.Opener.Open(ctx)
	return heldStore{s, h}, err
}

func (h heldStore) Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	due, err := h.Store.Due(ctx, partitions, after, until, limit)
	if until > store.Hot {
		h.once.Do(func() {
			close(h.read)
			<-h.release
		})
	}
	return due, err
}

func TestADueTimeThatIsCommittedWhileOthersAreReadIsNotForgotten(t *testing.T) {
	var held heldScan
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(dozer)
		env.Engine()
		<-held.read
		h, err := perduretest.Start(env, dozer, "d", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it sleeps and is not in memory any more
		close(held.release)
		if _, err := h.Result(); err != nil {
			t.Error(err)
		}
	}, perduretest.Patience(48*time.Hour), perduretest.Store(func() store.Opener {
		held = heldScan{memory.New(), make(chan struct{}), make(chan struct{}), new(sync.Once)}
		return held
	}))
}

func TestMoreRunsThanOneScanReadsMayShareADueTime(t *testing.T) {
	extent.Unwatched(t, "it is about a number")
	const together, later = 1050, 10 // a scan reads 1,000, and all that share the last one's time
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(dozer)
		var all []perduretest.Handle[bool]
		for i := range together + later {
			d := 2 * time.Hour
			if i >= together {
				d = 3 * time.Hour
			}
			h, err := perduretest.Start(env, dozer, fmt.Sprint(i), d)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, h)
		}
		env.Restart() // so that the next engine learns all due times by scanning
		for _, h := range all {
			if _, err := h.Result(); err != nil {
				t.Fatal(err)
			}
		}
	}, perduretest.Patience(48*time.Hour))
}
