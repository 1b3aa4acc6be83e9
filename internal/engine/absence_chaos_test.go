package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// vanishings is a group that is gone as a whole again and again: because nodes are killed, or
// because of a call that takes all others along. Meanwhile its clock steps, and requests come,
// several in quick succession.
type vanishings struct {
	*chaos
	client *engine.Engine
	steps  int // of the clock
	ends   map[string]bool

	mu     sync.Mutex
	struck map[int]int // how often a deadly call was begun
	deadly chan struct{}
}

func newAbsences(w *world, seed uint64) *vanishings {
	a := &vanishings{chaos: &chaos{world: w, random: rand.New(rand.NewPCG(seed, 3)), names: map[*engine.Engine]string{}, roomy: true},
		ends: map[string]bool{}, struck: map[int]int{}, deadly: make(chan struct{}, 1)}
	strike := activity.New("strike", func(ctx context.Context, n int) (int, error) {
		a.mu.Lock()
		a.struck[n]++
		strikes := n%4 == 0 && a.struck[n] <= 2
		a.mu.Unlock()
		if strikes {
			select {
			case a.deadly <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return n, busy(ctx, time.Duration(n%5)*time.Second)
	}, activity.Retry(retry.Policy{CrashLimit: 1000}))
	a.definitions = append(labours(), strike,
		workflow.New("struck", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, strike, n) }),
		workflow.New("timed", func(wf *workflow.Context, n int) (int, error) {
			return n, workflow.Sleep(wf, time.Duration(n)*time.Second)
		}))
	a.client = w.open(w.config())
	return a
}

// kill lets all nodes that are alive die at once.
func (a *vanishings) killAll() {
	for len(a.alive) > 0 {
		a.world.kill(a.take())
	}
}

// live lets time pass. If a call strikes meanwhile, all nodes die of it.
func (a *vanishings) live(d time.Duration) {
	for ; d > 0; d -= 50 * time.Millisecond {
		pass(50 * time.Millisecond)
		select {
		case <-a.deadly:
			a.note("a call strikes")
			a.killAll()
			pass(time.Duration(a.random.IntN(12_000)) * time.Millisecond)
			a.join()
		default:
		}
	}
}

// step moves the clock of the database.
func (a *vanishings) step() {
	by := time.Duration(a.random.IntN(80_000)-40_000) * time.Millisecond
	a.note("the clock steps by %s", by)
	a.ahead.Add(int64(by))
	a.steps++
}

// ask starts runs that end in some seconds, and terminates them.
func (a *vanishings) ask(round int) {
	for i := range 3 {
		id, n := fmt.Sprint("timed ", round, " ", i), 5+a.random.IntN(30)
		if _, _, err := tryBegin(a.t.Context(), a.client, workflow.Declare[int, int]("timed"), id, n); err != nil {
			a.t.Fatal(err)
		}
		steps := a.steps
		pass(time.Duration(a.random.IntN(3000)) * time.Millisecond)
		if a.random.IntN(4) == 0 {
			a.step()
		}
		if err := a.client.Terminate(a.t.Context(), id, "", request.By{}); err != nil {
			a.t.Fatal(err)
		}
		a.ends[id] = steps == a.steps // else the step may have made it come due before
	}
}

// TestI6_ChaosOfAbsences: what was acknowledged while no node lived has its moment, nothing is
// lost, and all runs come to their right end.
func TestI6_ChaosOfAbsences(t *testing.T) {
	seeds := extent.AtNight[uint64](6, 24)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			needsFencing.inAGroupOf(t, []int{1, 5}[seed%2], func(t *testing.T, w *world) {
				w.fewSeedsOnDisk(seed)
				playAbsences(newAbsences(w, seed))
			})
		})
	}
}

func playAbsences(a *vanishings) {
	t := a.t
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range a.log {
				t.Log(line)
			}
		}
	})
	const runs = 12
	labour, struck := workflow.Declare[int, int]("labours"), workflow.Declare[int, int]("struck")
	for i := range runs {
		begin(t, a.client, labour, fmt.Sprint("labours ", i), i)
		begin(t, a.client, struck, fmt.Sprint("struck ", i), i)
	}
	a.join()
	for round := range 6 {
		a.live(time.Duration(a.random.IntN(8000)) * time.Millisecond)
		if a.random.IntN(2) == 0 {
			a.join()
		}
		a.note("all are gone")
		a.killAll()
		a.ask(round)
		pass(time.Duration(a.random.IntN(40_000)) * time.Millisecond)
		if a.random.IntN(2) == 0 {
			a.step()
		}
		a.join()
	}
	for range 24 {
		a.live(5 * time.Second)
	}
	a.judge(runs)
	for len(a.alive) > 0 {
		stop(t, a.take())
	}
}

func (a *vanishings) judge(runs int) {
	t := a.t
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	for i := range runs {
		for id, want := range map[string]int{fmt.Sprint("labours ", i): i + 8, fmt.Sprint("struck ", i): i} {
			_, s, err := a.client.Result(ctx, id, "")
			if err != nil {
				t.Fatalf("%s: %v: %+v", id, err, describe(t, a.client, id))
			}
			if got, err := finish[int](t, a.client, id); got != want || err != nil {
				t.Errorf("%s: %d, %v, %s", id, got, err, s.Status)
			}
		}
	}
	for id, terminated := range a.ends {
		_, s, err := a.client.Result(ctx, id, "")
		if err != nil || terminated && string(s.Status) != view.StatusTerminated {
			t.Errorf("%s, terminated before its time, is %s, %v", id, s.Status, err)
		}
	}
}
