package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// fleet is a group of nodes of two builds, and of a third that has no code of the runs. Some
// runs stay on the build on which people want them, others go where their code is, while
// they wait for signals, updates, timers, children and gates, and continue as new ones.
type fleet struct {
	*chaos
	crush  *crush
	client *engine.Engine
	trips  []*trip
	flows  []workflow.Workflow[voyage, voyage]
	clerks sync.WaitGroup

	mu     sync.Mutex
	faults []string
}

// trip is what is known of a run from outside.
type trip struct {
	id    string
	sent  int      // numbers
	asked []string // updates
	given []string // updates that were answered
	ends  string   // "canceled" or "terminated" if a person has ended it
	cut   bool     // it was reset: what came after the cut may be gone
}

// voyage is what a run has seen, and what it returns.
type voyage struct {
	N       int
	Got     []int
	Updates []string
}

const stations = 6 // numbers of a voyage

var nothingAsked, _ = history.Encode("")

var (
	remember = workflow.NewUpdate[string, int]("remember")
	seen     = workflow.NewQuery[string, int]("seen")
)

func (f *fleet) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

func newFleet(w *world, seed uint64) *fleet {
	f := &fleet{crush: w.newCrush()}
	f.chaos = &chaos{world: w, random: rand.New(rand.NewPCG(seed, 119)), names: map[*engine.Engine]string{}}
	var mu sync.Mutex
	began := map[string]bool{}
	work := activity.New("work", func(ctx context.Context, n int) (int, error) {
		info, _ := activity.FromContext(ctx)
		mu.Lock()
		twice := began[info.AttemptID]
		began[info.AttemptID] = true
		mu.Unlock()
		if twice {
			f.fault("two bodies are attempt %s", info.AttemptID)
		}
		if n%3 == 1 && info.Attempt%2 == 1 {
			return 0, errUnlucky
		}
		return n + 1, busy(ctx, time.Duration(n%5)*200*time.Millisecond)
	}, activity.Retry(retry.Policy{MaxAttempts: 100_000, CrashLimit: 1000, Backoff: retry.Fixed(800 * time.Millisecond)}))
	leaf := workflow.New("leaf", func(wf *workflow.Context, n int) (int, error) {
		if err := workflow.Sleep(wf, time.Duration(n%4)*time.Second); err != nil {
			return 0, err
		}
		return workflow.Call(wf, work, n)
	})
	for i, options := range [][]workflow.Option{{workflow.Pinned(), workflow.Version("same")}, {workflow.Version("same")}} {
		var flow workflow.Workflow[voyage, voyage]
		flow = workflow.New([]string{"pinned", "roams"}[i], func(wf *workflow.Context, v voyage) (voyage, error) {
			workflow.HandleQuery(wf, seen, func(string) (int, error) { return len(v.Got), nil })
			workflow.HandleUpdate(wf, remember, func(wf *workflow.Context, what string) (int, error) {
				if len(what)%2 == 0 {
					if _, err := workflow.Call(wf, work, len(what)); err != nil {
						return 0, err
					}
				}
				v.Updates = append(v.Updates, what)
				return len(v.Updates), nil
			})
			if err := f.station(wf, &v, work, leaf); err != nil {
				return v, err
			}
			if err := workflow.FinishUpdates(wf); err != nil {
				return v, err
			}
			if len(v.Got) >= stations {
				return v, nil
			}
			return workflow.ContinueAsNew(wf, flow, v)
		}, options...)
		f.flows = append(f.flows, flow)
	}
	f.definitions = append(slices.Clone(f.crush.definitions), f.flows[0], f.flows[1], leaf, work)
	f.builds = []string{"1", "2", "3"}
	return f
}

// station is a run of a voyage.
func (f *fleet) station(wf *workflow.Context, v *voyage, work activity.Activity[int, int], leaf workflow.Workflow[int, int]) error {
	n := v.N + len(v.Got)
	if _, err := workflow.Call(wf, work, n); err != nil {
		return err
	}
	if _, err := workflow.Call(wf, f.crush.calls[n%3], n); err != nil {
		return err
	}
	if err := workflow.Sleep(wf, time.Duration(n%3)*700*time.Millisecond); err != nil {
		return err
	}
	if _, err := workflow.RunChild(wf, leaf, n); err != nil {
		return err
	}
	for range 2 {
		got, err := workflow.Receive(wf, number)
		if err != nil {
			return err
		}
		v.Got = append(v.Got, got)
	}
	return nil
}

// tolerated reports whether people may be told so while nodes come and go.
func tolerated(err error) bool {
	var refused *request.RefusedError
	return err == nil || errors.Is(err, request.ErrNotPending) || errors.Is(err, request.ErrNoAnswer) || errors.Is(err, store.ErrClosed) ||
		errors.Is(err, store.ErrNotFound) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused)
}

// meddle lets a person do something to a run.
func (f *fleet) meddle() {
	x := f.trips[f.random.IntN(len(f.trips))]
	do := func(in core.Control) error {
		ctx, cancel := context.WithTimeout(f.t.Context(), 3*time.Second)
		defer cancel()
		_, err := f.client.Control(ctx, x.id, "", in)
		if f.note("%s of %s: %v", in.Operation, x.id, err); !tolerated(err) {
			f.fault("%s of %s: %v", in.Operation, x.id, err)
		}
		return err
	}
	switch f.random.IntN(16) {
	case 0, 1, 2:
		f.send(x)
	case 3, 4, 5:
		what := fmt.Sprintf("%s.%d", x.id, len(x.asked))
		x.asked = append(x.asked, what)
		f.clerks.Go(func() { f.ask(x, what) })
	case 6, 7, 8, 9, 10:
		_ = do(core.Control{Operation: core.MoveTheRun, To: f.builds[f.random.IntN(2)]})
	case 11:
		_ = do(core.Control{Operation: core.PauseTheRun})
	case 12:
		_ = do(core.Control{Operation: core.ResumeTheRun})
	case 13:
		if x.ends == "" && f.random.IntN(3) == 0 {
			x.cut = true
			_ = do(core.Control{Operation: core.ResetTheRun, Call: int64(1 + f.random.IntN(3))})
		}
	case 14:
		ctx, cancel := context.WithTimeout(f.t.Context(), 3*time.Second)
		defer cancel()
		if got, err := f.client.Query(ctx, x.id, "", seen.Name(), nothingAsked); err == nil {
			var n int
			if err := got.Decode(&n); err != nil || n > x.sent {
				f.fault("%s has seen %d of %d numbers, %v", x.id, n, x.sent, err)
			}
		}
	default:
		if x.ends != "" || f.random.IntN(3) > 0 {
			return
		}
		x.ends = []string{"canceled", "terminated"}[f.random.IntN(2)]
		f.end(x)
	}
}

// end ends a run as a person asked.
func (f *fleet) end(x *trip) {
	by := request.By{Who: "ann", Why: "enough"}
	var err error
	if x.ends == "canceled" {
		err = f.client.Cancel(f.t.Context(), x.id, "", by)
	} else {
		err = f.client.Terminate(f.t.Context(), x.id, "", by)
	}
	if f.note("%s is to be %s: %v", x.id, x.ends, err); errors.Is(err, store.ErrClosed) {
		x.ends = ""
	} else if err != nil {
		f.fault("%s is to be %s: %v", x.id, x.ends, err)
	}
}

// send sends the next number to a run, perhaps twice.
func (f *fleet) send(x *trip) {
	for range 1 + f.random.IntN(2) {
		payload, _ := history.Encode(x.sent)
		err := f.client.Signal(f.t.Context(), x.id, number.Name(), fmt.Sprint("the ", x.sent), payload)
		if f.note("number %d for %s: %v", x.sent, x.id, err); err != nil && !errors.Is(err, store.ErrClosed) {
			f.fault("number %d for %s: %v", x.sent, x.id, err)
		}
	}
	x.sent++
}

// ask asks a run for an update.
func (f *fleet) ask(x *trip, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := change(ctx, f.client, x.id, what, remember, what); err == nil {
		f.mu.Lock()
		x.given = append(x.given, what)
		f.mu.Unlock()
	}
}

// TestE117_E119_Chaos: whatever happens to nodes and database, and wherever people want runs to
// go meanwhile, each comes to its right end: it has each number once and in order, and each
// update that was answered; and nobody is left at a gate, in an inbox or in memory.
func TestE117_E119_Chaos(t *testing.T) {
	for seed := range chaosSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			needsFencing.inAGroupOf(t, []int{4, 5, 16}[seed%3], func(t *testing.T, w *world) {
				w.fewSeedsOnDisk(seed)
				newFleet(w, seed).play()
			})
		})
	}
}

func (f *fleet) play() {
	t, w := f.t, f.world
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range f.log {
				t.Log(line)
			}
		}
	})
	for i := range f.builds {
		f.joinBuild(i)
	}
	f.client = w.open(w.config())
	for i := range 12 {
		x := &trip{id: fmt.Sprint("trip", i)}
		f.trips = append(f.trips, x)
		begin(t, f.client, f.flows[i%2], x.id, voyage{N: i})
	}
	for range 40 {
		pass(time.Duration(f.random.IntN(1500)) * time.Millisecond)
		for range 3 {
			f.meddle()
		}
		if f.random.IntN(2) == 0 {
			f.happen()
		}
	}
	f.stops.Wait()
	f.clerks.Wait()
	for _, e := range w.engines() {
		w.plans[e].Outage(false)
	}
	for i := range f.builds { // each lives
		f.joinBuild(i)
	}
	for range 2 { // one that was asked for and not answered may be carried out after the first
		pass(30 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		if _, err := f.client.ControlAll(ctx, view.Filter{}, core.Control{Operation: core.ResumeTheRun}, false); err != nil {
			for _, x := range f.trips {
				t.Errorf("%s: %+v", x.id, describe(t, f.client, x.id))
			}
			t.Fatal(err)
		}
		cancel()
	}
	for _, x := range f.trips {
		for x.sent < stations && x.ends == "" {
			f.send(x)
		}
	}
	f.judge()
}

// judge says what must hold in the end.
func (f *fleet) judge() {
	t, w := f.t, f.world
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	for _, x := range f.trips {
		e := f.alive[f.random.IntN(len(f.alive))]
		_, state, err := e.Result(ctx, x.id, "")
		if err != nil {
			d := describe(t, f.client, x.id)
			t.Fatalf("%s: %v: %+v", x.id, err, d)
		}
		if x.ends != "" {
			if got := string(state.Status); got != x.ends && got != "completed" {
				t.Errorf("%s is %s, and was to be %s", x.id, got, x.ends)
			}
			continue
		}
		v, err := finish[voyage](t, f.client, x.id)
		if len(v.Got) != stations || v.Got[0] != 0 || v.Got[stations-1] != stations-1 || !slices.IsSorted(v.Got) || err != nil {
			t.Errorf("%s has %v, %v", x.id, v.Got, err)
		}
		sorted := slices.Sorted(slices.Values(v.Updates))
		if n := len(sorted); n != len(slices.Compact(sorted)) {
			t.Errorf("%s has updates twice: %v", x.id, v.Updates)
		}
		for _, what := range x.given {
			if !x.cut && !slices.Contains(v.Updates, what) {
				t.Errorf("%s has not the update %s, which was answered: %v", x.id, what, v.Updates)
			}
		}
	}
	f.mu.Lock()
	for _, what := range f.faults {
		t.Error(what)
	}
	f.mu.Unlock()
	pass(6 * time.Minute) // the gates have asked who holds them
	f.crush.judgeLeft(t, w)
	for _, e := range f.alive {
		if holds := theGates.ReplaceAllString(engine.Holds(e), ""); holds != "" {
			t.Errorf("a node holds %s", holds)
		}
		if left, err := w.raw().Inbox(t.Context(), engine.Owned(e), 0, 0); len(left) > 0 || err != nil {
			t.Errorf("messages are left: %+v, %v", left, err)
		}
	}
	for _, e := range w.engines() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Stop(ctx); err != nil {
			t.Logf("stop: %v", err)
		}
	}
}
