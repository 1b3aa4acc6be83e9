package attempt

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/workers"
)

// fakeOwner notes what it is told.
type fakeOwner struct {
	runner *Runner
	mu     sync.Mutex
	ends   []End
	beats  []core.Heartbeat
	trials int
	grants []dispatch.Grant
}

func (o *fakeOwner) Ended(e End) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runner.Remove(e.Attempt)
	if beat, fresh := e.TakeBeat(); fresh {
		o.beats = append(o.beats, beat)
	}
	o.ends = append(o.ends, e)
	o.grants = append(o.grants, e.Slot.Free()...)
}

func (o *fakeOwner) Beat(x *Attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if beat, fresh := x.TakeBeat(); fresh {
		o.beats = append(o.beats, beat)
	}
}

func (o *fakeOwner) TrialOver(x *Attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trials++
	o.grants = append(o.grants, x.LeaveProbation()...)
}

func (o *fakeOwner) Granted(g []dispatch.Grant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.grants = append(o.grants, g...)
}

func (o *fakeOwner) Token(*Attempt) string { return "token" }

// stage is a runner with its owner and slots, in virtual time.
type stage struct {
	*fakeOwner
	slots *dispatch.Slots
	holds atomic.Bool
	lease atomic.Int64 // how much is left of it, 0 for ever
	pool  workers.Pool
	next  int64
}

func onStage(t *testing.T, test func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{fakeOwner: &fakeOwner{}}
		defer s.pool.Stop()
		s.holds.Store(true)
		s.slots = dispatch.NewSlots(2, s.holds.Load)
		s.runner = NewRunner(Config{
			Owner: s.fakeOwner, Clock: clock.New(time.Now().UnixNano()), Pool: &s.pool,
			Left: s.left, MaxLate: 1, Granted: s.Granted, Token: s.Token,
		})
		test(t, s)
	})
}

func (s *stage) left() time.Duration {
	switch left := time.Duration(s.lease.Load()); {
	case !s.holds.Load():
		return 0
	case left > 0:
		return left
	}
	return clock.Forever
}

// begin starts an attempt of a new call with a slot of the lane.
func (s *stage) begin(lane dispatch.Lane, d core.Dispatch, body seal.Body) Key {
	s.next++
	d.Call, d.Attempt, d.Started = s.next, 1, max(d.Started, s.runner.config.Clock.Now())
	s.runner.Begin(Spec{Run: "run", Dispatch: d, Info: activity.Info{Attempt: 1}, Body: body, Slot: s.slots.Take(lane)})
	return Key{"run", d.Call, 1}
}

// heard returns what the owner was told so far.
func (s *stage) heard() *fakeOwner {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &fakeOwner{ends: slices.Clone(s.ends), beats: slices.Clone(s.beats), trials: s.trials, grants: slices.Clone(s.grants)}
}

// ended returns the only end.
func (s *stage) ended(t *testing.T) core.AttemptEnded {
	t.Helper()
	synctest.Wait()
	ends := s.heard().ends
	if len(ends) != 1 {
		t.Fatalf("there are %d ends", len(ends))
	}
	return ends[0].Input
}

func value(t *testing.T, v any) history.Payload {
	t.Helper()
	p, err := history.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHowBodiesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		body seal.Body
		want core.Outcome
	}{
		"returns":       {func(context.Context) (history.Payload, error) { return history.Payload{}, nil }, core.Completed},
		"fails":         {func(context.Context) (history.Payload, error) { return history.Payload{}, errors.New("no") }, core.Failed},
		"panics":        {func(context.Context) (history.Payload, error) { panic("oh") }, core.Failed},
		"calls Goexit":  {func(context.Context) (history.Payload, error) { runtime.Goexit(); return history.Payload{}, nil }, core.Failed},
		"goes on":       {func(context.Context) (history.Payload, error) { return history.Payload{}, activity.ErrPending }, core.Pending},
		"heeds timeout": {func(ctx context.Context) (history.Payload, error) { <-ctx.Done(); return history.Payload{}, ctx.Err() }, core.TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.begin(dispatch.Regular, core.Dispatch{AttemptTimeout: time.Second}, c.body)
				pass(2 * time.Second)
				if got := s.ended(t); got.Outcome != c.want || (got.Failure == nil) != (c.want == core.Completed || c.want == core.Pending) {
					t.Errorf("the end is %+v, want %s", got, c.want)
				}
				if u := s.slots.Usage(); u.Regular != 0 || s.runner.Running() != 0 || s.runner.Late() != 0 {
					t.Errorf("something is left: %+v", u)
				}
			})
		})
	}
}

// TestE25_LateBodiesKeepTheirSlots: a body that ignores its timeout ends only once; its
// slot goes to others, but above the limit of such bodies it comes free when they return.
func TestE25_LateBodiesKeepTheirSlots(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		deaf := func(context.Context) (history.Payload, error) { time.Sleep(time.Minute); return history.Payload{}, nil }
		s.begin(dispatch.Regular, core.Dispatch{AttemptTimeout: time.Second}, deaf)
		s.begin(dispatch.Regular, core.Dispatch{AttemptTimeout: 2 * time.Second}, deaf)
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "first", Number: 1}})
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "second", Number: 1}})
		pass(10 * time.Second)
		if len(s.heard().ends) != 2 || s.heard().ends[0].Input.Outcome != core.TimedOut || s.runner.Late() != 2 || s.runner.Health() == nil {
			t.Errorf("%d ends, %d late bodies, health: %v", len(s.heard().ends), s.runner.Late(), s.runner.Health())
		}
		if len(s.heard().grants) != 1 {
			t.Errorf("%d slots came free, want 1", len(s.heard().grants))
		}
		pass(time.Minute)
		if len(s.heard().ends) != 2 || len(s.heard().grants) != 2 || s.runner.Late() != 0 || s.runner.Health() != nil {
			t.Errorf("%d ends, %d grants, %d late bodies, health: %v", len(s.heard().ends), len(s.heard().grants), s.runner.Late(), s.runner.Health())
		}
	})
}

func TestAnAttemptWaitsForItsTime(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		due := time.Now().Add(time.Hour)
		var began time.Time
		body := func(context.Context) (history.Payload, error) { began = time.Now(); return history.Payload{}, nil }
		s.begin(dispatch.Regular, core.Dispatch{Started: due.UnixNano()}, body)
		pass(2 * time.Hour)
		if s.ended(t).Outcome != core.Completed || !began.Equal(due) {
			t.Errorf("it began at %s, want %s", began, due)
		}
	})
}

// TestE7_NoAttemptBeginsAfterTheLease: an attempt that waits for its time is drained if
// the lease does not hold then.
func TestE7_NoAttemptBeginsAfterTheLease(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		body := func(context.Context) (history.Payload, error) { t.Error("it began"); return history.Payload{}, nil }
		s.begin(dispatch.Regular, core.Dispatch{Started: time.Now().Add(time.Hour).UnixNano()}, body)
		s.holds.Store(false)
		pass(2 * time.Hour)
		if got := s.ended(t).Outcome; got != core.Drained {
			t.Errorf("the outcome is %s", got)
		}
	})
}

func TestCanceledInterruptedGivenUp(t *testing.T) {
	heeds := func(ctx context.Context) (history.Payload, error) {
		<-ctx.Done()
		return history.Payload{}, context.Cause(ctx)
	}
	deaf := func(context.Context) (history.Payload, error) { time.Sleep(time.Hour); return history.Payload{}, nil }
	onStage(t, func(t *testing.T, s *stage) {
		s.runner.Get(s.begin(dispatch.Regular, core.Dispatch{}, heeds)).Cancel()
		if got := s.ended(t).Outcome; got != core.Failed {
			t.Errorf("a canceled attempt is %s", got)
		}
	})
	onStage(t, func(t *testing.T, s *stage) {
		s.begin(dispatch.Regular, core.Dispatch{}, heeds)
		s.runner.Interrupt()
		if got := s.ended(t).Outcome; got != core.Drained {
			t.Errorf("an interrupted attempt is %s", got)
		}
	})
	onStage(t, func(t *testing.T, s *stage) {
		s.begin(dispatch.Regular, core.Dispatch{}, deaf)
		s.runner.GiveUp()
		if got := s.ended(t).Outcome; got != core.Drained || s.runner.Running() != 0 || s.runner.Late() != 1 {
			t.Errorf("an attempt that is given up is %s", got)
		}
		pass(2 * time.Hour)
		s.ended(t)
	})
}

// TestE24_TheLastBeatComesBeforeTheEnd: beats are told at most once in an interval, and
// what was said since goes with the end.
func TestE24_TheLastBeatComesBeforeTheEnd(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		body := func(ctx context.Context) (history.Payload, error) {
			for n := range 30 {
				time.Sleep(100 * time.Millisecond)
				if err := activity.Heartbeat(ctx, n); err != nil {
					t.Error(err)
				}
			}
			return history.Payload{}, errors.New("no")
		}
		s.begin(dispatch.Regular, core.Dispatch{HeartbeatTimeout: 3 * time.Second}, body)
		pass(10 * time.Second)
		s.ended(t)
		beats := s.heard().beats
		if last := beats[len(beats)-1].Details.String(); len(beats) > 4 || last != value(t, 29).String() {
			t.Errorf("there are %d beats, the last says %s", len(beats), last)
		}
	})
}

func TestE3_ALongTrialMakesRoom(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		body := func(context.Context) (history.Payload, error) { time.Sleep(time.Hour); return history.Payload{}, nil }
		s.begin(dispatch.Probation, core.Dispatch{}, body)
		s.slots.Wait(&dispatch.Waiter{Call: dispatch.Call{Run: "next", Number: 1}, Lane: dispatch.Probation})
		pass(trialTime + time.Second)
		if s.heard().trials != 1 || len(s.heard().grants) != 1 || s.slots.Usage().Regular != 1 {
			t.Errorf("%d trials ended, %d grants, %+v", s.heard().trials, len(s.heard().grants), s.slots.Usage())
		}
		pass(time.Hour)
		if u := s.slots.Usage(); u.Regular != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
