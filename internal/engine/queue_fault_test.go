package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// refuser is a database that does not take the ends of some attempts.
type refuser struct {
	store.Opener
	mu     sync.Mutex
	refuse func(m message.Data, workflow string) error
}

func (r *refuser) Open(ctx context.Context) (store.Store, error) {
	s, err := r.Opener.Open(ctx)
	return refusesEnds{s, r}, err
}

func (r *refuser) set(refuse func(message.Data, string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

type refusesEnds struct {
	store.Store
	by *refuser
}

func (r refusesEnds) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	r.by.mu.Lock()
	refuse := r.by.refuse
	r.by.mu.Unlock()
	for i := range settled {
		d, err := message.Read(settled[i].Message)
		if err == nil && refuse != nil {
			err = refuse(d, settled[i].Message.WorkflowID)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.Store.SettleTasks(ctx, worker, settled)
}

// TestI9_AnEndThatIsRefusedHoldsNoOtherUp: whether the database says that it is not there,
// for this one only, or that it will not take the end, or never any of this attempt.
func TestI9_AnEndThatIsRefusedHoldsNoOtherUp(t *testing.T) {
	away := &store.UnavailableError{Op: "SettleTasks", Err: errors.New("the row is locked")}
	no := errors.New("the value is too odd")
	for name, c := range map[string]struct {
		err     error
		onlyOf  core.Outcome
		outcome string // of the attempt; "": it is not told
	}{
		"unavailable": {away, "", ""},
		"never":       {no, "", ""},
		"this value":  {no, core.Completed, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				x := newRendering(time.Second)
				e := w.owner(x.flow)
				db := &refuser{Opener: w.db}
				db.set(func(d message.Data, workflow string) error {
					if workflow == "bad" && (c.onlyOf == "" || d.Outcome == c.onlyOf) {
						return c.err
					}
					return nil
				})
				w.db = db
				worker := w.worker("c", "gpu", 9, x.activity)
				for _, id := range []string{"bad", "good", "better"} {
					begin(t, e, x.flow, id, 1)
				}
				for _, id := range []string{"good", "better"} {
					if _, err := finish[string](t, e, id); err != nil {
						t.Error(err)
					}
				}
				began := time.Now()
				begin(t, e, x.flow, "later", 1)
				if _, err := finish[string](t, e, "later"); err != nil || time.Since(began) > 2*time.Second {
					t.Errorf("a later one took %s: %v", time.Since(began), err)
				}
				pass(time.Minute)
				if c.outcome != "" {
					if got := outcomes(t, e, "bad"); !strings.HasPrefix(got, "1.1 failed ") {
						t.Errorf("the attempts are %s", got)
					}
					if _, err := finish[string](t, e, "bad"); err == nil || !strings.Contains(err.Error(), "cannot be told: the value is too odd") {
						t.Errorf("got %v", err)
					}
					return
				}
				if err := worker.Health(); errors.Is(c.err, no) && (err == nil || !strings.Contains(err.Error(), "cannot be told, its call waits")) {
					t.Errorf("the worker says %v", err)
				}
				if p := onlyCall(t, e, "bad"); p.State != "running" {
					t.Errorf("the call is %+v", p)
				}
				db.set(nil)
				if _, err := finish[string](t, e, "bad"); err != nil {
					t.Error(err)
				}
				settle()
				if err := worker.Health(); err != nil {
					t.Errorf("the worker says %v", err)
				}
			})
		})
	}
}

// secrets encrypts with the first of the keys and reads with all.
func secrets(t *testing.T, write string, others ...string) codec.Codec {
	t.Helper()
	all := map[string][]byte{write: bytes.Repeat([]byte(write), 32)}
	for _, name := range others {
		all[name] = bytes.Repeat([]byte(name), 32)
	}
	c, err := codec.AES(write, all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestE121_AnEndThatItsOwnerCannotRead: the run is parked and says so; time limits hold,
// and whoever can read the end takes it.
func TestE121_AnEndThatItsOwnerCannotRead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		policy := retry.Policy{MaxAttempts: 2, AttemptTimeout: time.Hour, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}
		x := newRendering(time.Second, activity.Retry(policy))
		clear := w.db
		defer func() { w.db = clear }()
		over := func(c codec.Codec) { w.db = codec.Over(clear, c) }
		over(secrets(t, "a"))
		e := w.owner(x.flow)
		over(secrets(t, "b", "a"))
		w.worker("c", "gpu", 9, x.activity)
		begin(t, e, x.flow, "run", 1)
		pass(10 * time.Second)
		d := describe(t, e, "run")
		if d.Status != "parked" || !strings.Contains(d.Reason, "the end of attempt 1 of call 1 is on record and cannot be read") || !strings.Contains(d.Reason, `"b"`) {
			t.Errorf("it is %s: %s", d.Status, d.Reason)
		}
		stop(t, e)
		over(secrets(t, "a", "b"))
		e = w.owner(x.flow)
		if got, err := finish[string](t, e, "run"); got != "picture 1" || err != nil || x.runs != 1 {
			t.Errorf("%q, %v after %d attempts", got, err, x.runs)
		}
		stop(t, e)
		over(secrets(t, "a"))
		e = w.owner(x.flow)
		begin(t, e, x.flow, "late", 1)
		pass(2 * time.Hour)
		if got := outcomes(t, e, "late"); !strings.HasPrefix(got, "1.1 timed-out") {
			t.Errorf("the attempts are %s", got)
		}
		if err := e.Terminate(t.Context(), "late", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		if _, err := finish[string](t, e, "late"); err == nil || !strings.Contains(err.Error(), "terminated") {
			t.Errorf("got %v", err)
		}
		if left, holds := w.inInbox(), engine.Holds(e); left != 0 || holds != "" { // it is over, whatever it was
			t.Errorf("%d messages are left, and in memory is %s", left, holds)
		}
	})
}

// TestE121_ADamagedRunLeavesNothingInQueues: what ends it takes back what is offered,
// whether that can be read or not.
func TestE121_ADamagedRunLeavesNothingInQueues(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		v := vandalise(w)
		x := newRendering(time.Second)
		e := w.owner(x.flow)
		run := begin(t, e, x.flow, "run", 1)
		pass(time.Second)
		stop(t, e)
		v.turnOf(run, 1, func(b []byte) []byte { return bytes.Replace(b, []byte("render"), []byte("rxnder"), 1) })
		e = w.owner(x.flow)
		if d := describe(t, e, "run"); d.Damage == nil {
			t.Fatalf("nothing is wrong with it: %+v", d)
		}
		if err := e.Terminate(t.Context(), "run", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		s, err := e.Status(t.Context())
		if err != nil || len(s.Queues) != 0 {
			t.Errorf("in queues there is %+v, %v", s.Queues, err)
		}
		w.worker("c", "gpu", 9, x.activity)
		pass(time.Minute)
		if x.runs != 0 {
			t.Errorf("%d attempts ran of a run that has ended", x.runs)
		}
	})
}

// unreachable is a way to blobs in memory, which others may have, too. It is away at times.
type unreachable struct {
	blobs *sync.Map // of []byte, by name
	mu    sync.Mutex
	away  bool
	asked int // while it was away
}

func (u *unreachable) Put(_ context.Context, name string, data []byte) error {
	u.blobs.Store(name, bytes.Clone(data))
	return nil
}

func (u *unreachable) Get(_ context.Context, name string) ([]byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.away {
		u.asked++
		return nil, &store.UnavailableError{Op: "Get", Err: errors.New("no route to the bucket")}
	}
	data, _ := u.blobs.Load(name)
	blob, _ := data.([]byte)
	return blob, nil
}

func (*unreachable) Names(context.Context, time.Time, func(string) error) error { return nil }
func (*unreachable) Delete(context.Context, string, time.Time) error            { return nil }

func (u *unreachable) set(away bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.away = away
}

// TestE140_AWorkerThatCannotReachBlobsLeavesAttempts: it gives back what it has claimed, to
// others that can, waits longer each time before it tries one, and says so. When the blobs
// are there again it goes on.
func TestE140_AWorkerThatCannotReachBlobsLeavesAttempts(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second, activity.Retry(retry.Policy{MaxAttempts: 1}))
		clear, blobs := w.db, &unreachable{blobs: new(sync.Map)}
		defer func() { w.db = clear }()
		w.db = codec.Over(clear, codec.Offload(1, blobs))
		e := w.owner(x.flow)
		there := &unreachable{blobs: blobs.blobs, away: true} // as the worker sees them
		w.db = codec.Over(clear, codec.Offload(1, there))
		worker := w.worker("c", "gpu", 8, x.activity)
		const runs = 20
		for i := range runs {
			begin(t, e, x.flow, fmt.Sprint(i), i)
		}
		pass(5 * time.Second)
		if err := worker.Health(); err == nil || !strings.Contains(err.Error(), "leaves them to others") || !strings.Contains(err.Error(), "no route to the bucket") {
			t.Errorf("the worker says %v", err)
		}
		pass(2*time.Hour - 5*time.Second)
		there.mu.Lock()
		asked := there.asked
		there.mu.Unlock()
		if asked < 10 || asked > 8+18 { // the first ones, and then one at a time: five in ten minutes, and one each ten minutes
			t.Errorf("in two hours %d blobs were asked for", asked)
		}
		if n := w.log.count("a queued attempt cannot be read by this process"); n < 10 || n > 19 {
			t.Errorf("%d times the log says so", n)
		}
		if s, err := e.Status(t.Context()); err != nil || len(s.Queues) != 1 || s.Queues[0].Running != 0 || s.Queues[0].Waiting != runs {
			t.Errorf("in queues there is %+v, %v", s.Queues, err)
		}
		there.set(false)
		pass(10 * time.Minute)
		for i := range runs {
			if got, err := finish[string](t, e, fmt.Sprint(i)); got != fmt.Sprint("picture ", i) || err != nil {
				t.Errorf("run %d: %q, %v", i, got, err)
			}
		}
		if x.runs != runs {
			t.Errorf("%d attempts ran", x.runs)
		}
		if err := worker.Health(); err != nil {
			t.Errorf("the worker says %v", err)
		}
	})
}
