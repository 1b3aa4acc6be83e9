package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/store"
)

// raceChecks are about commits that meet a change of the owner.
var raceChecks = []check{
	{"Race/ClaimWaitsForCommitsAndFencesTheRest", func(f *fixture) {
		r := newRace(f)
		r.run(func() int64 { f.claim(); return f.epoch })
	}},
	{"Race/ReleaseWaitsForCommitsAndFencesTheRest", func(f *fixture) {
		r := newRace(f)
		r.run(func() int64 {
			f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
			free := r.durable()
			f.claim()
			equal(f, r.durable(), free) // between the two, nobody could write
			return f.epoch
		})
	}},
	{"Race/NewNodesFenceTheOldOnes", func(f *fixture) {
		r := newRace(f)
		nodes := 1
		r.run(func() int64 {
			nodes++
			f.must(f.store.Leave(f.Context(), f.node))
			free := r.durable()
			f.join(fmt.Sprint("node-", nodes))
			equal(f, r.durable(), free)
			return f.epoch
		})
	}},
}

// race is committers who write under the epoch they know while it changes.
type race struct {
	*fixture
	runs  []store.Run
	seen  [racers]int // how many turns durable has counted
	epoch atomic.Int64
	last  atomic.Int64 // the latest time a commit was answered
	stop  atomic.Bool
}

const (
	racers = 4  // committers
	epochs = 25 // changes of the owner
)

func newRace(f *fixture) *race {
	r := &race{fixture: f}
	for range racers {
		r.runs = append(r.runs, f.created())
	}
	return r
}

// durable counts the turns there are. It reads those only that it has not counted before: while it
// reads, more are written, and whoever reads all of them slower than they come never ends.
func (r *race) durable() [racers]int {
	r.Helper()
	for i, run := range r.runs {
		more, err := r.store.History(r.Context(), r.partition, run.ID, int64(r.seen[i]), 0)
		r.must(err)
		r.seen[i] += len(more)
	}
	return r.seen
}

// run changes the owner over and over. What was durable right after a change must
// be all that is ever durable of the epochs before.
func (r *race) run(change func() (epoch int64)) {
	r.epoch.Store(r.fixture.epoch)
	var wg sync.WaitGroup
	for i, run := range r.runs {
		writer := *r.fixture
		if r.store.Info().Shared { // else there is one process, which has one handle
			writer.store = r.open()
		}
		wg.Go(func() { r.commits(&writer, run, int64(2+i)) })
	}
	type mark struct {
		epoch  int64
		counts [racers]int
	}
	var marks []mark
	func() {
		defer wg.Wait()
		defer r.stop.Store(true)
		for range epochs {
			known := r.last.Load()
			epoch := change()
			marks = append(marks, mark{epoch, r.durable()})
			r.epoch.Store(epoch)
			owners := r.owners()
			if o := owners[len(owners)-1]; o.Epoch != epoch || o.Clock < known {
				r.Errorf("the owner of epoch %d is %+v, but a commit was answered at %d", epoch, o, known)
			}
			// Let somebody write under it.
			before := r.durable()
			r.await("a commit under the new epoch", func() bool { return r.durable() != before })
		}
	}()
	for i, run := range r.runs {
		turns := r.history(run.ID)
		for n, t := range turns {
			if n > 0 && t.Epoch < turns[n-1].Epoch {
				r.Errorf("turn %d is of epoch %d, the one before of epoch %d", t.Number, t.Epoch, turns[n-1].Epoch)
			}
		}
		for _, m := range marks {
			for _, t := range turns[m.counts[i]:] {
				if t.Epoch < m.epoch {
					r.Fatalf("turn %d of epoch %d became durable after epoch %d had begun", t.Number, t.Epoch, m.epoch)
				}
			}
		}
	}
}

// commits adds turn after turn to a run, under whatever epoch it believes in.
func (r *race) commits(f *fixture, run store.Run, commit int64) {
	for number := int64(2); !r.stop.Load(); commit += racers {
		t := f.turn(run, number, under(r.epoch.Load()))
		t.CommitID = commit
		result, err := f.store.Commit(f.Context(), []store.Turn{t})
		if !r.well(err) {
			return
		}
		switch err := result.Errors[0]; {
		case err == nil:
			number++
			for known := r.last.Load(); result.Now > known && !r.last.CompareAndSwap(known, result.Now); known = r.last.Load() {
			}
		case !errors.Is(err, store.ErrFenced):
			r.Error(err)
			return
		}
	}
}
