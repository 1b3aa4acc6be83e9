package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// counter counts executions by what they were handed.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.n)
}

// chain is a workflow of three activities with a wait, a signal and a retry in
// it, and the executions of its activities.
func chain() (workflow.Workflow[string, string], activity.Activity[string, string], *counter) {
	ran := &counter{}
	var failed sync.Map
	step := activity.New("step", func(ctx context.Context, what string) (string, error) {
		ran.add(what)
		time.Sleep(100 * time.Millisecond)
		if _, before := failed.LoadOrStore(what, true); strings.HasSuffix(what, "!") && !before {
			return "", errors.New("once")
		}
		return what + ".", nil
	}, activity.Retry(retry.Policy{Backoff: retry.Fixed(30 * time.Second), Jitter: retry.NoJitter}))
	w := workflow.New("chain", func(wf *workflow.Context, id string) (string, error) {
		a, err := workflow.Call(wf, step, id+" a")
		if err != nil {
			return "", err
		}
		if err := workflow.Sleep(wf, 20*time.Second); err != nil {
			return "", err
		}
		b, err := workflow.Call(wf, step, id+" b!")
		if err != nil {
			return "", err
		}
		c, err := workflow.Call(wf, step, id+" c")
		return a + b + c, err
	})
	return w, step, ran
}

const chainRuns = "map[x a:1 x b!:2 x c:1]"

// TestE64_OutageIsSurvived: the database is away for an hour, at several
// moments of a run's life. The engine says so once, waits, and goes on by itself;
// what ended meanwhile is not lost and not done again.
func TestE64_OutageIsSurvived(t *testing.T) {
	for part := range 4 {
		begins := time.Duration(part) * 13 * time.Second
		t.Run(begins.String(), func(t *testing.T) {
			needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
				chain, step, ran := chain()
				e := w.start(chain, step)
				plan := w.plans[e]
				begin(t, e, chain, "x", "x")
				time.Sleep(begins + 50*time.Millisecond) // in the middle of a body
				plan.Outage(true)
				pass(time.Hour)
				if err := e.Health(); !store.Unavailable(err) {
					t.Errorf("in the outage Health says %v", err)
				}
				if n := w.log.count("the database does not answer"); n < 1 || n > 2 {
					t.Errorf("it was logged %d times, want once for reading and at most once for writing", n)
				}
				plan.Outage(false)
				if got, err := finish[string](t, e, "x"); got != "x a.x b!.x c." || err != nil {
					t.Errorf("the result is %q, %v", got, err)
				}
				if ran.String() != chainRuns {
					t.Errorf("executions: %s, want %s", ran, chainRuns)
				}
				pass(5 * time.Second) // all sides have asked again
				if err := e.Health(); err != nil {
					t.Errorf("after the outage Health says %v", err)
				}
				if n := w.log.count("the database answers again"); n != w.log.count("the database does not answer") {
					t.Errorf("the end was logged %d times", n)
				}
			})
		})
	}
}

// TestE64_StartsInAnOutage: a worker takes the start and answers when it is
// durable; a client tries for a while and is told that nothing was written.
func TestE64_StartsInAnOutage(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		chain, step, _ := chain()
		e, client := w.start(chain, step), w.open(w.config())
		for _, plan := range w.plans {
			plan.Outage(true)
		}
		if _, _, err := tryBegin(t.Context(), client, chain, "x", "x"); !store.Unavailable(err) || !store.Undone(err) {
			t.Errorf("the client is told %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := tryBegin(ctx, e, chain, "x", "x")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "repeat the start with the same ID") {
			t.Errorf("the worker answers %v", err)
		}
		for _, plan := range w.plans {
			plan.Outage(false)
		}
		begin(t, e, chain, "x", "x")
		if got, err := finish[string](t, client, "x"); got != "x a.x b!.x c." || err != nil {
			t.Errorf("the result is %q, %v", got, err)
		}
	})
}

// TestE64_SlowAndFullDatabase: a commit that takes long is said to, and a full
// disk is said to be one; both end by themselves.
func TestE64_SlowAndFullDatabase(t *testing.T) {
	needsTransactions.inVirtualTime(t, func(t *testing.T, w *world) {
		chain, step, ran := chain()
		db := &scripted{inner: w.db}
		w.db = db
		e := w.start(chain, step)
		for i := range 4 {
			w.plans[e].At(w.plans[e].Writes()+1+i, faulty.Slow(time.Minute))
		}
		go tryBegin(t.Context(), e, chain, "x", "x")
		pass(10 * time.Second)
		if err := e.Health(); err == nil || !strings.Contains(err.Error(), "a commit has not been answered for 5s") {
			t.Errorf("while a commit is slow Health says %v", err)
		}
		pass(time.Minute)
		if err := e.Health(); err != nil && !strings.Contains(err.Error(), "a commit has not been answered for 5s") {
			t.Errorf("Health says %v", err)
		}
		full := errors.New("database or disk is full")
		db.before(func([]store.Turn) error { return &store.UnavailableError{Op: "Commit", Err: full} })
		pass(10 * time.Minute)
		if err := e.Health(); !errors.Is(err, full) {
			t.Errorf("while the disk is full Health says %v", err)
		}
		db.before(nil)
		if got, err := finish[string](t, e, "x"); got != "x a.x b!.x c." || err != nil {
			t.Errorf("the result is %q, %v", got, err)
		}
		if err := e.Health(); err != nil || ran.String() != chainRuns {
			t.Errorf("at the end Health says %v, executions: %s", err, ran)
		}
	})
}

// TestE83_LostAnswers: at every write in turn, the answer is lost, or the write.
// Nothing is lost and nothing doubled: the history is the one without faults.
func TestE83_LostAnswers(t *testing.T) {
	play := func(t *testing.T, w *world, faults func(*faulty.Plan)) (events string, writes int) {
		chain, step, ran := chain()
		e := w.start(chain, step)
		faults(w.plans[e])
		signaled := complete(t, e, chain, "x", "x")
		if signaled != "x a.x b!.x c." || ran.String() != chainRuns {
			t.Errorf("the result is %q, executions: %s", signaled, ran)
		}
		var b strings.Builder
		for _, ev := range eventsOf(t, e, "x") {
			fmt.Fprintln(&b, ev.Turn, ev.Kind, ev.Call, ev.Name, ev.Attempt)
		}
		for _, a := range attemptsOf(t, e, "x") {
			fmt.Fprintln(&b, a.Call, a.Number, a.Outcome, a.Reason)
		}
		if err := e.Health(); err != nil {
			t.Errorf("Health says %v", err)
		}
		return b.String(), w.plans[e].Writes()
	}
	var want string
	var writes int
	synctest.Test(t, func(t *testing.T) { want, writes = play(t, newWorld(t), func(*faulty.Plan) {}) })
	for k := 3; k <= writes; k++ { // the first two are Join and Claim
		for _, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter} {
			t.Run(fmt.Sprint("write ", k, " ", fault), func(t *testing.T) {
				needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
					got, _ := play(t, w, func(p *faulty.Plan) { p.At(k, fault) })
					if got != want {
						t.Errorf("the history is\n%swant\n%s", got, want)
					}
				})
			})
		}
	}
}

// scripted is a store whose commits a test can refuse.
type scripted struct {
	inner store.Opener
	mu    sync.Mutex
	hook  func([]store.Turn) error
}

// before sets what is asked before every commit; its error is the answer.
func (s *scripted) before(hook func([]store.Turn) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

func (s *scripted) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.inner.Open(ctx)
	return &scriptedStore{inner, s}, err
}

type scriptedStore struct {
	store.Store
	script *scripted
}

func (s *scriptedStore) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	s.script.mu.Lock()
	hook := s.script.hook
	s.script.mu.Unlock()
	if hook != nil {
		if err := hook(turns); err != nil {
			return store.Result{}, err
		}
	}
	return s.Store.Commit(ctx, turns)
}

// TestI9_OneBadTurnIsIsolated: the database cannot take the data of one run. That
// run is parked, the others do not notice, and it goes on when a later engine can
// store it.
func TestI9_OneBadTurnIsIsolated(t *testing.T) {
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		const runs = 40
		var refusals atomic.Int64
		bad := ""
		cannot := errors.New("column too wide")
		db := &scripted{inner: w.db}
		db.before(func(turns []store.Turn) error {
			for _, turn := range turns {
				if turn.Create != nil && turn.Create.WorkflowID == "17" {
					bad = turn.Run
				}
			}
			if slices.ContainsFunc(turns, func(turn store.Turn) bool { return turn.Run == bad && turn.Number == 2 }) {
				refusals.Add(1)
				return cannot
			}
			return nil
		})
		w.db = db
		gate := make(chan struct{})
		wait := activity.New("wait", func(ctx context.Context, _ int) (int, error) {
			<-gate // so that all of them end together and share a commit
			return 1, nil
		})
		once := workflow.New("once", func(wf *workflow.Context, _ int) (int, error) { return workflow.Call(wf, wait, 0) })
		e := w.start(once, wait)
		for i := range runs {
			begin(t, e, once, fmt.Sprint(i), i)
		}
		close(gate)
		for i := range runs {
			if i == 17 {
				continue
			}
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != 1 || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		settle()
		d := describe(t, e, "17")
		if d.Status != "parked" || d.Reason != "the database refused the turn\ncolumn too wide" {
			t.Errorf("the run is %s: %q", d.Status, d.Reason)
		}
		if n := refusals.Load(); n > 8 {
			t.Errorf("the database was asked %d times for the culprit among %d turns", n, runs)
		}
		if err := e.Health(); err != nil {
			t.Errorf("Health says %v", err)
		}
		stop(t, e)
		db.before(nil)
		e = w.start(once, wait)
		if got, err := finish[int](t, e, "17"); got != 1 || err != nil {
			t.Errorf("in the end: %d, %v", got, err)
		}
	})
}

// TestI9_ARunThatCannotBeReadIsParked: the engine tells about a run whose record
// is broken, and serves the others.
func TestI9_ARunThatCannotBeReadIsParked(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		nap := workflow.New("nap", func(wf *workflow.Context, _ int) (int, error) { return 1, workflow.Sleep(wf, time.Hour) })
		e := w.start(nap)
		run := begin(t, e, nap, "broken", 0)
		begin(t, e, nap, "sound", 0)
		w.kill(e)

		raw := w.raw()
		owned := w.claim(raw, "vandal")
		result, err := raw.Commit(t.Context(), []store.Turn{{
			Epoch: owned.Epoch, Run: run, Number: 2, CommitID: 1, Time: 1, Events: []byte(`{"v":99,"events":[]}`),
		}})
		if err != nil || result.Errors[0] != nil {
			t.Fatal(err, result.Errors)
		}
		raw.Close()

		e = w.start(nap)
		if got, err := finish[int](t, e, "sound"); got != 1 || err != nil {
			t.Errorf("the sound run: %d, %v", got, err)
		}
		settle()
		row, err := e.List(t.Context(), view.Filter{Status: []string{view.StatusParked}})
		if err != nil || len(row) != 1 || row[0].WorkflowID != "broken" {
			t.Errorf("parked are %+v, %v", row, err)
		}
	})
}

// raw opens the database beside the engines.
func (w *world) raw() store.Store {
	w.t.Helper()
	s, err := w.db.Open(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// claim makes a node the owner of the one partition, whoever it was before.
func (w *world) claim(s store.Store, node string) store.Ownership {
	w.t.Helper()
	owners, err := s.Owners(w.t.Context(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if n := len(owners); n > 0 {
		if err := s.Leave(w.t.Context(), owners[n-1].Node); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := s.Join(w.t.Context(), store.Node{ID: node, Name: "node", Lease: time.Hour, Supersede: true}); err != nil {
		w.t.Fatal(err)
	}
	owned, err := s.Claim(w.t.Context(), node, []int{0})
	if err != nil {
		w.t.Fatal(err)
	}
	return owned[0]
}

// TestE7_FencedAfterTakeover: another node claims the partition. From then on the old engine
// writes nothing to the database, its bodies are canceled, it logs what happened, and it does
// not disturb the new owner.
func TestE7_FencedAfterTakeover(t *testing.T) {
	needsFencing.inBothModesShared(t, 1, func(t *testing.T, w *world) {
		const runs = 20
		var canceled atomic.Int64
		var second atomic.Int64
		var taken atomic.Bool
		work := activity.New("work", func(ctx context.Context, i int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt > 1 {
				second.Add(1)
			}
			if taken.Load() {
				return i, nil
			}
			select {
			case <-time.After(time.Duration(i+1) * time.Second):
				return -1, nil // a zombie's result
			case <-ctx.Done():
				if errors.Is(context.Cause(ctx), store.ErrFenced) {
					canceled.Add(1)
				}
				return -1, ctx.Err()
			}
		})
		once := workflow.New("once", func(wf *workflow.Context, i int) (int, error) { return workflow.Call(wf, work, i) })
		config := w.config(once, work)
		config.Concurrency = runs / 2 // the others queue
		old := w.startWith(config)
		for i := range runs {
			begin(t, old, once, fmt.Sprint(i), i)
		}
		settle()
		raw := w.raw()
		w.claim(raw, "usurper")
		taken.Store(true)
		before := dump(t, raw)
		signal(t, old, "3", "any", "", 0) // the old one is a client like any other
		pass(time.Minute)
		if got := dump(t, raw); got != before {
			t.Errorf("after the takeover the database changed from\n%sto\n%s", before, got)
		}
		if n := canceled.Load(); n != runs/2-1 && n != runs/2 {
			t.Errorf("%d bodies were told that they are not wanted, want all that ran", n)
		}
		if err := old.Health(); err == nil || !strings.Contains(err.Error(), "under the name of this node") {
			t.Errorf("the old engine says %v", err)
		}
		if err := raw.Close(); err != nil {
			t.Fatal(err)
		}
		e := w.start(once, work)
		for i := range runs {
			if got, err := finish[int](t, old, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		if got := second.Load(); got != runs/2 {
			t.Errorf("%d attempts were made again, want the %d that were lost", got, runs/2)
		}
		if err := e.Health(); err != nil {
			t.Errorf("the new engine says %v", err)
		}
	})
}

// dump prints everything a database has, except the messages that wait.
func dump(t *testing.T, s store.Store) string {
	t.Helper()
	var b strings.Builder
	runs, err := s.List(t.Context(), store.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		rec, err := s.Load(t.Context(), r.Partition, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		attempts, err := s.Attempts(t.Context(), r.Partition, r.ID, store.AttemptRange{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %d %d\n", r.WorkflowID, r.Status, r.Wake, r.Closed)
		for _, turn := range rec.Turns {
			fmt.Fprintf(&b, "  %d %s\n", turn.Number, turn.Events)
		}
		for _, c := range store.Apart(rec.Calls) {
			fmt.Fprintf(&b, "  %d %s %s\n", c.Number, c.State, c.Data)
		}
		fmt.Fprintf(&b, "  %+v\n", attempts)
	}
	return b.String()
}
