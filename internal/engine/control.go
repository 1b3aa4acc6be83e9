package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// ErrNotPending says that an operation found no call: none is selected, or it has
// ended.
var ErrNotPending = errors.New("no such call is pending")

// RefusedError says that a call, or a run, is not in a state for an operation, or
// does not accept what came with it.
type RefusedError struct{ Record ControlRecord }

func (e *RefusedError) Error() string {
	if core.Operation(e.Record.Operation).OfRun() {
		return fmt.Sprintf("%s is refused: %s", e.Record.Operation, e.Record.Note)
	}
	return fmt.Sprintf("%s of call %d (%s) is refused: %s", e.Record.Operation, e.Record.Call, e.Record.Name, e.Record.Note)
}

// Control carries an operation out on calls of a run: of the latest one of the
// workflow ID if run is empty. It answers what it did to each call when that is
// durable. The same request ID again does nothing again and answers the same.
//
// The error is ErrNotPending if no call was found, a *RefusedError if all that
// were found refused it, ErrNoAnswer with that of ctx if nobody serves the run in
// time, ErrClosed if it has ended.
func (e *Engine) Control(ctx context.Context, workflowID, run string, in core.Control) ([]ControlRecord, error) {
	if err := e.checkControl(&in); err != nil {
		return nil, err
	}
	sent, err := e.sendControl(ctx, workflowID, run, in)
	if err != nil {
		return nil, err
	}
	return e.awaitAnswer(ctx, sent)
}

// checkControl fills in what is missing and refuses what no run would accept.
func (e *Engine) checkControl(in *core.Control) error {
	if !slices.Contains(core.CallOperations, in.Operation) && !in.Operation.OfRun() {
		return &history.InputError{What: fmt.Sprintf("operation %q", in.Operation), Problem: "does not exist"}
	}
	if in.ID == "" {
		in.ID = ident.NewToken()
	}
	if in.By == "" {
		in.By = e.config.Node
	}
	if err := history.CheckID("request ID", in.ID); err != nil {
		return err
	}
	if in.Operation.OfRun() {
		return checkRunControl(in)
	}
	for _, s := range in.Calls.States {
		if !slices.Contains(callStates, s) {
			return &history.InputError{What: fmt.Sprintf("call state %q", s), Problem: "does not exist; it is one of " + strings.Join(callStates, ", ")}
		}
	}
	switch {
	case in.Calls.Call < 0:
		return &history.InputError{What: fmt.Sprintf("call number %d", in.Calls.Call), Problem: "is negative; calls count from 1"}
	case in.Operation == core.EditPolicy && in.Policy == nil:
		return &history.InputError{What: "edit-policy", Problem: "comes without a policy"}
	case in.Operation == core.EditPolicy:
		return activity.ValidatePolicy(*in.Policy)
	case in.Operation == core.FailNow && in.Failure == nil:
		return &history.InputError{What: "fail", Problem: "comes without an error"}
	}
	return nil
}

// callStates are the states of calls that can be selected.
var callStates = []string{
	core.StateRunning, string(core.Queued), string(core.External), string(core.Backoff), string(core.Gated),
	string(core.Paused), string(core.Quarantined),
}

// sentControl is an operation on its way.
type sentControl struct {
	row     *store.Run
	in      core.Control
	id      string
	ofRun   bool  // the run that follows a continued one carries it out
	after   int64 // turns up to here do not have the answer
	records []ControlRecord
}

// sendControl makes an operation durable, unless its answer is on record already.
func (e *Engine) sendControl(ctx context.Context, workflowID, run string, in core.Control) (*sentControl, error) {
	row, err := e.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	s := &sentControl{row: row, in: in, id: in.ID, ofRun: in.Operation.OfRun()}
	if err := e.readAnswer(ctx, s); err != nil || len(s.records) > 0 {
		return s, err
	}
	reader := row.ID
	if in.Operation == core.ResetTheRun {
		if err := e.resetBefore(s); err != nil || len(s.records) > 0 {
			return s, err
		}
		if !row.Status.Open() {
			return s, e.resetLatest(ctx, s, in)
		}
	}
	if in.Operation.OfRun() {
		reader = "" // whichever run of the chain is the latest when it arrives
	}
	m, err := message.New(e.group, workflowID, reader, message.KindControl, "control/"+in.ID, message.Data{Control: &in})
	if err != nil {
		return nil, err
	}
	err = e.post(ctx, m)
	if errors.Is(err, store.ErrClosed) { // it may have ended because of this very request
		if late := e.readAnswer(ctx, s); late == nil && len(s.records) > 0 {
			return s, nil
		}
		if in.Operation == core.ResetTheRun {
			return s, e.resetLatest(ctx, s, in)
		}
	}
	return s, err
}

// readAnswer looks for the answer in the turns that were not read before.
func (e *Engine) readAnswer(ctx context.Context, s *sentControl) error {
	turns, err := e.db.History(ctx, s.row.Partition, s.row.ID, s.after, 0)
	if err != nil {
		return err
	}
	for _, t := range turns {
		events, err := history.DecodeTurn(t.Events)
		if err != nil {
			return err
		}
		for i := range events {
			if inspect.IsAnswer(&events[i]) && events[i].ID == s.id {
				s.records = append(s.records, inspect.ControlRecord(s.row, &events[i], t.Time))
			}
		}
		s.after = t.Number
		if len(s.records) > 0 {
			return nil
		}
	}
	return nil
}

// awaitAnswer waits until the owner of the run has carried the operation out.
func (e *Engine) awaitAnswer(ctx context.Context, s *sentControl) ([]ControlRecord, error) {
	for wait := firstLook; len(s.records) == 0; wait = min(2*wait, lastLook) {
		if err := e.sleep(ctx, wait); errors.Is(err, ErrStopped) {
			return nil, err
		}
		row, err := e.db.Find(ctx, s.row.Partition, s.row.WorkflowID, s.row.ID)
		if err == nil {
			err = e.readAnswer(ctx, s)
		}
		switch {
		case len(s.records) > 0:
			continue
		case ctx.Err() != nil:
			return nil, fmt.Errorf("workflow %q: %w: %w", s.row.WorkflowID, ErrNoAnswer, ctx.Err())
		case err != nil && !store.Unavailable(err):
			return nil, err
		case err == nil && row.Status == store.Continued && s.ofRun:
			s.row, s.after, err = nil, 0, nil
			if s.row, err = e.db.Find(ctx, row.Partition, row.WorkflowID, ""); err != nil {
				return nil, err
			}
		case err == nil && !row.Status.Open() && s.in.Operation == core.ResetTheRun:
			if err := e.resetLatest(ctx, s, s.in); err != nil {
				return nil, err
			}
		case err == nil && !row.Status.Open():
			return nil, fmt.Errorf("workflow %q: %w", s.row.WorkflowID, store.ErrClosed)
		}
	}
	return s.records, verdict(s.records)
}

// verdict is the error of an operation that did nothing.
func verdict(records []ControlRecord) error {
	var refused *RefusedError
	for _, r := range records {
		switch r.Outcome {
		case core.Applied, core.Unchanged:
			return nil
		case core.Refused:
			refused = &RefusedError{r}
		}
	}
	if refused != nil {
		return refused
	}
	return fmt.Errorf("workflow %q: %s: %w", records[0].WorkflowID, records[0].Operation, ErrNotPending)
}

// Pauses between two looks for an answer.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 50 * time.Millisecond
)

// sleep waits for a while, or until the caller or the engine ends.
func (e *Engine) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return ErrStopped
	}
}

// post makes a message durable and tells the owner, if that is here, to look.
func (e *Engine) post(ctx context.Context, m store.Message) error {
	if err := e.db.Post(ctx, m); err != nil {
		return fmt.Errorf("workflow %q: %w", m.WorkflowID, err)
	}
	e.kickInbox()
	return nil
}
