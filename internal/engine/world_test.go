package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// world is a database and the engines that live on it, one after the other or
// side by side.
type world struct {
	t           *testing.T
	in          setting
	empty       maker
	bare        store.Opener // the database that was made last
	db          store.Opener // the same as engines open it: a test may wrap it
	ahead       atomic.Int64 // how far its clock is ahead of the machine's, ns
	maxResident int
	patient     bool // while nothing happens, engines seldom ask the database
	log         *record
	plans       map[*engine.Engine]*faulty.Plan // what happens to their writes
}

// newWorld makes a world in memory, with runs kept there.
func newWorld(t *testing.T) *world {
	in := setting{backend: inMemory, resident: true}
	return newWorldIn(t, in, in.prepare(t, 1))
}

// newWorldIn makes a world on a database of its own.
func newWorldIn(t *testing.T, in setting, empty maker) *world {
	// Virtual days cost nothing but what idle engines ask: a third of the processor. So they seldom
	// ask where runs are kept in memory, too; where runs are dropped, and at night, as often as those of users.
	patient := in.onDisk || in.resident && !extent.Nightly()
	w := &world{t: t, in: in, empty: empty, patient: patient, log: &record{}, plans: map[*engine.Engine]*faulty.Plan{}}
	if !in.resident {
		w.maxResident = -1
	}
	w.anew()
	t.Cleanup(w.close)
	return w
}

// anew gives the world a new, empty database. The previous one must not be used any more.
func (w *world) anew() {
	w.close()
	w.bare = w.empty(w.clock)
	w.db = w.bare
}

// clock is that of the database.
func (w *world) clock() int64 { return here() + w.ahead.Load() }

func (w *world) close() {
	if err := closeDatabase(w.bare); err != nil {
		w.t.Error(err)
	}
}

// config is what the world's engines are told, with these definitions.
func (w *world) config(definitions ...any) settings.Engine {
	c := settings.Engine{Store: w.db, Node: "node", Supersede: true, MaxResident: w.maxResident, Logger: slog.New(w.log)}
	if w.patient {
		c.InboxEvery, c.ScanAhead, c.Lease = time.Hour, 24*time.Hour, 1000*time.Hour
	}
	for _, d := range definitions {
		switch d := d.(type) {
		case seal.Workflow:
			c.Workflows = append(c.Workflows, d)
		case seal.Activity:
			c.Activities = append(c.Activities, d)
		default:
			w.t.Fatalf("%T is no definition", d)
		}
	}
	return c
}

// open opens an engine and does not start it. It is stopped with the test.
func (w *world) open(c settings.Engine) *engine.Engine {
	w.t.Helper()
	plan := faulty.NewPlan()
	c.Store = faulty.Wrap(c.Store, plan)
	e, err := engine.Open(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.plans[e] = plan
	w.t.Cleanup(func() {
		plan.Outage(false)
		stop(w.t, e)
	})
	return e
}

// start opens and starts an engine with the definitions.
func (w *world) start(definitions ...any) *engine.Engine {
	w.t.Helper()
	return w.startWith(w.config(definitions...))
}

func (w *world) startWith(c settings.Engine) *engine.Engine {
	w.t.Helper()
	e := w.open(c)
	if err := e.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return e
}

// stop ends an engine without waiting for its attempts. Its context is its own,
// because that of a test has ended when its cleanups run.
func stop(t *testing.T, e *engine.Engine) {
	t.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Stop(now); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// begin starts a run and returns its run ID.
func begin[In, Out any](t *testing.T, e *engine.Engine, w workflow.Workflow[In, Out], id string, in In) string {
	t.Helper()
	run, _, err := tryBegin(t.Context(), e, w, id, in)
	if err != nil {
		t.Fatalf("start %q: %v", id, err)
	}
	return run
}

func tryBegin[In, Out any](ctx context.Context, e *engine.Engine, w workflow.Workflow[In, Out], id string, in In) (run string, attached bool, err error) {
	input, err := history.Encode(in)
	if err != nil {
		return "", false, err
	}
	return e.StartRun(ctx, request.Start{WorkflowID: id, Type: w.Name(), Input: input})
}

// finish waits for the end of the latest run of a workflow ID and returns its
// result, or the error it failed with.
func finish[Out any](t *testing.T, e *engine.Engine, id string) (Out, error) {
	t.Helper()
	var out Out
	_, s, err := e.Result(t.Context(), id, "")
	if err != nil {
		t.Fatalf("result of %q: %v", id, err)
	}
	d, err := core.DecodeDetail(s.Detail)
	if err != nil {
		t.Fatal(err)
	}
	switch s.Status {
	case core.StatusCompleted:
		if err := d.Result.Decode(&out); err != nil {
			t.Fatal(err)
		}
		return out, nil
	case core.StatusTerminated:
		return out, errors.New("terminated: " + d.Reason)
	}
	return out, d.Failure.Err()
}

// complete runs a workflow to its end and demands success.
func complete[In, Out any](t *testing.T, e *engine.Engine, w workflow.Workflow[In, Out], id string, in In) Out {
	t.Helper()
	begin(t, e, w, id, in)
	out, err := finish[Out](t, e, id)
	if err != nil {
		t.Fatalf("workflow %q: %v", id, err)
	}
	return out
}

// describe returns what is known of the latest run of a workflow ID.
func describe(t *testing.T, e *engine.Engine, id string) *view.Description {
	t.Helper()
	d, err := e.Describe(t.Context(), id, "")
	if err != nil {
		t.Fatalf("describe %q: %v", id, err)
	}
	return d
}

// onlyCall returns the one pending call of a run.
func onlyCall(t *testing.T, e *engine.Engine, id string) view.Call {
	t.Helper()
	d := describe(t, e, id)
	if len(d.Pending) != 1 {
		t.Fatalf("%q has the pending calls %+v, want one", id, d.Pending)
	}
	return d.Pending[0]
}

// attemptsOf returns all attempts of a run.
func attemptsOf(t *testing.T, e *engine.Engine, id string) []view.Attempt {
	t.Helper()
	a, err := e.Attempts(t.Context(), id, "", view.AttemptRange{})
	if err != nil {
		t.Fatalf("attempts of %q: %v", id, err)
	}
	return a
}

// eventsOf returns the history of the latest run.
func eventsOf(t *testing.T, e *engine.Engine, id string) []inspect.TurnEvent {
	t.Helper()
	_, events, err := historyOf(t, e, id, "")
	if err != nil {
		t.Fatalf("history of %q: %v", id, err)
	}
	return events
}

// historyOf returns the start and the events of a run.
func historyOf(t *testing.T, e *engine.Engine, id, run string) (history.Start, []inspect.TurnEvent, error) {
	r, err := e.Record(t.Context(), id, run)
	var events []inspect.TurnEvent
	for _, turn := range r.Turns {
		for _, ev := range turn.Events {
			events = append(events, inspect.TurnEvent{Turn: turn.Number, Time: time.Unix(0, turn.Time).UTC(), Event: ev})
		}
	}
	return r.Start, events, err
}

// signal sends a signal.
func signal(t *testing.T, e *engine.Engine, workflowID, name, id string, value any) {
	t.Helper()
	payload, err := history.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Signal(t.Context(), workflowID, name, id, payload); err != nil {
		t.Fatalf("signal %q: %v", workflowID, err)
	}
}

// settle waits until nothing happens any more until time passes.
func settle() { synctest.Wait() }

// inLine lets so much time pass that runs begin which are in line, although no slot is free:
// their calls are queued then.
func inLine() { pass(200 * time.Millisecond) }

// pass lets virtual time pass, and then what follows from that happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// busy is a body that takes its time unless it is told to end.
func busy(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record is a slog.Handler that keeps what it is told.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) Enabled(context.Context, slog.Level) bool { return true }
func (r *record) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *record) WithGroup(string) slog.Handler            { return r }

func (r *record) Handle(ctx context.Context, rec slog.Record) error {
	var b bytes.Buffer
	if err := slog.NewTextHandler(&b, nil).Handle(ctx, rec); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, b.String())
	return nil
}

// count says how many lines contain a text.
func (r *record) count(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.lines {
		if bytes.Contains([]byte(line), []byte(text)) {
			n++
		}
	}
	return n
}

// kill ends an engine as kill -9 ends a process: nothing reaches the database
// any more, and the operating system gives back what the process held.
func (w *world) kill(e *engine.Engine) {
	w.t.Helper()
	plan := w.plans[e]
	plan.Crash()
	e.Kill()
	settle()
	if err := plan.Reap(); err != nil {
		w.t.Fatal(err)
	}
}
