package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// The owner of an open run resets it, in the turn that closes the run. A closed run is
// reset here, by the process that asks. In both cases the database copies the history.

// wasReset reports whether the same request created the run that was found. That run is
// then the result.
func (o *operation) wasReset() (done bool, err error) {
	start, err := record.Start(o.row)
	if err != nil {
		return false, err
	}
	b := start.Base
	if b == nil || start.Initiator != history.ResetOfRun || b.Request != o.ID {
		return false, nil
	}
	o.records = inspect.BaseRecord(o.row, &start)
	o.records[0].RunID = b.Run
	return true, nil
}

// resetLatest resets a closed run if it is the latest of its workflow ID.
func (c *Client) resetLatest(ctx context.Context, o *operation) error {
	latest, err := c.db.Find(ctx, o.row.Partition, o.row.WorkflowID, "")
	if err != nil {
		return err
	}
	if latest.ID == o.row.ID {
		o.row = latest
		r, err := c.resetClosed(ctx, latest, o.Control)
		if err == nil {
			o.records = append(o.records, r)
		}
		return err
	}
	r := c.controlRecord(o.row, o.Control)
	r.Outcome, r.Note = view.Refused, fmt.Sprintf("run %s has followed it; fork a run from it, or reset the latest one", latest.ID)
	if wasAsked(latest, o.ID) {
		r.Outcome, r.Note = view.Unchanged, "it was carried out already"
	}
	o.records = append(o.records, r)
	return nil
}

// resetClosed creates the run that follows a closed one. Of several such requests only one
// succeeds.
func (c *Client) resetClosed(ctx context.Context, row *store.Run, in core.Control) (view.ControlRecord, error) {
	r := c.controlRecord(row, in)
	if wasAsked(row, in.ID) {
		r.Outcome, r.Note = view.Unchanged, "it was carried out on an earlier run of the chain"
		return r, nil
	}
	cut, start, err := c.cutAt(ctx, row, in.Call, in.KeepKeys)
	if refusal := (*inspect.CutError)(nil); errors.As(err, &refusal) {
		r.Outcome, r.Note = view.Refused, refusal.Error()
		return r, nil
	} else if err != nil {
		return r, err
	}
	now := c.now()
	next := cut.Reset(start, ident.NewRun(core.RunTimeAfter(row.ID, now)), now, in)
	err = c.createBased(ctx, row, cut, next, row.ID)
	r.Outcome, r.Note = view.Applied, cut.String()
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		r.Outcome, r.Note = view.Refused, fmt.Sprintf("run %s has the workflow ID", conflict.Existing.ID)
		if wasAsked(&conflict.Existing, in.ID) {
			r.Outcome, r.Note = view.Unchanged, "it was carried out already"
		}
		err = nil
	}
	return r, err
}

// previewReset returns what a reset of a run would keep.
func (c *Client) previewReset(ctx context.Context, row *store.Run, in core.Control) ([]view.ControlRecord, error) {
	r := c.controlRecord(row, in)
	r.Request, r.Time = "", time.Time{}
	cut, _, err := c.cutAt(ctx, row, in.Call, in.KeepKeys)
	refusal := (*inspect.CutError)(nil)
	switch {
	case errors.As(err, &refusal):
		r.Outcome, r.Note = view.Refused, refusal.Error()
	case err != nil:
		return nil, err
	default:
		again, err := c.again(ctx, row, in.Call, in.KeepKeys)
		if err != nil {
			return nil, err
		}
		r.Outcome, r.Note = view.Selected, cut.String()+again
	}
	return []view.ControlRecord{r}, nil
}

// controlRecord returns the record of an operation that this process carries out.
func (c *Client) controlRecord(row *store.Run, in core.Control) view.ControlRecord {
	return view.ControlRecord{
		WorkflowID: row.WorkflowID, RunID: row.ID, Call: in.Call, Name: in.Signal, Operation: string(in.Operation),
		Request: in.ID, By: in.By, Why: in.Reason, Time: time.Unix(0, c.now()).UTC(),
	}
}

// wasAsked reports whether an earlier run of the chain has carried out a request.
func wasAsked(row *store.Run, request string) bool {
	start, err := record.Start(row)
	return err == nil && start.Carried != nil && slices.Contains(start.Carried.Asked, request)
}

// cutAt reads the history of a run and cuts it at a call.
func (c *Client) cutAt(ctx context.Context, row *store.Run, call int64, keys bool) (*core.Cut, *history.Start, error) {
	start, err := record.Start(row)
	if err != nil {
		return nil, nil, &inspect.CutError{Err: err}
	}
	cut, err := c.read.CutAt(ctx, row.Partition, &start, call, keys)
	return cut, &start, err
}

// createBased creates a run that begins with the history of another one.
func (c *Client) createBased(ctx context.Context, source *store.Run, cut *core.Cut, start *history.Start, after string) error {
	row, err := record.NewRun(c.place(start.WorkflowID), start)
	if err != nil {
		return err
	}
	row.After = after
	if row.Base, err = record.StoreBase(start.Run, store.RunRef{Partition: source.Partition, Run: source.ID}, cut); err != nil {
		return err
	}
	err = c.db.Create(ctx, *row)
	c.local.Posted()
	return err
}

// Fork asks for a run under a new workflow ID that continues from a call of another run.
type Fork struct {
	WorkflowID, Run string // run whose history is used; the latest run if Run is empty
	NewID           string
	Call            int64            // the first call that is made again
	Input           *history.Payload // of the new run, nil for that of the other run
	CallInput       *history.Payload // of the call, nil for what the code passes
	By              By
	KeepKeys        bool // calls that are made again keep their idempotency keys
	// Fault is the error of an option of the request. It refuses the request.
	Fault error
}

// ForkRun makes sure that the run exists and returns its run ID. Repeating the request
// returns the same run, and attached is true. If another run has the new workflow ID, the
// error is an *IDInUseError. The forked run does not change.
func (c *Client) ForkRun(ctx context.Context, req Fork) (run string, attached bool, err error) {
	op := operate("fork")
	op.WorkflowID = req.WorkflowID
	s, err := Intercept(ctx, c, op, func(ctx context.Context) (started, error) {
		source, cut, start, err := c.cutFor(ctx, &req)
		if err != nil {
			return started{}, err
		}
		now := c.now()
		by := core.Control{By: cmp.Or(req.By.Who, c.node), Reason: req.By.Why}
		next := cut.Fork(start, req.NewID, ident.NewRun(now), now, by)
		if req.Input != nil {
			next.Input = *req.Input
		}
		err = c.createBased(ctx, source, cut, next, "")
		if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
			if conflict.Existing.Chain == next.Run { // an earlier try created it; the chain went on since
				return started{run: conflict.Existing.ID}, nil
			}
			return attachToFork(&conflict.Existing, next)
		}
		return started{run: next.Run}, err
	})
	return s.run, s.attached, err
}

// PreviewFork describes in a sentence what a fork would keep.
func (c *Client) PreviewFork(ctx context.Context, req Fork) (string, error) {
	source, cut, _, err := c.cutFor(ctx, &req)
	if err != nil {
		return "", err
	}
	again, err := c.again(ctx, source, req.Call, req.KeepKeys)
	return cut.String() + again, err
}

// cutFor cuts the history of a run for a fork.
func (c *Client) cutFor(ctx context.Context, req *Fork) (*store.Run, *core.Cut, *history.Start, error) {
	source, err := c.read.Find(ctx, req.WorkflowID, req.Run)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := c.check(ctx, req.check(), c.lacks); err != nil {
		return nil, nil, nil, err
	}
	cut, start, err := c.cutAt(ctx, source, req.Call, req.KeepKeys)
	if err == nil && req.CallInput != nil {
		if err = cut.WithInput(*req.CallInput); err != nil {
			err = &inspect.CutError{Err: err}
		}
	}
	return source, cut, start, err
}

// attachToFork handles a fork whose workflow ID is taken. It returns the existing run if
// the same request created it.
func attachToFork(existing *store.Run, want *history.Start) (started, error) {
	is, err := record.Start(existing)
	if err != nil {
		return started{}, err
	}
	refusal := &IDInUseError{WorkflowID: want.WorkflowID, Run: existing.ID, Status: string(existing.Status)}
	switch has, wants := is.Base, want.Base; {
	case has == nil || has.Run != wants.Run || has.Call != wants.Call:
		refusal.Difference = fmt.Sprintf("it does not continue from call %d of run %s", wants.Call, wants.Run)
	case !has.Inputs[wants.Call].Equal(wants.Inputs[wants.Call]):
		refusal.Difference = fmt.Sprintf("its input of call %d differs", wants.Call)
	case has.KeepKeys != wants.KeepKeys:
		refusal.Difference = "one keeps the idempotency keys of the calls that it makes again, the other does not"
	case !is.Input.Equal(want.Input):
		refusal.Difference = "its input differs"
	default:
		return started{existing.ID, true}, nil
	}
	return started{}, refusal
}

// againNamed is how many calls a preview names that are made once more.
const againNamed = 5

// again says which calls of a run are made once more if another run continues from a call, although
// their work is done or may be done; "" if none. Of those behind the call it is known that they
// completed. Those that are open now may have an attempt under way, and the other run, which knows
// nothing of it, asks nobody.
func (c *Client) again(ctx context.Context, row *store.Run, call int64, keys bool) (string, error) {
	calls, err := c.read.Calls(ctx, row.WorkflowID, row.ID, view.CallRange{After: call - 1})
	if err != nil {
		return "", err
	}
	var done, open []string
	for i := range calls {
		if calls[i].Completed > 0 {
			done = append(done, fmt.Sprintf("%d (%s)", calls[i].Call, calls[i].Name))
		}
	}
	if row.Status.Open() {
		s, err := c.read.Read(ctx, row)
		if err != nil {
			return "", err
		}
		for _, p := range s.Pending() {
			if mayBeDone(&p) {
				open = append(open, fmt.Sprintf("%d (%s)", p.Call, p.Name))
			}
		}
	}
	how := "done twice, under another idempotency key"
	if keys {
		how = "made again under the same idempotency key"
	}
	return callsNamed("; completed already, and "+how, done) + callsNamed("; perhaps done, and made again without a question", open), nil
}

// mayBeDone reports whether an open call has an attempt that may have had its effect, and that its
// policy would not simply repeat.
func mayBeDone(c *view.Call) bool {
	if c.Doubt != nil {
		return true
	}
	if c.State != view.CallRunning && c.State != view.CallExternal {
		return false
	}
	p, err := retry.Parse(c.Policy)
	return err == nil && (p.AfterUnknown(retry.TypeWorkerLost) != retry.RepeatUnknown || p.CrashLimit == 1)
}

// callsNamed names calls; "" for none.
func callsNamed(says string, calls []string) string {
	if len(calls) == 0 {
		return ""
	}
	if n := len(calls) - againNamed; n > 0 {
		calls = append(slices.Clone(calls[:againNamed]), fmt.Sprintf("and %d more", n))
	}
	return says + ": call " + strings.Join(calls, ", ")
}
