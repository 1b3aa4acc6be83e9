package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// attemptKey names a running attempt.
type attemptKey struct {
	run     string
	call    int64
	attempt int
}

// execution is a body that runs.
type execution struct {
	key      attemptKey
	resident *resident
	lane     lane
	cancel   context.CancelCauseFunc
	timer    *time.Timer // enforces the attempt's timeout, nil if it has none
	over     atomic.Bool // its end was reported
}

// errUnwanted is the cause of a body's context when nobody wants the attempt any
// more.
var errUnwanted = &workflow.CancelError{Reason: "the call was canceled"}

// begin starts an attempt. Its turn is durable, its slot reserved; the engine's
// mu is held.
func (e *Engine) begin(r *resident, d core.Dispatch) {
	ctx, cancel := context.WithCancelCause(activity.NewContext(e.bodies, attemptInfo(r, d)))
	x := &execution{
		key: attemptKey{r.id, d.Call, d.Attempt}, resident: r, lane: laneOf(d.Probation), cancel: cancel,
	}
	e.executions[x.key] = x
	body := e.body(r, d)
	if d.AttemptTimeout > 0 {
		x.timer = time.AfterFunc(d.AttemptTimeout, func() { e.timedOut(x, d.AttemptTimeout) })
	}
	e.code.run(func() { e.execute(ctx, x, body) })
}

// body finds what an attempt runs. It exists: admit looked.
func (e *Engine) body(r *resident, d core.Dispatch) workflow.Body {
	if d.Step {
		return r.instance.Body(d.Call)
	}
	def := e.defs.activities[d.Name]
	return func(ctx context.Context) (history.Payload, error) {
		out, err := def.Invoke(ctx, d.Input.Decode)
		if err != nil {
			return history.Payload{}, err
		}
		result, err := history.Encode(out)
		if err != nil {
			return history.Payload{}, retry.Terminal(fmt.Errorf("the result of activity %q: %w", d.Name, err))
		}
		return result, nil
	}
}

func attemptInfo(r *resident, d core.Dispatch) activity.Info {
	start := r.run.Start()
	return activity.Info{
		WorkflowID: start.WorkflowID, RunID: r.id, Workflow: start.Type, Activity: d.Name,
		CallID: core.CallID(r.id, d.Call), AttemptID: core.AttemptID(r.id, d.Call, d.Attempt), Trace: d.Trace,
		Attempt: d.Attempt, Max: d.Max, Final: d.Final,
		Scheduled: time.Unix(0, d.Scheduled), Started: time.Unix(0, d.Started),
	}
}

// execute runs a body and reports how it ended.
func (e *Engine) execute(ctx context.Context, x *execution, body workflow.Body) {
	var result history.Payload
	err := errors.New("the body called runtime.Goexit (a test's FailNow, perhaps)")
	defer func() {
		if v := recover(); v != nil {
			err = retry.NewPanicError(v)
		}
		x.cancel(nil)
		e.bodyReturned(ctx, x, result, err)
	}()
	result, err = body(ctx)
}

// bodyReturned reports the end of an attempt, unless its timeout did before.
func (e *Engine) bodyReturned(ctx context.Context, x *execution, result history.Payload, err error) {
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.over.Swap(true) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.lateReturn(x)
		return
	}
	in := core.AttemptEnded{Outcome: core.Completed, Result: result}
	if err != nil {
		in.Outcome, in.Failure = core.Failed, history.FromError(err)
		if errors.Is(context.Cause(ctx), errShutdown) {
			in.Outcome = core.Drained
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report(x, in)
	e.slots.release(e, x.lane)
}

// report tells the run of an attempt's end. The engine's mu is held.
func (e *Engine) report(x *execution, in core.AttemptEnded) {
	in.Call, in.Attempt, in.Ended = x.key.call, x.key.attempt, e.clock.now()
	delete(e.executions, x.key)
	e.quiet.Broadcast()
	if e.partitions[x.resident.partition.number] != x.resident.partition {
		return // another node owns the run now
	}
	e.deliverLocked(x.resident.partition, x.key.run, mail{input: in})
}

// timedOut ends an attempt whose time is up, whether or not its body cares.
func (e *Engine) timedOut(x *execution, limit time.Duration) {
	if x.over.Swap(true) {
		return
	}
	failure := &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: limit}
	x.cancel(failure)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report(x, core.AttemptEnded{Outcome: core.TimedOut, Failure: history.FromError(failure)})
	e.health.lateBodies++
	if e.health.lateBodies <= e.config.Concurrency {
		e.slots.release(e, x.lane)
	}
}

// lateReturn is the return of a body whose attempt was given up before. Its slot
// was freed then, unless too many such bodies were running.
func (e *Engine) lateReturn(x *execution) {
	e.health.lateBodies--
	if e.health.lateBodies >= e.config.Concurrency {
		e.slots.release(e, x.lane)
	}
}

// giveUpAttempts reports the attempts that did not end in time for a shutdown.
func (e *Engine) giveUpAttempts() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.executions {
		if !x.over.Swap(true) {
			e.health.lateBodies++
			e.report(x, core.AttemptEnded{Outcome: core.Drained})
		}
	}
}
