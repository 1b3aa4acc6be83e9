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
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/steptx"
	"github.com/perdure/perdure/internal/workers"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Owner decides what follows from attempts. Its methods are called without any lock of this
// package.
type Owner interface {
	// Ended is called once for each attempt that was begun. It must call Runner.Remove in the
	// critical section in which it records the end.
	Ended(End)
	// Beat is called when a running attempt has a heartbeat to take; see Attempt.TakeBeat.
	Beat(*Attempt)
	// TrialOver is called when an attempt may leave the probation lane.
	TrialOver(*Attempt)
}

// End is how an attempt ended.
type End struct {
	*Attempt
	Input core.AttemptEnded
	// Transaction is what the body wants to do in the transaction of its result, nil for
	// nothing.
	Transaction *Transaction
	// Slot is to be freed; nil if the slot stays taken.
	Slot *dispatch.Slot
}

// Survived reports whether the attempt ended by itself and its process lives.
func (e *End) Survived() bool {
	switch e.Input.Outcome {
	case core.Completed, core.Failed, core.TimedOut, core.Pending, core.Absent, core.Unknown:
		return !e.Input.Unbegun
	}
	return false
}

// Transaction is the function that a body passed to activity.OnCommit. It lives in memory
// only: if it is lost, the attempt is lost.
type Transaction struct {
	Context context.Context // of the attempt; the transaction does not end with it
	Run     steptx.Func
}

// Key names an attempt.
type Key struct {
	Run    string
	Call   int64
	Number int
}

// Spec says what to run and where.
type Spec struct {
	Run string
	dispatch.Tenure
	Dispatch core.Dispatch
	Info     activity.Info // of the run and the names of the attempt; if it is set, also when it started
	Body     seal.Body
	Values   context.Context // provides values for the body's context; nil: none
	Slot     *dispatch.Slot  // belongs to the attempt from now on
	// Wants, if set, is called on its own goroutine when the attempt is due. The attempt has
	// no slot then; Attempt.Launch gives it one. If it gets none soon, it ends without having
	// begun.
	Wants func(*Attempt)
}

// Config configures a runner.
type Config struct {
	Owner Owner
	Clock *clock.Clock
	Pool  *workers.Pool // runs bodies
	// Left returns for how long it is certain that nobody takes this process for dead.
	Left   func() time.Duration
	Logger *slog.Logger // for bodies
	// MaxLate is how many bodies may ignore their timeout before they keep their slots.
	MaxLate int
	// Granted delivers slots that came free.
	Granted func([]dispatch.Grant)
	// Token returns the token by which an attempt can be ended from outside.
	Token func(*Attempt) string
}

// Runner runs attempts. It is safe for concurrent use.
type Runner struct {
	config Config
	bodies context.Context // parent of the contexts of all bodies
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	running map[Key]*Attempt // attempts whose end the owner has not recorded
	late    int              // bodies that run although their attempt has ended
}

// Attempt is one attempt, from Begin until its body has returned.
type Attempt struct {
	Key
	dispatch.Tenure

	runner *Runner
	life   lifetime
	over   atomic.Bool // its end is being reported or was reported
	pulse  pulse

	// Guarded by the runner's mu, and constant once the attempt has started:
	slot     *dispatch.Slot
	began    int64          // when it got its slot; 0 if it began with one
	start    func(*Attempt) // starts it; nil if it has started
	timer    *time.Timer    // enforces the attempt's timeout; nil if there is none
	lease    *time.Timer    // ends a body that must not outlive the lease; nil for others
	trial    *time.Timer    // ends its time in the probation lane; nil in the regular lane
	launch   *time.Timer    // starts it, then ends its wait for a slot; nil if it was started immediately
	latest   int64          // when it stops waiting for a slot; 0: never, or it does not wait yet
	unwanted func() bool    // stops watching its context
	holds    bool           // its slot was not freed although the attempt has ended
}

// trialTime is how long an attempt may keep the probation lane. An attempt that runs longer
// has not crashed its process, and makes room for the next.
const trialTime = 30 * time.Second

var (
	// errUnwanted is the cause of a body's context if its call was canceled.
	errUnwanted = &workflow.CancelError{Reason: "the call was canceled"}
	// errShutdown is the cause if the engine stops.
	errShutdown = errors.New("the engine is shutting down")
	// errLate is the cause if the attempt was due after the lease had expired, or must not outlive
	// it.
	errLate = errors.New("the lease of the node has expired")
	// errNoSlot is the cause if an attempt that is on record got no slot.
	errNoSlot = errors.New("no slot was free in time: the attempt did not begin and waits in the queue; if that is too late, raise perdure.Concurrency")
	// errGoexit is the failure of an attempt whose body neither returned nor panicked.
	errGoexit = errors.New("the body called runtime.Goexit (a test's FailNow, perhaps)")
	// errPendingCommit is the failure of an attempt that used activity.OnCommit and leaves its
	// result to others.
	errPendingCommit = retry.Terminal(errors.New("the body used activity.OnCommit and returned activity.ErrPending: " +
		"its attempt has no result of its own, so there is no transaction that records it; do one or the other"))
	// errUnfoundCommit is the failure of a question that used activity.OnCommit without a result.
	errUnfoundCommit = retry.Terminal(errors.New("the Verify function used activity.OnCommit and did not return retry.Done: " +
		"there is no result, so there is no transaction that records it"))
)

// NewRunner returns a runner without attempts.
func NewRunner(c Config) *Runner {
	r := &Runner{config: c, running: map[Key]*Attempt{}}
	r.bodies, r.cancel = context.WithCancelCause(seal.WithLogger(context.Background(), c.Logger))
	return r
}

// context returns the context of a body, which tells it about its attempt.
func (x *Attempt) context(values context.Context, info activity.Info) context.Context {
	ctx := activity.NewContext(&x.life, info)
	in := seal.AttemptIn(ctx)
	in.Link, in.Values = x, values
	return ctx
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

// Running returns how many attempts run or wait for their time or slot.
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
		if x.slot != nil && x.slot.Lane() == dispatch.Probation {
			return true
		}
	}
	return false
}

// Remove forgets an attempt whose end its owner records.
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
		return fmt.Errorf("%d activities ignore their timeout and keep running; further ones keep their slots until they return", n)
	}
	return nil
}

// Cancel asks a body to end, because its call was canceled.
func (x *Attempt) Cancel() { x.life.end(errUnwanted) }

// Abort asks a body to end because another node, or none, owns its attempt now.
func (x *Attempt) Abort(cause error) { x.life.end(cause) }

// Ended reports whether the end of the attempt is being reported or was reported.
func (x *Attempt) Ended() bool { return x.over.Load() }

// LeaveProbation moves a running attempt out of the probation lane and returns the new grants.
func (x *Attempt) LeaveProbation() []dispatch.Grant { return x.slot.LeaveProbation() }

// Activity returns the activity of an attempt in the probation lane, "" for none.
func (x *Attempt) Activity() string {
	if x.slot == nil {
		return ""
	}
	return x.slot.Activity()
}

// Abandon cancels the attempts of lost tenures with a cause, because another node owns their
// runs now. Those in the probation lane are offered again to leave it, since their runs can no
// longer answer an earlier offer.
func (r *Runner) Abandon(lost []dispatch.Tenure, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.running {
		if slices.Contains(lost, x.Tenure) {
			x.life.end(cause)
			if x.trial != nil {
				x.trial.Reset(trialTime)
			}
		}
	}
}

// Interrupt cancels all bodies because the engine stops. Their attempts are not charged.
func (r *Runner) Interrupt() { r.cancel(errShutdown) }

// GiveUp reports the end of attempts that did not end in time for a shutdown.
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
