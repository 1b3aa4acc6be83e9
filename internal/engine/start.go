package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// StartRequest asks for a run.
type StartRequest struct {
	WorkflowID string
	Type       string // name of the workflow
	Input      history.Payload
	Trace      string // trace parent
}

// IDInUseError says that a workflow ID belongs to another run than the one that
// was asked for.
type IDInUseError struct {
	WorkflowID string
	Run        string // the run that has it
	Status     store.Status
	Difference string // what differs: "the workflow", "the input"
}

func (e *IDInUseError) Error() string {
	return fmt.Sprintf("workflow ID %q belongs to run %s (%s), and %s; use another ID, or the same arguments to attach to that run", e.WorkflowID, e.Run, e.Status, e.Difference)
}

// StartRun makes sure that a run exists for the workflow ID and returns its run ID.
// Once it returned, the run survives anything. If the ID has a run of the same
// workflow with the same input, that one is returned and attached is true; with
// another workflow or input, an *IDInUseError.
func (e *Engine) StartRun(ctx context.Context, req StartRequest) (run string, attached bool, err error) {
	if err := checkText("workflow ID", req.WorkflowID, MaxID); err != nil {
		return "", false, err
	}
	if err := checkName("workflow name", req.Type); err != nil {
		return "", false, err
	}
	number := partitionOf(e.config.Group, req.WorkflowID, e.db.Info().Partitions)
	now := e.clock.now()
	id := newRunID(now)
	start := history.Start{
		WorkflowID: req.WorkflowID, Run: id, Type: req.Type, Group: e.config.Group, Chain: id, Attempt: 1,
		Input: req.Input, Trace: req.Trace, Created: now,
	}
	encoded, err := history.EncodeStart(start)
	if err != nil {
		return "", false, err
	}
	row := store.Run{
		Partition: number, ID: id, WorkflowID: req.WorkflowID, Type: req.Type, Group: e.config.Group,
		Chain: id, Attempt: 1, Start: encoded, Created: now,
		RunState: store.RunState{Status: store.Running, Wake: store.Hot},
	}
	err = e.create(ctx, row, start)
	conflict := (*store.ConflictError)(nil)
	if errors.As(err, &conflict) {
		return e.attach(conflict.Existing, req)
	}
	return id, false, err
}

// create makes the run durable: here, with its first turn, if this node serves
// its partition; else by its row alone, for the node that does.
func (e *Engine) create(ctx context.Context, row store.Run, start history.Start) error {
	e.mu.Lock()
	if e.phase == draining || e.phase == stopped {
		e.mu.Unlock()
		return ErrStopped
	}
	p := e.owns(row.Partition)
	if p == nil {
		e.mu.Unlock()
		return e.db.Create(ctx, row)
	}
	def := e.defs.workflows[row.Type]
	if def == nil {
		e.mu.Unlock()
		return &InputError{What: "workflow " + fmt.Sprintf("%q", row.Type), Problem: "is not registered with this engine; register it where the engine is opened"}
	}
	r := &resident{partition: p, id: row.ID, create: &row, poked: true}
	r.run = core.New(e.coreConfig(p), start, nil)
	r.instance = def.Begin(r.run)
	r.run.Bind(r.instance)
	started := make(chan error, 1)
	r.started = append(r.started, started)
	e.residents[row.ID] = r
	e.rouse(r)
	e.mu.Unlock()
	select {
	case err := <-started:
		return err
	case <-e.ctx.Done():
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("%w; whether the run was started is not known: ask again with the same ID", ctx.Err())
	}
}

// attach answers a start whose ID is taken.
func (e *Engine) attach(existing store.Run, req StartRequest) (string, bool, error) {
	refusal := &IDInUseError{WorkflowID: req.WorkflowID, Run: existing.ID, Status: existing.Status}
	if existing.Type != req.Type {
		refusal.Difference = fmt.Sprintf("it is of workflow %q, not %q", existing.Type, req.Type)
		return "", false, refusal
	}
	start, err := history.DecodeStart(existing.Start)
	if err != nil {
		return "", false, err
	}
	if start.Input.Encoding != req.Input.Encoding || !bytes.Equal(start.Input.Data, req.Input.Data) {
		refusal.Difference = "its input is another one"
		return "", false, refusal
	}
	return existing.ID, true, nil
}

// resultPoll is how often a client looks whether a run of another process ended.
const resultPoll = 50 * time.Millisecond

// Result waits until a run has ended and returns its final state.
func (e *Engine) Result(ctx context.Context, workflowID, run string) (core.State, error) {
	number := partitionOf(e.config.Group, workflowID, e.db.Info().Partitions)
	for {
		ch := e.await(run)
		if ch == nil {
			row, err := e.db.Find(ctx, number, workflowID, run)
			if err != nil && !store.Unavailable(err) {
				return core.State{}, err
			}
			if err == nil && !row.Status.Open() {
				return coreState(row.RunState), nil
			}
			if err == nil {
				run = row.ID
			}
			if ch = e.await(run); ch == nil {
				if err := e.waitBriefly(ctx); err != nil {
					return core.State{}, err
				}
				continue
			}
		}
		select {
		case s, ok := <-ch:
			if !ok {
				return core.State{}, ErrStopped
			}
			return s, nil
		case <-ctx.Done():
			return core.State{}, ctx.Err()
		}
	}
}

// waitBriefly waits before a client looks again.
func (e *Engine) waitBriefly(ctx context.Context) error {
	t := time.NewTimer(resultPoll)
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

// await returns a channel that will get the final state of a run that is in this
// engine's memory, nil if it is not.
func (e *Engine) await(run string) chan core.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.residents[run] == nil {
		return nil
	}
	ch := make(chan core.State, 1)
	e.waiters[run] = append(e.waiters[run], ch)
	return ch
}

func coreState(s store.RunState) core.State {
	return core.State{Status: core.Status(s.Status), Wake: s.Wake, Closed: s.Closed, Detail: s.Detail}
}
