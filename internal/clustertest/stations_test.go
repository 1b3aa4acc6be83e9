package clustertest

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// pen is that of this process, if it is a node.
var pen *witness.Pen

// work is an activity whose body the parent can keep waiting, and which says why
// it gave up if it did.
var work = activity.New("work", func(ctx context.Context, e witness.Effect) (int, error) {
	info, _ := activity.FromContext(ctx)
	entry := witness.Entry{
		Phase: witness.Begin, Key: activity.IdempotencyKey(ctx), Attempt: info.AttemptID, Number: info.Attempt,
		Workflow: info.WorkflowID, Step: e.Step, Fails: e.Fails,
	}
	a, err := pen.Write(ctx, entry)
	switch {
	case err != nil:
		entry.Phase, entry.Cause = witness.GivenUp, context.Cause(ctx).Error()
		if errors.Is(context.Cause(ctx), store.ErrFenced) {
			entry.Cause = fencedCause
		}
	case a.Fail:
		entry.Phase, err = witness.Failed, errors.New("the book says: fail")
	default:
		entry.Phase = witness.Done
	}
	_, _ = pen.Write(context.WithoutCancel(ctx), entry)
	return witness.Grow(e.Value), err
}, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(nap), CrashLimit: 20}))

// payment is an activity whose body the parent can keep waiting just before it pays. It has no
// timeout, and nobody tells it that it is late: it looks at its context.
var payment = activity.New("payment", func(ctx context.Context, e witness.Effect) (int, error) {
	info, _ := activity.FromContext(ctx)
	entry := witness.Entry{
		Phase: witness.Begin, Key: activity.IdempotencyKey(ctx), Attempt: info.AttemptID, Number: info.Attempt,
		Workflow: info.WorkflowID, Step: e.Step,
	}
	if _, err := pen.Write(context.WithoutCancel(ctx), entry); err != nil {
		return 0, err
	}
	err := ctx.Err()
	if entry.Phase = witness.Charged; err != nil {
		entry.Phase = witness.GivenUp
	}
	_, _ = pen.Write(context.WithoutCancel(ctx), entry)
	return witness.Grow(e.Value), err
}, activity.Verify(func(context.Context, witness.Effect, activity.Doubt) (activity.Found[int], error) {
	return retry.Absent[int](), nil // whoever asks here asks before anything was paid
}))

// fencedCause is what a body writes whose context ended with store.ErrFenced.
const fencedCause = "fenced"

// nap is how long the stations wait that wait for a time.
const nap = 500 * time.Millisecond

var ticket = workflow.NewSignal[int]("numbered") // the one that witness.Signal sends

// Stations are workflows that stand at one point for as long as the test wants.
var (
	worker = workflow.New("worker", func(wf *workflow.Context, v int) (int, error) {
		return workflow.Call(wf, work, witness.Effect{Step: "only", Value: v})
	})

	stumbler = workflow.New("stumbler", func(wf *workflow.Context, v int) (int, error) {
		return workflow.Call(wf, work, witness.Effect{Step: "only", Value: v, Fails: 1})
	})

	sleeper = workflow.New("sleeper", func(wf *workflow.Context, v int) (int, error) {
		if err := workflow.Sleep(wf, nap); err != nil {
			return 0, err
		}
		return workflow.Call(wf, work, witness.Effect{Step: "after", Value: v})
	})

	listener = workflow.New("listener", func(wf *workflow.Context, v int) (int, error) {
		if _, err := workflow.Receive(wf, ticket); err != nil {
			return 0, err
		}
		return workflow.Call(wf, work, witness.Effect{Step: "after", Value: v})
	})

	// forwarder passes a signal on to the run whose ID begins with its own.
	forwarder = workflow.New("forwarder", func(wf *workflow.Context, v int) (int, error) {
		n, err := workflow.Receive(wf, ticket)
		if err != nil {
			return 0, err
		}
		if err := workflow.Send(wf, workflow.GetInfo(wf).WorkflowID+" to", ticket, n); err != nil {
			return 0, err
		}
		return workflow.Call(wf, work, witness.Effect{Step: "after", Value: v})
	})

	payer = workflow.New("payer", func(wf *workflow.Context, v int) (int, error) {
		return workflow.Call(wf, payment, witness.Effect{Step: "only", Value: v})
	})

	stations = []workflow.Workflow[int, int]{worker, stumbler, sleeper, listener, forwarder, payer}
)

// stationDefinitions are what a node registers besides those of witness.
func stationDefinitions(p *witness.Pen) perdure.Option {
	pen = p
	all := []perdure.Definition{work, payment}
	for _, s := range stations {
		all = append(all, s)
	}
	return perdure.Register(all...)
}

// stationNamed finds a station by the name of its workflow, nil if there is none.
func stationNamed(name string) *workflow.Workflow[int, int] {
	for i := range stations {
		if stations[i].Name() == name {
			return &stations[i]
		}
	}
	return nil
}
