package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/body"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/steptx"
	"github.com/perdure/perdure/internal/workers"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Owner decides what becomes of attempts. Its methods are called without any lock of
// this package.
type Owner interface {
	// Ended is told once of each attempt that was begun how it ended. It must call
	// Runner.Remove in the same critical section in which it notes the end.
	Ended(End)
	// Beat is told that a running attempt has a heartbeat to take: see Attempt.TakeBeat.
	Beat(*Attempt)
	// TrialOver offers that an attempt leaves the probation lane.
	TrialOver(*Attempt)
	// Granted delivers slots that came free.
	Granted([]Grant)
	// Token returns the token by which an attempt can be ended from outside.
	Token(*Attempt) string
}

// End is how an attempt ended.
type End struct {
	*Attempt
	Input core.AttemptEnded
	// Transaction is what the body wants to do in the transaction of its result, nil for
	// nothing.
	Transaction *Transaction
	// Slot is to be freed; nil if the slot stays taken.
	Slot *Slot
}

// Transaction is what a body handed to activity.OnCommit. It lives in memory only: if it
// is lost, the attempt is.
type Transaction struct {
	Context context.Context // of the attempt; its end is not the transaction's
	Run     steptx.Func
}

// Key names an attempt.
type Key struct {
	Run    string
	Call   int64
	Number int
}

// Tenure is in which partition a run is served, and under which epoch.
type Tenure struct {
	Partition int
	Epoch     int64
}

// Spec says what to run.
type Spec struct {
	Run string
	Tenure
	Dispatch core.Dispatch
	Info     activity.Info
	Body     code.Body
	Values   context.Context // has values for the body's context; nil: none
	Slot     *Slot           // belongs to the attempt from now on
	// Wants, if set, is called when the time of the attempt has come, on a goroutine of its
	// own: an attempt without a slot, which Attempt.Launch gives it. If it gets none soon it
	// ends without having begun.
	Wants func(*Attempt)
}

// Config is what a runner needs.
type Config struct {
	Owner  Owner
	Clock  *clock.Clock
	Pool   *workers.Pool // runs bodies
	Holds  func() bool   // whether this node's lease holds
	Logger *slog.Logger  // of bodies
	// MaxLate is how many bodies may ignore their timeout before they keep their slots.
	MaxLate int
}

// Runner runs attempts. It is safe for concurrent use.
type Runner struct {
	config Config
	bodies context.Context // of all attempts
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	running map[Key]*Attempt // those whose end the owner has not noted
	late    int              // bodies that run although their attempt has ended
}

// Attempt is a body that runs.
type Attempt struct {
	Key
	Tenure

	runner *Runner
	cancel context.CancelCauseFunc
	over   atomic.Bool // its end was or is being reported
	pulse  pulse

	// Guarded by the runner's mu, and not changed once it has started:
	slot     *Slot
	began    int64          // when it got its slot, 0 if it had one
	start    func(*Attempt) // starts it, nil if it has started
	timer    *time.Timer    // enforces the attempt's timeout, nil if it has none
	trial    *time.Timer    // ends its time in the probation lane, nil elsewhere
	launch   *time.Timer    // starts it, then ends its patience for a slot; nil if it was started immediately
	latest   int64          // when it has waited too long for a slot, 0: never, or it does not wait yet
	unwanted func() bool    // stops waiting for its context to end
	holds    bool           // its slot was not given back although it is over
}

// trialTime is how long an attempt keeps the probation lane to itself. An attempt that
// runs longer, and its process with it, makes room for the next.
const trialTime = 30 * time.Second

var (
	// errUnwanted is the cause of a body's context when its call was canceled.
	errUnwanted = &workflow.CancelError{Reason: "the call was canceled"}
	// errShutdown is the cause when the engine stops.
	errShutdown = errors.New("the engine is shutting down")
	// errLate is the cause when the attempt was due after the lease had ended.
	errLate = errors.New("the lease of the node is over")
	// errNoSlot is the cause when there was no slot for an attempt that is on record.
	errNoSlot = errors.New("no slot came free in time: the attempt did not begin, and waits in the queue; raise Concurrency if that is too late")
	// errGoexit is the failure of an attempt whose body neither returned nor panicked.
	errGoexit = errors.New("the body called runtime.Goexit (a test's FailNow, perhaps)")
	// errPendingCommit is the failure of an attempt that wants something done with a
	// result which it leaves to others.
	errPendingCommit = retry.Terminal(errors.New("the body used activity.OnCommit and returned activity.ErrPending: " +
		"its attempt has no result of its own, so there is no transaction that records it; do one or the other"))
)

// NewRunner returns a runner without attempts.
func NewRunner(c Config) *Runner {
	r := &Runner{config: c, running: map[Key]*Attempt{}}
	r.bodies, r.cancel = context.WithCancelCause(body.WithLogger(context.Background(), c.Logger))
	return r
}

// context is what a body gets to know of its attempt.
func (x *Attempt) context(parent, values context.Context, info activity.Info) context.Context {
	ctx := activity.NewContext(parent, info)
	in := body.In(ctx)
	in.Link, in.Values = x, values
	return retry.NewContext(ctx, retry.AttemptInfo{
		TraceID: info.CallID, ID: info.AttemptID, Number: info.Attempt, Max: info.Max, Final: info.Final,
	}, x.Alive)
}

// Get returns a running attempt, nil if it does not run.
func (r *Runner) Get(k Key) *Attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[k]
}

// Of returns the attempts of a run that are running here under an epoch.
func (r *Runner) Of(run string, epoch int64) (refs []core.AttemptRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, x := range r.running {
		if k.Run == run && x.Epoch == epoch {
			refs = append(refs, core.AttemptRef{Call: k.Call, Attempt: k.Number})
		}
	}
	return refs
}

// Running returns how many attempts run, or will when their time has come.
func (r *Runner) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// Begun returns how many bodies run.
func (r *Runner) Begun() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.running {
		if x.start == nil {
			n++
		}
	}
	return n
}

// OnProbation reports whether an attempt runs in the probation lane.
func (r *Runner) OnProbation() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.running {
		if x.slot != nil && x.slot.Lane() == Probation {
			return true
		}
	}
	return false
}

// Remove forgets an attempt whose end its owner notes.
func (r *Runner) Remove(x *Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[x.Key] == x {
		delete(r.running, x.Key)
	}
}

// Late returns how many bodies run although their attempt has ended.
func (r *Runner) Late() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

// Health returns an error if too many bodies ignore their timeout.
func (r *Runner) Health() error {
	if n := r.Late(); n > r.config.MaxLate {
		return fmt.Errorf("%d activities ignore their timeout; no further ones are started beside them", n)
	}
	return nil
}

// Cancel asks a body to end, because its call was canceled.
func (x *Attempt) Cancel() { x.cancel(errUnwanted) }

// Abort asks a body to end, because its attempt belongs to another node, or to none, by now.
func (x *Attempt) Abort(cause error) { x.cancel(cause) }

// Ended reports whether the end of the attempt was or is being reported.
func (x *Attempt) Ended() bool { return x.over.Load() }

// LeaveProbation moves a running attempt out of the probation lane.
func (x *Attempt) LeaveProbation() []Grant { return x.slot.LeaveProbation() }

// Abandon asks the attempts of lost tenures to end with a cause, because another node owns
// their runs now. Those in the probation lane are offered to leave it again, which
// their runs cannot answer any more.
func (r *Runner) Abandon(lost []Tenure, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.running {
		if slices.Contains(lost, x.Tenure) {
			x.cancel(cause)
			if x.trial != nil {
				x.trial.Reset(trialTime)
			}
		}
	}
}

// Interrupt asks all bodies to end, because the engine stops. They are not charged.
func (r *Runner) Interrupt() { r.cancel(errShutdown) }

// GiveUp reports the attempts that did not end in time for a shutdown.
func (r *Runner) GiveUp() {
	var left []*Attempt
	r.mu.Lock()
	for _, x := range r.running {
		if !x.over.Swap(true) {
			r.late++
			left = append(left, x)
		}
	}
	r.mu.Unlock()
	for _, x := range left {
		r.end(x, core.AttemptEnded{Outcome: core.Drained}, nil, nil)
	}
}
