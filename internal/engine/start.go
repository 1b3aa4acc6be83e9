package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// StartRequest asks for a run.
type StartRequest struct {
	WorkflowID string
	Type       string // name of the workflow
	Input      history.Payload
	Trace      string // trace parent
	history.Settings
	// Delay is how long the code waits before it begins.
	Delay time.Duration
	// NewAfter says which ended runs make room for a new one under their workflow ID.
	NewAfter Ending
	// MustBeNew refuses to attach to a run that has the workflow ID.
	MustBeNew bool
	// Fault is what is wrong with what the request was made of.
	Fault error
}

// Ending is how the last run of a chain may have ended.
type Ending int

// The endings.
const (
	NoEnd  Ending = iota
	AnyEnd        // however it ended
	// Failure is every end but that with a result: failed, canceled, terminated.
	Failure
)

// has reports whether a run in this status has ended so.
func (e Ending) has(s store.Status) bool {
	return !s.Open() && (e == AnyEnd || e == Failure && s != store.Completed)
}

// check refuses what no run could be started with.
func (req *StartRequest) check() error {
	switch {
	case req.Fault != nil:
		return req.Fault
	case req.NewAfter < NoEnd || req.NewAfter > Failure:
		return &history.InputError{What: "ending after which a new run may begin", Problem: fmt.Sprintf("is %d, which there is not", req.NewAfter)}
	}
	return cmp.Or(history.CheckDelay(req.Delay), req.Settings.Check())
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
// Once it returned, the run survives anything. If the ID has a run after which no
// new one is wanted, of the same workflow with the same input, that one is returned
// and attached is true; with another workflow or input, or if it must be new, an
// *IDInUseError.
func (e *Engine) StartRun(ctx context.Context, req StartRequest) (run string, attached bool, err error) {
	return e.startRun(ctx, ownRuns{e}, req)
}

// runs is where a start looks for runs and makes new ones: the database, or a
// transaction in it that somebody else will commit.
type runs interface {
	Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error)
	create(ctx context.Context, row store.Run, start history.Start) error
}

// ownRuns is the database, for which this engine works.
type ownRuns struct{ e *Engine }

func (o ownRuns) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	return o.e.db.Find(ctx, partition, workflowID, run)
}

func (o ownRuns) create(ctx context.Context, row store.Run, start history.Start) error {
	return o.e.create(ctx, row, start)
}

func (e *Engine) startRun(ctx context.Context, in runs, req StartRequest) (run string, attached bool, err error) {
	if err := e.usable(req.WorkflowID); err != nil {
		return "", false, err
	}
	if err := history.CheckName("workflow name", req.Type); err != nil {
		return "", false, err
	}
	if err := req.check(); err != nil {
		return "", false, err
	}
	var existing *store.Run
	if req.NewAfter != NoEnd {
		switch existing, err = in.Find(ctx, entity.Place(e.group, req.WorkflowID), req.WorkflowID, ""); {
		case errors.Is(err, store.ErrNotFound):
			existing = nil
		case err != nil:
			return "", false, err
		}
	}
	for {
		if existing != nil && !req.NewAfter.has(existing.Status) {
			return attach(ctx, in, *existing, req)
		}
		row, start, err := e.newRun(&req, existing)
		if err != nil {
			return "", false, err
		}
		err = in.create(ctx, row, start)
		conflict := (*store.ConflictError)(nil)
		if !errors.As(err, &conflict) {
			return row.ID, false, err
		}
		existing = &conflict.Existing // it came about meanwhile
	}
}

// newRun makes the first run of a chain, after one that had its workflow ID before,
// if there is one.
func (e *Engine) newRun(req *StartRequest, before *store.Run) (row store.Run, start history.Start, err error) {
	now := e.clock.Now()
	after := ""
	if before != nil {
		after = before.ID
	}
	id := ident.NewRun(core.RunTimeAfter(after, now))
	start = history.Start{
		WorkflowID: req.WorkflowID, Run: id, Type: req.Type, Group: e.config.Group, Chain: id, Attempt: 1,
		Input: req.Input, Trace: req.Trace, Created: now, After: after, Settings: req.Settings,
	}
	start.Attributes = maps.Clone(req.Attributes)
	if req.Delay > 0 {
		start.FirstTurn = later(now, req.Delay)
	}
	if req.ChainTimeout > 0 {
		start.ChainDeadline = later(max(now, start.FirstTurn), req.ChainTimeout)
	}
	made, err := record.NewRun(entity.Place(e.group, req.WorkflowID), &start)
	if err != nil {
		return row, start, err
	}
	made.After = after
	return *made, start, nil
}

// later is a time so long after another one, or the last there is.
func later(t int64, d time.Duration) int64 { return t + min(int64(d), store.Never-1-t) }

// create makes the run durable. A node that turns out to have lost the partition
// does as one that never had it.
func (e *Engine) create(ctx context.Context, row store.Run, start history.Start) error {
	for {
		if err := e.createOnce(ctx, row, start); !errors.Is(err, store.ErrFenced) {
			return err
		}
	}
}

// createOnce makes the run durable: here, with its first turn, if this node serves
// its partition; else by its row alone, for the node that does.
func (e *Engine) createOnce(ctx context.Context, row store.Run, start history.Start) error {
	e.mu.Lock()
	if e.phase == stopped || e.stopping {
		e.mu.Unlock()
		return ErrStopped
	}
	p := e.owns(row.Partition)
	if p == nil || e.phase == draining {
		e.mu.Unlock()
		return e.db.Create(ctx, row)
	}
	def := e.defs.workflows[row.Type]
	if def == nil {
		e.mu.Unlock()
		return &history.InputError{What: "workflow " + fmt.Sprintf("%q", row.Type), Problem: "is not registered with this engine; register it where the engine is opened"}
	}
	r := &activeRun{resident: &resident{partition: p, id: row.ID, create: &row, poked: true}, engine: e}
	r.stepper = r
	r.run = core.New(e.coreConfig(r, start.Type), start, nil)
	r.instance = def.Begin(r.run)
	r.run.Bind(r.instance)
	started := make(chan error, 1)
	r.started = append(r.started, started)
	e.residents[row.ID] = r.resident
	e.rouse(r.resident)
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

// attach answers a start whose ID is taken. It is the first run of a chain that
// was started with an input; later ones have others.
func attach(ctx context.Context, in runs, existing store.Run, req StartRequest) (string, bool, error) {
	refusal := &IDInUseError{WorkflowID: req.WorkflowID, Run: existing.ID, Status: existing.Status}
	origin, err := originOf(ctx, in, &existing)
	if err != nil {
		return "", false, err
	}
	asked := history.NewOrigin(req.Type, req.Input)
	switch {
	case req.MustBeNew:
		refusal.Difference = "the start was to make a new one"
	case origin == nil:
		refusal.Difference = "the first run of its chain was deleted, so nobody knows what it was started with"
	case origin.Type != asked.Type:
		refusal.Difference = fmt.Sprintf("it is of workflow %q, not %q", origin.Type, asked.Type)
	case origin.Input != asked.Input:
		refusal.Difference = "its input is another one"
	default:
		return existing.ID, true, nil
	}
	return "", false, refusal
}

// originOf is what the chain of a run was started with, nil if nobody knows.
func originOf(ctx context.Context, in runs, row *store.Run) (*history.Origin, error) {
	first, err := firstOf(ctx, in, row)
	if errors.Is(err, store.ErrNotFound) {
		first, err = row, nil // it has that on record, too
	}
	if err != nil {
		return nil, err
	}
	start, err := history.DecodeStart(first.Start)
	return start.Origin(), err
}

// findPause is how long Result waits before it asks a database again that did not
// answer.
const findPause = 50 * time.Millisecond

// Result waits until a run has ended, and all that follow it in its chain, and
// returns the final state of the last one.
func (e *Engine) Result(ctx context.Context, workflowID, run string) (core.State, error) {
	_, s, err := e.Outcome(ctx, workflowID, run)
	return s, err
}

// Outcome is Result, and says which run was the last one.
func (e *Engine) Outcome(ctx context.Context, workflowID, run string) (last string, s core.State, err error) {
	for {
		if run, s, err = e.resultOf(ctx, workflowID, run); err != nil || s.Status != core.StatusContinued {
			return run, s, err
		}
		if run, err = nextOf(s); err != nil {
			return run, s, err
		}
	}
}

// resultOf is Outcome for a run of a chain, or for the latest if that was continued
// before.
func (e *Engine) resultOf(ctx context.Context, workflowID, run string) (string, core.State, error) {
	if err := e.usable(workflowID); err != nil {
		return run, core.State{}, err
	}
	number := entity.Place(e.group, workflowID)
	for {
		ch, resident := e.await(number, run)
		if !resident {
			row, err := e.db.Find(ctx, number, workflowID, run)
			if err != nil || run == "" || !row.Status.Open() {
				e.unawait(run, ch)
			}
			switch {
			case err != nil && !store.Unavailable(err):
				return run, core.State{}, err
			case err != nil:
				if err := e.sleep(ctx, findPause); err != nil {
					return run, core.State{}, err
				}
				continue
			case row.Status == store.Continued:
				if run, err = e.following(ctx, row); err != nil {
					return run, core.State{}, err
				}
				continue
			case !row.Status.Open():
				return row.ID, record.State(row.RunState), nil
			case run == "":
				run = row.ID
				continue
			}
		}
		select {
		case s, ended := <-ch:
			switch {
			case ended:
				return run, s, nil
			case e.ctx.Err() != nil:
				return run, s, ErrStopped
			}
			// The partition came or went: look anew.
		case <-ctx.Done():
			e.unawait(run, ch)
			return run, core.State{}, ctx.Err()
		case <-e.ctx.Done():
			e.unawait(run, ch)
			return run, core.State{}, ErrStopped
		}
	}
}

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

// waiting are those who wait for the final state of a run.
type waiting struct {
	partition int // the run's
	answers   []chan core.State
}

// await returns a channel that will get the final state of a run, and whether the
// run is in memory and so has not ended. The channel is closed when the run's
// partition comes to this node or leaves it.
func (e *Engine) await(number int, run string) (ch chan core.State, resident bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if run == "" {
		return nil, false
	}
	ch = make(chan core.State, 1)
	if e.waiters[run] == nil {
		e.waiters[run] = &waiting{partition: number}
	}
	e.waiters[run].answers = append(e.waiters[run].answers, ch)
	if e.owns(number) == nil {
		e.watch(store.RunRef{Partition: number, Run: run})
		return ch, false
	}
	r := e.residents[run]
	return ch, r != nil && !r.gone
}

// unawait forgets a channel that nobody reads any more.
func (e *Engine) unawait(run string, ch chan core.State) {
	if ch == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.waiters[run]
	if w == nil {
		return
	}
	w.answers = slices.DeleteFunc(w.answers, func(answer chan core.State) bool { return answer == ch })
	if len(w.answers) == 0 {
		delete(e.waiters, run)
	}
}
