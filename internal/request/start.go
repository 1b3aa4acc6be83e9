package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Start asks for a run.
type Start struct {
	WorkflowID string
	Type       string // name of the workflow
	Input      history.Payload
	Trace      string // trace parent
	history.Settings
	// Delay is how long the code waits before it begins.
	Delay time.Duration
	// NewAfter says which closed runs may be followed by a new one under their workflow ID.
	NewAfter Ending
	// MustBeNew refuses to attach to an existing run of the workflow ID.
	MustBeNew bool
	// AnyInput attaches to an existing run of the workflow whatever its input is.
	AnyInput bool
	// ForEnd says that the caller waits for the end of the run, not for its row.
	ForEnd bool
	// Fault is the error of an option of the request. It refuses the request.
	Fault error

	within *transaction // of the caller, nil for none
}

// Ending is how the last run of a chain may have ended.
type Ending int

// The endings.
const (
	NoEnd  Ending = iota
	AnyEnd        // however it ended
	// Failure is every end without a result: failed, canceled, terminated.
	Failure
)

// has reports whether a run with this status has ended that way.
func (e Ending) has(s store.Status) bool {
	return !s.Open() && (e == AnyEnd || e == Failure && s != store.Completed)
}

// IDInUseError means that a workflow ID belongs to another run than was asked for.
type IDInUseError = view.IDInUseError

// StartRun makes sure that a run exists for the workflow ID and returns its run ID. The run
// is then durable. If the ID has a run that NewAfter does not let a new one follow,
// StartRun returns it, with attached true, if it has the same workflow and, unless AnyInput
// is set, the same input. If these differ, or the run must be new, the error is an *IDInUseError.
func (c *Client) StartRun(ctx context.Context, req Start) (run string, attached bool, err error) {
	op := intercept.Op{Kind: intercept.Start, Name: req.Type, Workflow: req.Type, WorkflowID: req.WorkflowID}
	s, err := interceptStart(ctx, c, op, req, (*Client).startRun)
	return s.run, s.attached, err
}

// StartRunWithin is StartRun inside tx, a transaction that the caller ends. The run and the
// message to its owner are rows of that transaction. Nothing is in memory, so a rollback
// needs no cleanup.
func (c *Client) StartRunWithin(ctx context.Context, tx any, req Start) (run string, attached bool, err error) {
	req.within = &transaction{tx}
	return c.StartRun(ctx, req)
}

// started is the result of a start.
type started struct {
	run      string
	attached bool
}

// inLine returns the row of a run that begins when its owner has room for it.
func inLine(row *store.Run, start *history.Start) *store.Run {
	placed := *row
	if core.CanWait(start) {
		placed.Wake = row.WakeInLine()
	}
	return &placed
}

// startRun attaches to a run or creates one.
func (c *Client) startRun(ctx context.Context, req Start) (started, error) {
	if err := c.checkStart(ctx, &req); err != nil {
		return started{}, err
	}
	in, err := c.rows(req.within)
	if err != nil {
		return started{}, err
	}
	var existing *store.Run
	if req.NewAfter != NoEnd {
		if existing, err = ifFound(in.Find(ctx, c.place(req.WorkflowID), req.WorkflowID, "")); err != nil {
			return started{}, err
		}
	}
	for {
		if existing != nil && existing.Status.Open() && req.NewAfter.has(store.Terminated) {
			if now, err := c.seesTermination(ctx, in, existing); err != nil {
				return started{}, err
			} else if now != nil {
				existing = now
				continue
			}
		}
		if existing != nil && !req.NewAfter.has(existing.Status) {
			return attach(ctx, in, existing, &req)
		}
		row, start, err := c.newRun(&req, existing)
		if err != nil {
			return started{}, err
		}
		err = in.create(ctx, row, start, req.ForEnd)
		conflict := (*store.ConflictError)(nil)
		if !errors.As(err, &conflict) {
			return started{run: row.ID}, err
		}
		existing = &conflict.Existing // it was created meanwhile
		if existing.Chain == row.ID { // by an earlier try, whose answer was lost; the chain went on since
			return started{run: existing.ID}, nil
		}
	}
}

// seesTermination waits, or refuses, if the termination of a run is on its way: whoever was
// told that it is durable gets a new run. It returns the run that has the workflow ID after
// that, nil if the run is not to be terminated.
func (c *Client) seesTermination(ctx context.Context, in rows, row *store.Run) (*store.Run, error) {
	posted, err := c.db.Posted(ctx, row.Partition, row.WorkflowID)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(posted, func(m store.Message) bool { return (m.Run == "" || m.Run == row.ID) && message.Terminates(m) }) {
		if err := in.awaitTermination(ctx, row); err != nil {
			return nil, err
		}
	}
	now, err := in.Find(ctx, row.Partition, row.WorkflowID, "") // it may have been carried out before the look
	if err != nil || now.ID == row.ID && now.Status.Open() {
		return nil, err
	}
	return now, nil
}

// newRun returns the first run of a chain. before is the run that had its workflow ID
// before, nil for none.
func (c *Client) newRun(req *Start, before *store.Run) (*store.Run, *history.Start, error) {
	now := c.now()
	after := ""
	if before != nil {
		after = before.ID
	}
	id := ident.NewRun(core.RunTimeAfter(after, now))
	start := &history.Start{
		WorkflowID: req.WorkflowID, Run: id, Type: req.Type, Group: c.group.Name, Chain: id, Attempt: 1,
		Input: req.Input, Trace: req.Trace, Created: now, After: after, Settings: req.Settings,
	}
	start.Attributes = maps.Clone(req.Attributes)
	start.Headers, _ = history.CutTrace(req.Headers)
	if req.Delay > 0 {
		start.FirstTurn = later(now, req.Delay)
	}
	if req.ChainTimeout > 0 {
		start.ChainDeadline = later(max(now, start.FirstTurn), req.ChainTimeout)
	}
	row, err := record.NewRun(c.place(req.WorkflowID), start)
	if err == nil {
		row.After = after
	}
	return row, start, err
}

// later returns t plus d, or the last possible time.
func later(t int64, d time.Duration) int64 { return t + min(int64(d), store.Never-1-t) }

// attach handles a start whose workflow ID is taken. It compares with what the first run of
// the chain was started with; later runs have other inputs.
func attach(ctx context.Context, in rows, existing *store.Run, req *Start) (started, error) {
	refusal := &IDInUseError{WorkflowID: req.WorkflowID, Run: existing.ID, Status: string(existing.Status)}
	origin, err := originOf(ctx, in, existing)
	if err != nil {
		return started{}, err
	}
	switch {
	case req.MustBeNew:
		refusal.Difference = "the start requires a new run"
	case origin.Type != req.Type:
		refusal.Difference = fmt.Sprintf("it is of workflow %q, not %q", origin.Type, req.Type)
	case !req.AnyInput && !origin.HasInput(req.Input):
		refusal.Difference = "its input differs"
	default:
		return started{existing.ID, true}, nil
	}
	return started{}, refusal
}

// originOf returns what the chain of a run was started with.
func originOf(ctx context.Context, in rows, row *store.Run) (*history.Origin, error) {
	if row.ID != row.Chain {
		first, err := ifFound(in.Find(ctx, row.Partition, row.WorkflowID, row.Chain))
		if err != nil {
			return nil, err
		}
		row = cmp.Or(first, row) // if that one was deleted, row itself has the origin
	}
	start, err := record.Start(row)
	return start.Origin(), err
}
