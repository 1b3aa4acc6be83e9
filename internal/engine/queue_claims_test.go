package engine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

// claimBook is a database that notes what is written and asked about attempts in queues.
type claimBook struct {
	store.Opener
	claims atomic.Int64  // how often tasks were asked for
	ends   atomic.Int64  // how many ends were told
	loads  atomic.Int64  // how often runs were loaded
	first  time.Duration // how long a worker waits before it asks

	mu       sync.Mutex
	written  []store.CallState // of the rows of calls
	attended func()            // is called when a sign of life was answered
}

func (b *claimBook) Open(ctx context.Context) (store.Store, error) {
	s, err := b.Opener.Open(ctx)
	return claimPages{s, b}, err
}

type claimPages struct {
	store.Store
	book *claimBook
}

func (p claimPages) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	p.book.mu.Lock()
	for _, t := range turns {
		for _, c := range t.Calls {
			p.book.written = append(p.book.written, c.State)
		}
	}
	p.book.mu.Unlock()
	return p.Store.Commit(ctx, turns)
}

func (p claimPages) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	p.book.loads.Add(1)
	return p.Store.Load(ctx, partition, run)
}

func (p claimPages) ClaimTasks(ctx context.Context, c store.TaskClaim) ([]store.Task, error) {
	p.book.claims.Add(1)
	time.Sleep(p.book.first)
	return p.Store.ClaimTasks(ctx, c)
}

func (p claimPages) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	p.book.ends.Add(int64(len(settled)))
	return p.Store.SettleTasks(ctx, worker, settled)
}

func (p claimPages) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	answer, err := p.Store.Attend(ctx, w)
	p.book.mu.Lock()
	attended := p.book.attended
	p.book.mu.Unlock()
	if attended != nil {
		attended()
	}
	return answer, err
}

// TestAnAttemptThatEndsSoonWritesItsCallOnce: the word of its claim waits for that of its
// end, but not for long, and only at a run that rests: one that is still at work on the turn
// which offered the attempt takes it with its next step. So the worker asks when all is quiet.
func TestAnAttemptThatEndsSoonWritesItsCallOnce(t *testing.T) {
	for took, want := range map[time.Duration]int{time.Millisecond: 0, 40 * time.Millisecond: 0, time.Second: 1} {
		t.Run(took.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				book := &claimBook{Opener: w.db, first: time.Millisecond}
				w.db = book
				x := newRendering(took)
				e := w.owner(x.flow)
				w.worker("c", "gpu", 3, x.activity)
				begin(t, e, x.flow, "run", 1)
				if got, err := finish[string](t, e, "run"); got != "picture 1" || err != nil {
					t.Fatalf("%q, %v", got, err)
				}
				remote := 0
				for _, state := range book.written {
					if state == store.Remote {
						remote++
					}
				}
				if remote != want || len(book.written) != 1+want {
					t.Errorf("the row of the call was written as %v", book.written)
				}
				loads := book.loads.Load()
				pass(time.Second)
				if more := book.loads.Load() - loads; more > 0 {
					t.Errorf("a run that has ended is loaded %d times, because its claim could wait", more)
				}
				if got := attemptsOf(t, e, "run"); len(got) != 1 || got[0].Outcome != "completed" || got[0].Node == "" {
					t.Errorf("the attempts are %+v", got)
				}
			})
		})
	}
}

// TestAClaimIsSeenSoon: a claim is visible soon even if no other message follows it.
func TestAClaimIsSeenSoon(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Hour)
		e := w.owner(x.flow)
		w.worker("c", "gpu", 3, x.activity)
		begin(t, e, x.flow, "run", 1)
		pass(250 * time.Millisecond)
		if p := onlyCall(t, e, "run"); p.State != "running" {
			t.Errorf("the call is %+v", p)
		}
	})
}

// TestAFreeSlotAsksForNothing: of what waits for none, a worker is told.
func TestAFreeSlotAsksForNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		book := &claimBook{Opener: w.db}
		w.db = book
		x := newRendering(100 * time.Millisecond)
		e := w.owner(x.flow)
		w.worker("c", "gpu", 9, x.activity)
		pass(time.Millisecond)
		before := book.claims.Load()
		begin(t, e, x.flow, "run", 1)
		pass(90 * time.Millisecond)
		claimed := book.claims.Load()
		if claimed == before {
			t.Fatal("nothing was asked for")
		}
		pass(11 * time.Millisecond) // it has ended
		told := book.claims.Load()  // of the turn that takes the end
		if told > claimed+1 {
			t.Errorf("%d times tasks were asked for when one had ended", told-claimed)
		}
	})
}

// TestAnEndThatIsToldMeanwhileIsNoLostClaim: a sign of life is answered with what stood in
// the database before.
func TestAnEndThatIsToldMeanwhileIsNoLostClaim(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		book := &claimBook{Opener: w.db}
		w.db = book
		x := newRendering(10 * time.Second)
		e := w.owner(x.flow)
		w.worker("c", "gpu", 3, x.activity)
		begin(t, e, x.flow, "run", 1)
		pass(time.Second)
		book.mu.Lock()
		book.attended = func() { time.Sleep(2500 * time.Millisecond) } // that of 9 s is answered late
		book.mu.Unlock()
		pass(time.Minute)
		if got, err := finish[string](t, e, "run"); got != "picture 1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if n := book.ends.Load(); n != 1 {
			t.Errorf("%d ends were told", n)
		}
	})
}
