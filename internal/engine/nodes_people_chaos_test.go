package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
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

// office is a group whose calls pass gates, beat, are completed from outside and
// have step transactions, while people pause, resume and hurry all of it.
type office struct {
	*chaos
	crush  *crush
	client *engine.Engine
	flow   workflow.Workflow[int, int]
	runs   int
	clerks sync.WaitGroup

	mu     sync.Mutex
	begun  map[string]bool // attempt IDs of bodies
	faults []string
}

func (o *office) fault(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.faults = append(o.faults, fmt.Sprintf(format, args...))
}

// begins notes that a body runs: no attempt ID is used twice.
func (o *office) begins(ctx context.Context) activity.Info {
	info, _ := activity.FromContext(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.begun[info.AttemptID] {
		o.faults = append(o.faults, "two bodies are attempt "+info.AttemptID)
	}
	o.begun[info.AttemptID] = true
	return info
}

func newOffice(w *world, seed uint64) *office {
	o := &office{crush: w.newCrush(), runs: 20, begun: map[string]bool{}}
	o.chaos = &chaos{world: w, random: rand.New(rand.NewPCG(seed, 3)), names: map[*engine.Engine]string{}}
	policy := func(p retry.Policy) activity.Option {
		p.MaxAttempts, p.CrashLimit, p.Backoff = 100_000, 1000, retry.Fixed(900*time.Millisecond)
		return activity.Retry(p)
	}
	ask := activity.New("ask", func(ctx context.Context, n int) (int, error) {
		info := o.begins(ctx)
		token := activity.Token(ctx)
		o.clerks.Go(func() { o.answer(token, n, info.Attempt) })
		return 0, activity.ErrPending
	}, policy(retry.Policy{AttemptTimeout: 20 * time.Second, HeartbeatTimeout: 9 * time.Second}))
	pulse := activity.New("pulse", func(ctx context.Context, n int) (int, error) {
		info := o.begins(ctx)
		at, known, err := activity.Details[int](ctx)
		if err != nil || known && info.Attempt == 1 || at > 6 {
			o.fault("attempt %d is told %d, %v, %v", info.Attempt, at, known, err)
		}
		for ; at < 6; at++ {
			activity.Heartbeat(ctx, at+1)
			if err := busy(ctx, 400*time.Millisecond); err != nil {
				return 0, err
			}
			if at == n%6 && info.Attempt%3 == 1 {
				return 0, errUnlucky
			}
		}
		return n + 1, nil
	}, policy(retry.Policy{HeartbeatTimeout: 5 * time.Second}))
	book := newBook()
	enter := activity.New("enter", func(ctx context.Context, n int) (int, error) {
		info := o.begins(ctx)
		if err := busy(ctx, 300*time.Millisecond); err != nil {
			return 0, err
		}
		return n + 1, activity.OnCommit(ctx, book.effect(info.CallID))
	}, policy(retry.Policy{}))
	o.flow = workflow.New("office", func(wf *workflow.Context, n int) (int, error) {
		for range 2 {
			parts, err := workflow.Map(wf, []activity.Activity[int, int]{ask, pulse, enter, enter}, func(wf *workflow.Context, a activity.Activity[int, int]) (int, error) {
				return workflow.Call(wf, a, n)
			})
			if err != nil {
				return 0, err
			}
			for i := range 2 {
				if n, err = workflow.Call(wf, o.crush.calls[(n+i)%3], parts[i]+i); err != nil {
					return 0, err
				}
			}
		}
		return n, o.once(wf)
	})
	o.definitions = append(slices.Clone(o.crush.definitions), o.flow, ask, pulse, enter)
	return o
}

// once makes sure that each step transaction of the run happened once.
func (o *office) once(wf *workflow.Context) error {
	_, err := workflow.Do(wf, "audit", func(ctx context.Context) (int, error) {
		return 0, activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
			all, err := allEffects(ctx, tx)
			info, _ := activity.FromContext(ctx)
			if slices.Sort(all); len(all) != 4 || len(slices.Compact(all)) != 4 {
				o.fault("run %s has the effects %v", info.RunID, all)
			}
			return err
		})
	}, activity.Retry(retry.Policy{MaxAttempts: 100_000, CrashLimit: 1000}))
	return err
}

// answer completes an attempt from outside, after a while and some signs of life.
func (o *office) answer(token string, n, attempt int) {
	ctx := context.Background()
	result, _ := history.Encode(n + 1)
	details, _ := history.Encode("soon")
	for range n % 4 {
		time.Sleep(3 * time.Second)
		_ = o.client.HeartbeatAttempt(ctx, token, details)
	}
	var err error
	if n%5 == 2 && attempt%2 == 1 {
		err = o.client.FailAttempt(ctx, token, history.FromError(errUnlucky))
	} else {
		err = o.client.CompleteAttempt(ctx, token, result)
	}
	if err != nil && !errors.Is(err, request.ErrStaleToken) {
		o.fault("completing: %v", err)
	}
}

// meddle lets a person do something.
func (o *office) meddle() {
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*time.Second)
	defer cancel()
	id := fmt.Sprint(o.random.IntN(o.runs))
	do := func(op core.Operation, p *retry.Policy) {
		_, err := o.client.Control(ctx, id, "", core.Control{Operation: op, Policy: p})
		var refused *request.RefusedError
		if err != nil && !errors.Is(err, request.ErrNotPending) && !errors.Is(err, request.ErrNoAnswer) && !errors.Is(err, store.ErrClosed) && !errors.As(err, &refused) {
			o.fault("%s of %s: %v", op, id, err)
		}
		o.note("%s of %s: %v", op, id, err)
	}
	name := []string{"a", "b", "both", "ask", "pulse", "enter"}[o.random.IntN(6)]
	switch n := o.random.IntN(12); n {
	case 0, 1:
		do(core.PauseCall, nil)
	case 2, 3, 4:
		do(core.ResumeCall, nil)
	case 5, 6:
		do(core.RetryNow, nil)
	case 7:
		do(core.EditPolicy, &retry.Policy{
			MaxAttempts: 100_000, CrashLimit: 1000, Backoff: retry.Fixed(time.Duration(o.random.IntN(3000)) * time.Millisecond),
			AttemptTimeout: 15 * time.Second, HeartbeatTimeout: 8 * time.Second,
		})
	case 8, 9:
		off := n == 8
		o.note("activity %s off: %v", name, off)
		if _, err := o.client.SwitchActivity(ctx, name, off, "", request.By{}); err != nil {
			o.fault("switch: %v", err)
		}
	default:
		gate, off := []string{"a", "b"}[o.random.IntN(2)], n == 10
		o.note("gate %s off: %v", gate, off)
		if err := o.client.PauseGate(ctx, gate, off, request.By{}); err != nil && !errors.Is(err, store.ErrNotFound) {
			o.fault("gate: %v", err)
		}
	}
}

// release takes back all that people keep from going on.
func (o *office) release() {
	ctx := o.t.Context()
	for _, name := range []string{"a", "b", "both", "ask", "pulse", "enter"} {
		if _, err := o.client.SwitchActivity(ctx, name, false, "", request.By{}); err != nil {
			o.t.Error(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := o.client.PauseGate(ctx, name, false, request.By{}); err != nil && !errors.Is(err, store.ErrNotFound) {
			o.t.Error(err)
		}
	}
	for range 2 { // one that was asked for and not answered may be carried out after the first
		pass(30 * time.Second)
		if _, err := o.client.ControlAll(ctx, view.Filter{}, core.Control{Operation: core.ResumeCall}, false); err != nil {
			o.t.Error(err)
		}
	}
}

// TestI6_ChaosWithPeople: whatever happens to nodes and database and whatever
// people do meanwhile, all runs come to their right end when nobody keeps them any
// more; gates hold, effects happen once, no two bodies are the same attempt.
func TestI6_ChaosWithPeople(t *testing.T) {
	for seed := range chaosSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			needsFencing.inAGroupOf(t, []int{1, 5, 16}[seed%3], func(t *testing.T, w *world) {
				w.fewSeedsOnDisk(seed)
				newOffice(w, seed).play()
			})
		})
	}
}

// theGates may be in memory when all is over.
var theGates = regexp.MustCompile(`residents: [12]; `)

func (o *office) play() {
	t, w := o.t, o.world
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range o.log {
				t.Log(line)
			}
		}
	})
	o.join()
	o.join()
	o.client = w.open(w.config())
	for i := range o.runs {
		begin(t, o.client, o.flow, fmt.Sprint(i), i)
	}
	for range 25 {
		pass(time.Duration(o.random.IntN(2500)) * time.Millisecond)
		o.meddle()
		if o.random.IntN(2) == 0 {
			o.happen()
		}
	}
	o.stops.Wait()
	for _, e := range w.engines() {
		w.plans[e].Outage(false)
	}
	o.release()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	for i := range o.runs {
		e := o.alive[o.random.IntN(len(o.alive))]
		if _, _, err := e.Result(ctx, fmt.Sprint(i), ""); err != nil {
			t.Fatalf("run %d: %v: %+v", i, err, describe(t, o.client, fmt.Sprint(i)))
		}
		out, err := finish[int](t, o.client, fmt.Sprint(i))
		if want := i + 6; err != nil || out != want {
			t.Errorf("run %d: %d, want %d, %v: %+v", i, out, want, err, describe(t, o.client, fmt.Sprint(i)))
		}
	}
	o.clerks.Wait()
	o.mu.Lock()
	for _, f := range o.faults {
		t.Error(f)
	}
	o.mu.Unlock()
	pass(6 * time.Minute) // the gates have asked who holds them
	o.crush.judgeLeft(t, w)
	for _, e := range o.alive {
		if holds := theGates.ReplaceAllString(engine.Holds(e), ""); holds != "" {
			t.Errorf("a node holds %s", holds)
		}
		if err := e.Health(); err != nil {
			t.Error(err)
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
