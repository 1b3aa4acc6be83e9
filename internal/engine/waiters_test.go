package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// hops is what is left of a chain, each run of which takes a tenth of a second.
type hops struct{ Left, Done int }

var relay = workflow.Declare[hops, int]("relay")

func hop(wf *workflow.Context, in hops) (int, error) {
	if err := workflow.Sleep(wf, 100*time.Millisecond); err != nil || in.Left == 0 {
		return in.Done, err
	}
	return workflow.ContinueAsNew(wf, relay, hops{in.Left - 1, in.Done + 1})
}

// impatient is what an engine is told that removes runs as soon as they have ended.
func (w *world) impatient(definitions ...any) settings.Engine {
	c := w.config(definitions...)
	c.Retention = view.Retention{Completed: 1, Failed: 1, Canceled: 1, Terminated: 1, Continued: 1}
	c.SweepEvery = 20 * time.Millisecond
	if w.in.onDisk {
		c.SweepEvery = 100 * time.Millisecond // each look costs real time
	}
	return c
}

// slowReads is a database that takes its time to find a run, and to say which have ended.
type slowReads struct {
	store.Opener
	find, ended time.Duration
}

func (s slowReads) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.Opener.Open(ctx)
	return slowlyRead{inner, s}, err
}

type slowlyRead struct {
	store.Store
	how slowReads
}

func (s slowlyRead) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	if err := busy(ctx, s.how.find); err != nil {
		return nil, err
	}
	return s.Store.Find(ctx, partition, workflowID, run)
}

func (s slowlyRead) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	if err := busy(ctx, s.how.ended); err != nil {
		return nil, err
	}
	return s.Store.Ended(ctx, runs)
}

// waited is what many callers get who wait for the ends of as many runs.
type waited struct{ results, gone, other int }

// waitForMany starts chains in one engine and waits for their ends in another, and demands
// that all callers have an answer within a minute.
func waitForMany(t *testing.T, e, at *engine.Engine, chains, runs int) (got waited) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range chains {
		id, latest := fmt.Sprint("chain ", i), ""
		if run := begin(t, e, relay, id, hops{Left: runs - 1}); i%2 == 0 {
			latest = run
		}
		all.Go(func() {
			_, s, err := at.Result(ctx, id, latest)
			d, bad := core.DecodeDetail(s.Detail)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && bad == nil && s.Status == core.StatusCompleted && d.Result.String() == fmt.Sprint(runs-1):
				got.results++
			case errors.Is(err, store.ErrNotFound) && ctx.Err() == nil:
				got.gone++
			default:
				got.other++
				t.Errorf("%s: %s, %v", id, s.Status, err)
			}
		})
	}
	all.Wait()
	return got
}

// TestE67_RetentionWaitsForWaiters: whoever waits in the process that removes runs gets
// the outcome, however slowly the waiter gets from one run of the chain to the next, and
// then the runs go, those that the waiter has passed before.
func TestE67_RetentionWaitsForWaiters(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		w.db = slowReads{Opener: w.bare, find: 250 * time.Millisecond}
		e := w.startWith(w.impatient(relay.Impl(hop)))
		same(t, "answers", waitForMany(t, e, e, 100, 4), waited{results: 100})
		for n := 0; n < 60 && len(idsOf(t, e)) > 0; n++ { // a sweep rests longer than it works
			pass(time.Second)
		}
		same(t, "left", idsOf(t, e), "[]")

		// Who waits for what never ends keeps nothing of its past.
		begin(t, e, relay, "endless", hops{Left: 1000})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _, _, _ = e.Result(ctx, "endless", "") }()
		pass(5 * time.Second)
		for n := 0; n < 60 && len(idsOf(t, e)) > 20; n++ {
			pass(time.Second)
		}
		if left := len(idsOf(t, e)); left > 20 {
			t.Errorf("%d runs of a chain that a caller waits for are kept", left)
		}
	})
}

// besideAnother runs a test on every kind of database that another process can open.
func besideAnother(t *testing.T, test func(t *testing.T, w *world)) {
	needsTransactions.inAGroupOf(t, 4, test)
	file := setting{name: "sqlite", backend: backend{prepare: sharedFiles, onDisk: true}, resident: true}
	if file.prepare == nil || !file.plays(needsTransactions) {
		return
	}
	file.run(t, 1, func(t *testing.T, w *world) {
		w.patient = false
		test(t, w)
	})
}

// TestE67_AWaitFromElsewhereEnds: a process that looks now and then whether a run has
// ended may find that it was removed since. Its callers learn that, and wait no longer.
func TestE67_AWaitFromElsewhereEnds(t *testing.T) {
	besideAnother(t, func(t *testing.T, w *world) {
		e := w.startWith(w.impatient(relay.Impl(hop)))
		chains := 100
		if w.in.onDisk {
			chains = extent.AtNight(40, chains)
		}
		got := waitForMany(t, e, w.open(w.config()), chains, 4)
		if got.gone == 0 {
			t.Errorf("retention was slower than the waiters: %+v", got)
		}

		w.db = slowReads{Opener: w.bare, ended: 2 * time.Second}
		late := w.open(w.config())
		same(t, "of those who look too late", waitForMany(t, e, late, 30, 1), waited{gone: 30})

		begin(t, e, relay, "short", hops{})
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		_, _, err := late.Result(ctx, "short", "")
		if !errors.Is(err, store.ErrNotFound) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not exist, or no longer: retention") {
			t.Errorf("a wait that takes too long for a run that was removed: %v", err)
		}
		pass(5 * time.Second)
		same(t, "things awaited", late.Waiting(), 0)
	})
}

// TestE67_AQuestionEndsWithItsRun: a query that no engine has answered goes with the run
// that it is for. Who asked learns that, and so does whoever asks, signals or looks later.
func TestE67_AQuestionEndsWithItsRun(t *testing.T) {
	besideAnother(t, func(t *testing.T, w *world) {
		e := w.start(questioned("1"))
		asker, sweeper := w.open(w.config()), w.open(w.config())
		begin(t, e, questioned("1"), "w", 0)
		pass(time.Second)
		if d := describe(t, e, "w"); d.Status != "completed" {
			t.Fatalf("it is %s", d.Status)
		}
		stop(t, e)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		answer := make(chan error, 1)
		go func() {
			_, err := query(ctx, asker, "w", progress.Name(), "in")
			answer <- err
		}()
		pass(10 * time.Second)
		r, err := sweeper.Sweep(t.Context(), view.Retention{Completed: 1}, false)
		if err != nil || r.Runs != 1 {
			t.Fatalf("swept %+v, %v", r, err)
		}
		if err := <-answer; !errors.Is(err, store.ErrNotFound) || time.Since(began) > time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		_, err = query(t.Context(), asker, "w", progress.Name(), "in")
		_, _, ended := asker.Result(t.Context(), "w", "")
		_, described := asker.Describe(t.Context(), "w", "")
		signaled := asker.Signal(t.Context(), "w", "poke", "", history.Payload{})
		for _, err := range []error{err, ended, described, signaled} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("of a run that was removed: %v", err)
			}
		}
	})
}
