package codecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// page is how many runs one query lists, maxFindings the default limit of reported
// findings, and progressEvery how many runs are checked between two progress reports.
const (
	page          = 500
	maxFindings   = 1000
	progressEvery = 100
)

// Checker checks runs against the code of a process.
type Checker struct {
	Store store.Reader
	Group store.Group
	Holds *hold.Reasons
	// Core has the limits and defaults with which machines of runs are made.
	Core core.Config
	// Guard runs code that Query asks.
	Guard *replay.Guard
	// TurnTimeout is how long code may run without yielding.
	TurnTimeout time.Duration
}

// Run replays open runs and reports those that could not continue. Runs continue meanwhile; each
// is checked as of its last commit.
func (k *Checker) Run(ctx context.Context, filter view.CodeFilter) (*view.CodeCheck, error) {
	for what, n := range map[string]int{"sample": filter.Sample, "limit": filter.Limit} {
		if n < 0 {
			return nil, &history.InputError{What: what, Problem: fmt.Sprintf("is %d; it is 0 or more", n)}
		}
	}
	c := &check{of: k, filter: filter, types: map[string]*workflowType{}}
	c.filter.Limit = cmp.Or(filter.Limit, maxFindings)
	if err := c.list(ctx); err != nil {
		return nil, err
	}
	return c.report(), nil
}

// Replay replays a run beside the one in memory, if it is there.
func (k *Checker) Replay(past *core.Past, def *seal.WorkflowDeclaration) error {
	config := k.Core
	config.Retry = def.Retry
	return replay.Run(config, past, def, k.TurnTimeout)
}

// Repeats replays a run as it is on record now, and returns how its code asked for something else
// than it did a moment ago. It returns nil if it asked for the same, or if the record cannot be
// read: the next turn looks again, and who loads the run finds the damage.
func (k *Checker) Repeats(ctx context.Context, partition int, run string) error {
	rec, err := k.Store.Load(ctx, partition, run)
	if err != nil {
		return nil
	}
	past, err := record.Decode(rec)
	if err != nil {
		return nil
	}
	if m, is := errors.AsType[*core.Mismatch](k.Replay(past, k.Holds.Registry.Workflow(past.Start.Type))); is {
		return &differs{m}
	}
	return nil
}

// Query replays a run that has ended and asks its code, which is registered.
func (k *Checker) Query(ctx context.Context, row *store.Run, name string, input history.Payload) (history.Payload, error) {
	rec, err := k.Store.Load(ctx, row.Partition, row.ID)
	if err != nil {
		return history.Payload{}, err
	}
	past, err := record.Decode(rec)
	if err != nil {
		return history.Payload{}, err
	}
	code := k.Holds.Registry
	_, instance, err := k.Guard.Load(core.Config{Policy: k.Core.Policy, Draw: k.Core.Draw}, past, code.Workflow(row.Type), code.Begin)
	if err != nil {
		return history.Payload{}, err
	}
	value, err := k.Guard.Query(instance, name, input)
	replay.Close(instance, err)
	return value, err
}

// differs is a Mismatch of code with what it did itself a moment ago.
type differs struct{ *core.Mismatch }

func (d *differs) Error() string {
	return "the code is not deterministic: replayed right after this turn it asked for something else (" + d.Mismatch.Error() + "); use workflow.Now, workflow.Rand, workflow.SideEffect or a step for what may differ"
}

func (d *differs) Unwrap() error { return d.Mismatch }

// check is one call of Run.
type check struct {
	of     *Checker
	filter view.CodeFilter
	types  map[string]*workflowType
	out    view.CodeCheck
}

// workflowType collects the results for one workflow.
type workflowType struct {
	view.CodeType
	sample []store.Run // the sample of runs to check; unused if all are checked
}

// list lists all open runs and checks all of them, or a sample.
func (c *check) list(ctx context.Context) error {
	selected, err := inspect.RunFilter(view.Filter{
		Status:   []string{view.StatusRunning, view.StatusPaused, view.StatusWaitingForCode, view.StatusParked},
		Workflow: c.filter.Workflow, IDPrefix: c.filter.IDPrefix, Limit: page,
	}, c.of.Group.All())
	if err != nil {
		return err
	}
	for {
		rows, err := c.of.Store.List(ctx, selected)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := c.open(ctx, rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < page {
			break
		}
		selected.Before = rows[len(rows)-1].ID
	}
	for _, name := range slices.Sorted(maps.Keys(c.types)) {
		t := c.types[name]
		t.choose(c.filter.Sample)
		for i := range t.sample {
			if err := c.look(ctx, t, &t.sample[i]); err != nil {
				return err
			}
		}
	}
	if c.filter.Progress != nil {
		c.filter.Progress(c.out.Checked)
	}
	return nil
}

// open counts an open run, and checks it or adds it to the candidates of the sample.
func (c *check) open(ctx context.Context, row store.Run) error {
	t := c.types[row.Type]
	if t == nil {
		t = &workflowType{CodeType: view.CodeType{Workflow: row.Type}}
		c.types[row.Type] = t
	}
	t.Open++
	c.out.Open++
	if c.filter.Sample == 0 {
		return c.look(ctx, t, &row)
	}
	t.sample = append(t.sample, store.Run{Partition: row.Partition, ID: row.ID})
	if len(t.sample) >= 2*c.filter.Sample+page {
		t.choose(c.filter.Sample)
	}
	return nil
}

// choose keeps n runs: those with the lowest hash of their ID, so the choice does not depend
// on which others are open.
func (t *workflowType) choose(n int) {
	slices.SortFunc(t.sample, func(a, b store.Run) int {
		return cmp.Or(cmp.Compare(core.Uniform(a.ID, 0, 0), core.Uniform(b.ID, 0, 0)), cmp.Compare(a.ID, b.ID))
	})
	t.sample = t.sample[:min(n, len(t.sample))]
}

// look replays one run. A run that has closed meanwhile is not counted.
func (c *check) look(ctx context.Context, t *workflowType, row *store.Run) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rec, err := c.of.Store.Load(ctx, row.Partition, row.ID)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !rec.Run.Status.Open():
		t.Open--
		c.out.Open--
		return nil
	case err != nil:
		return err
	}
	f := c.judge(rec)
	t.Checked++
	c.out.Checked++
	switch f.Verdict {
	case view.CodeFits:
		t.Fits++
	case view.CodeParks:
		t.Parks++
	case view.CodeMissing:
		t.NoCode++
	case view.CodeUnreadable:
		t.Unreadable++
	}
	if f.Stops {
		t.Stops++
	}
	if f.Verdict != view.CodeFits {
		c.found(f)
	}
	if c.filter.Progress != nil && c.out.Checked%progressEvery == 0 {
		c.filter.Progress(c.out.Checked)
	}
	return nil
}

// found adds a finding. Above the limit it only counts, but findings that stop a run replace
// those that do not.
func (c *check) found(f view.CodeFinding) {
	if len(c.out.Findings) < c.filter.Limit {
		c.out.Findings = append(c.out.Findings, f)
		return
	}
	c.out.More++
	if !f.Stops {
		return
	}
	if i := slices.IndexFunc(c.out.Findings, func(f view.CodeFinding) bool { return !f.Stops }); i >= 0 {
		c.out.Findings[i] = f
	}
}

func (c *check) report() *view.CodeCheck {
	out := &c.out
	out.OK, out.Types = true, []view.CodeType{}
	for _, name := range slices.Sorted(maps.Keys(c.types)) {
		if t := c.types[name]; t.Open > 0 {
			out.Types = append(out.Types, t.CodeType)
			out.OK = out.OK && t.Stops == 0
		}
	}
	if out.Findings == nil {
		out.Findings = []view.CodeFinding{}
	}
	slices.SortStableFunc(out.Findings, func(a, b view.CodeFinding) int {
		stands := func(f view.CodeFinding) int {
			if f.Stops {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(stands(a), stands(b)), cmp.Compare(a.Workflow, b.Workflow))
	})
	return out
}

// judge returns what would happen to a run with the code of this engine.
func (c *check) judge(rec *store.Record) view.CodeFinding {
	r := &rec.Run
	f := view.CodeFinding{WorkflowID: r.WorkflowID, RunID: r.ID, Workflow: r.Type, Status: string(r.Status), Verdict: view.CodeFits}
	c.judgeInto(&f, rec)
	elsewhere := f.Build != "" && f.Build != c.of.Holds.Build
	f.Stops = f.Verdict != view.CodeFits && !elsewhere && (r.Status == store.Running || r.Status == store.OnHold)
	return f
}

func (c *check) judgeInto(f *view.CodeFinding, rec *store.Record) {
	past, err := record.Decode(rec)
	if err != nil {
		f.Verdict, f.Reason = view.CodeUnreadable, err.Error()
		return
	}
	f.Build = core.PinIn(&past.Start, past.Turns)
	def := c.of.Holds.Registry.Workflow(rec.Run.Type)
	if def == nil {
		f.Verdict, f.Reason = view.CodeMissing, "the workflow is not registered"
		return
	}
	if h := c.of.Holds.Still(def, past); h != nil {
		f.Verdict = view.CodeParks
		if h.Detail.Mismatch == nil || !differ(f, h.Detail.Mismatch) {
			f.Reason = "this code parked it: it is tried again only when the version or the program changes"
		}
		return
	}
	c.fault(f, c.of.Replay(past, def))
}

// fault describes why code does not fit. It includes no payloads.
func (c *check) fault(f *view.CodeFinding, err error) {
	if err == nil {
		return
	}
	f.Verdict = view.CodeParks
	if differ(f, err) {
		return
	}
	d := c.of.Holds.Failed("", err).Detail
	f.Reason, f.Stack = d.Reason, d.Stack
	if panicked, is := errors.AsType[*coro.PanicError](err); is {
		f.Reason = "the workflow's code panicked with " + panicOf(panicked.Value)
	} else if d.Broken == "" && !errors.Is(err, replay.ErrGoexit) {
		f.Verdict = view.CodeUnreadable
	}
}

// panicOf describes the value of a panic: in full if it comes from the Go runtime, else by its
// type, because the value may contain data of the workflow.
func panicOf(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", value)
}

// differ fills in the first difference if err is one, and reports whether it is.
func differ(f *view.CodeFinding, err error) bool {
	m, ok := errors.AsType[*core.Mismatch](err)
	if ok {
		f.Turn, f.Command, f.Reason = m.Turn, m.Command, m.Outline()
		f.Recorded, f.Asked = m.Outlines()
	}
	return ok
}
