package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/pgbubble"
	"github.com/perdure/perdure/internal/sqlitetest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/telemetry/tracing"
	"github.com/perdure/perdure/workflow"
)

// collector is what a collector of spans has got, of one process or of several.
type collector struct {
	*tracetest.InMemoryExporter
	*sdk.TracerProvider
}

func newCollector(options ...sdk.TracerProviderOption) collector {
	exporter := tracetest.NewInMemoryExporter()
	return collector{exporter, sdk.NewTracerProvider(append(options, sdk.WithSyncer(exporter), sdk.WithIDGenerator(tracing.IDs{}))...)}
}

func open(t *testing.T, db store.Opener, options ...perdure.Option) *perdure.Engine {
	t.Helper()
	e, err := perdure.Open(t.Context(), db, append(options, perdure.NodeName("n"))...)
	if err == nil {
		err = e.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// asks returns an engine that serves nothing and traces nothing.
func asks(t *testing.T, db store.Opener) *perdure.Engine {
	t.Helper()
	e, err := perdure.Open(t.Context(), db, flowOfAll())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func of(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// tree is the spans in words, sorted: each with the one above it, and its links.
func tree(t *testing.T, spans tracetest.SpanStubs) (lines []string) {
	t.Helper()
	names, traces := map[trace.SpanID]string{}, map[trace.SpanID]trace.TraceID{}
	label := func(s tracetest.SpanStub) string {
		name := strings.TrimPrefix(s.Name, "perdure.")
		if n := of(s, tracing.Attempt); n != "" {
			name += " " + n
		}
		return name
	}
	for _, s := range spans {
		id := s.SpanContext.SpanID()
		if other, is := names[id]; is {
			t.Errorf("%s and %s have the same ID", other, label(s))
		}
		names[id], traces[id] = label(s), s.SpanContext.TraceID()
	}
	for _, s := range spans {
		line := label(s) + " < " + names[s.Parent.SpanID()]
		if s.Parent.IsValid() && names[s.Parent.SpanID()] == "" {
			line += "?"
		}
		if s.Parent.IsValid() && s.Parent.TraceID() != s.SpanContext.TraceID() {
			t.Errorf("%s is in another trace than the span above it", label(s))
		}
		if took := s.EndTime.Sub(s.StartTime); took > 0 {
			line += ", " + took.String()
		}
		for _, key := range []string{tracing.Status, tracing.Attempts, tracing.Lost, tracing.ErrorType} {
			if v := of(s, key); v != "" {
				line += ", " + v
			}
		}
		for _, l := range s.Links {
			at := names[l.SpanContext.SpanID()]
			if at == "" {
				at = "?"
			}
			if in, is := traces[l.SpanContext.SpanID()]; is && in != l.SpanContext.TraceID() {
				t.Errorf("the link of %s to %s names another trace", label(s), at)
			}
			line += ", after " + at
		}
		lines = append(lines, line)
		if strings.Contains(fmt.Sprint(s.Attributes, s.Status, s.Events), "secret") {
			t.Errorf("%s tells the text of an error: %v", s.Name, s.Attributes)
		}
	}
	slices.Sort(lines)
	return lines
}

func expectTree(t *testing.T, spans tracetest.SpanStubs, want ...string) {
	t.Helper()
	if got := tree(t, spans); !slices.Equal(got, want) {
		t.Errorf("the spans are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

var steady = retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}

// work is an activity of which attempts take a second; the first of each call fails, and so
// does that of an even number.
var work = activity.New("work", func(ctx context.Context, n int) (int, error) {
	time.Sleep(time.Second)
	switch info, _ := activity.FromContext(ctx); {
	case n%2 == 0:
		panic("secret")
	case info.Attempt == 1:
		return 0, errors.New("secret")
	}
	return n, ctx.Err()
}, activity.Retry(steady))

var child = workflow.New("child", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, work, n) })

// TestE63_OneTrace: a run, its calls and attempts, its child and what comes after a restart
// are spans of the trace of the caller, with their true times; what a body calls is below
// its attempt, and backoff is in no attempt.
func TestE63_OneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := newCollector(), memory.New()
		parent := workflow.New("parent", func(wf *workflow.Context, n int) (int, error) {
			if _, err := workflow.Call(wf, work, n); err != nil {
				return 0, err
			}
			if _, err := workflow.Do(wf, "step", func(ctx context.Context) (int, error) {
				_, inner := c.Tracer("user").Start(ctx, "inner")
				inner.End()
				return 0, nil
			}); err != nil {
				return 0, err
			}
			return workflow.RunChild(wf, child, 2)
		})
		code := perdure.Register(work, child, parent)
		e := open(t, db, code, tracing.Engine(c))
		ctx, caller := c.Tracer("test").Start(t.Context(), "request")
		if _, err := perdure.Start(ctx, e, parent, "p", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if err := e.Close(); err != nil { // in the backoff
			t.Fatal(err)
		}
		e = open(t, db, code, tracing.Engine(c))
		defer e.Close()
		_, err := perdure.Attach[int](e, "p").Result(t.Context())
		if panicked := (*retry.PanicError)(nil); !errors.As(err, &panicked) {
			t.Errorf("the error is %v", err)
		}
		caller.End()
		synctest.Wait()
		spans := c.GetSpans()
		for _, s := range spans {
			if strings.HasPrefix(s.Name, "perdure.result") {
				continue // of a caller without a span
			}
			if s.SpanContext.TraceID() != caller.SpanContext().TraceID() {
				t.Errorf("%s is in another trace", s.Name)
			}
		}
		expectTree(t, spans,
			"attempt step 1 < call step",
			"attempt work 1 < call work, 1s, Error",
			"attempt work 1 < call work, 1s, Panic",
			"attempt work 2 < call work, 1s, Panic, after attempt work 1",
			"attempt work 2 < call work, 1s, after attempt work 1",
			"call step < run parent, completed, 1",
			"call work < run child, 1m2s, failed, 2, Exhausted",
			"call work < run parent, 1m2s, completed, 2",
			"inner < attempt step 1",
			"request < , 2m4s",
			"result < , 1m34s, perdure.RunError",
			"run child < run parent, 1m2s, failed, Exhausted",
			"run parent < start parent, 2m4s, failed, workflow.ChildError",
			"start parent < request",
		)
	})
}

// TestE129_AnotherProcessEndsIt: an attempt that died with its process has a span, made by
// the process that took its run over; what that one does is below spans of the same IDs.
func TestE129_AnotherProcessEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db, plan := newCollector(), memory.New(), faulty.NewPlan()
		slow := activity.New("slow", func(ctx context.Context, _ int) (int, error) {
			time.Sleep(time.Minute)
			return 0, nil
		})
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, slow, n) })
		dead := newCollector() // what the dead process had not exported yet is lost with it
		e := open(t, faulty.Wrap(db, plan), perdure.Register(slow, flow), tracing.Engine(dead))
		ctx, caller := c.Tracer("test").Start(t.Context(), "request")
		if _, err := perdure.Start(ctx, e, flow, "f", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		plan.Crash()
		if err := plan.Reap(); err != nil {
			t.Fatal(err)
		}
		dead.Reset()
		_ = e.Close()
		e = open(t, db, perdure.Register(slow, flow), tracing.Engine(c))
		defer e.Close()
		if _, err := perdure.Attach[int](e, "f").Result(trace.ContextWithSpan(t.Context(), caller)); err != nil {
			t.Fatal(err)
		}
		caller.End()
		synctest.Wait()
		expectTree(t, c.GetSpans(),
			"attempt slow 1 < call slow, 2s, worker_lost, lost",
			"attempt slow 2 < call slow, 1m0s, after attempt slow 1",
			"call slow < run flow, 1m2s, completed, 2",
			"request < , 1m2s",
			"result < request, 1m0s",
			"run flow < ?, 1m2s, completed", // the start was exported by the dead process
		)
	})
}

// flowOfAll calls an activity that fails at first, continues as new once, and has a child.
func flowOfAll() perdure.Option {
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
		if _, err := workflow.Call(wf, work, 1); err != nil {
			return 0, err
		}
		if n == 0 {
			return workflow.ContinueAsNew(wf, workflow.Declare[int, int]("flow"), 1)
		}
		return workflow.RunChild(wf, child, 1)
	})
	return perdure.Register(work, child, flow)
}

// empties are the databases whose every write a process is killed at; each call of what they
// return makes an empty one.
var empties = map[string]func(t *testing.T) func() store.Opener{
	"memory": func(*testing.T) func() store.Opener {
		return func() store.Opener { return memory.New(memory.Clock(bubbleClock)) }
	},
	"sqlite": func(t *testing.T) func() store.Opener {
		dir, n := t.TempDir(), 0
		return func() store.Opener {
			n++
			path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
			sqlitetest.File(t, path)
			return sqlite.File(path, sqlite.Durability(sqlite.Normal), sqlite.Clock(bubbleClock))
		}
	},
	"postgres": func(t *testing.T) func() store.Opener {
		schema := pgbubble.Borrow(t, 1)
		return func() store.Opener { return schema.Empty(bubbleClock) }
	},
}

func bubbleClock() int64 { return time.Now().UnixNano() }

// TestE129_KilledAtEachWrite: a process is killed before and after each of its writes, and
// another one continues. No span has two IDs, and no ID two spans; each is below the one that
// it belongs to, but for an attempt whose end was told and not durable. Missing are at most
// those that the last turn of each run closed before the process could tell. On a real
// database it is killed in one of the two ways at each write, by turns.
func TestE129_KilledAtEachWrite(t *testing.T) {
	for name, prepare := range empties {
		t.Run(name, func(t *testing.T) {
			if name != "memory" {
				extent.OnlyAtNight(t, "the writes are those that are made in memory")
			}
			killedAtEachWrite(t, prepare(t), name == "memory")
		})
	}
}

func killedAtEachWrite(t *testing.T, empty func() store.Opener, both bool) {
	whole, writes := killed(t, empty, 0, faulty.CrashBefore)
	want := []string{
		"attempt work 1 < call work, 1s, Error",
		"attempt work 1 < call work, 1s, Error",
		"attempt work 1 < call work, 1s, Error",
		"attempt work 2 < call work, 1s, after attempt work 1",
		"attempt work 2 < call work, 1s, after attempt work 1",
		"attempt work 2 < call work, 1s, after attempt work 1",
		"call work < run child, 1m2s, completed, 2",
		"call work < run flow, 1m2s, completed, 2",
		"call work < run flow, 1m2s, completed, 2",
		"run child < run flow, 1m2s, completed",
		"run flow < , 1m2s, continued",
		"run flow < , 2m4s, completed, after run flow",
	}
	if !slices.Equal(whole, want) {
		t.Fatalf("without a fault the spans are\n\t%s", strings.Join(whole, "\n\t"))
	}
	for k := 1; k <= writes; k++ {
		for way, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter} {
			if !both && way != k%2 {
				continue
			}
			got, _ := killed(t, empty, k, fault)
			count := func(lines []string) (runs, calls int) {
				for _, l := range lines {
					if strings.HasPrefix(l, "run ") {
						runs++
					} else if strings.HasPrefix(l, "call ") {
						calls++
					}
				}
				return runs, calls
			}
			runs, calls := count(got)
			wantRuns, wantCalls := count(whole)
			lost := wantRuns - runs + wantCalls - calls
			if nowhere := slices.IndexFunc(got, func(l string) bool { return strings.Contains(l, "?") }); nowhere >= 0 && lost == 0 {
				t.Errorf("%v at write %d: a span of nowhere:\n\t%s", fault, k, strings.Join(got, "\n\t"))
			}
			// Each of the two runs at work, the parent and the child, has at most one turn that
			// is durable and untold when the process dies, and it closes a call and the run.
			if runs > wantRuns || calls > wantCalls || lost > 4 {
				t.Errorf("%v at write %d: %d runs and %d calls, want %d and %d:\n\t%s", fault, k, runs, calls, wantRuns, wantCalls, strings.Join(got, "\n\t"))
			}
		}
	}
}

// killed returns the spans of a workflow whose process is killed at a write, 0 for never, and
// how many writes it needed.
func killed(t *testing.T, empty func() store.Opener, at int, fault faulty.Fault) (lines []string, writes int) {
	synctest.Test(t, func(t *testing.T) {
		c, db, plan := newCollector(), empty(), faulty.NewPlan()
		if closer, is := db.(io.Closer); is {
			t.Cleanup(func() { _ = closer.Close() }) // after the client
		}
		if at > 0 {
			plan.At(at, fault)
		}
		client := asks(t, db) // its start is not traced: the run begins a trace
		flow := workflow.Declare[int, int]("flow")
		if _, err := perdure.Start(t.Context(), client, flow, "f", 0); err != nil {
			t.Fatal(err)
		}
		e, err := perdure.Open(t.Context(), faulty.Wrap(db, plan), flowOfAll(), tracing.Engine(c))
		if err == nil {
			_ = e.Start(t.Context()) // whether the process dies in it is looked at below
		}
		done := make(chan error, 1)
		go func() { _, err := perdure.Attach[int](client, "f").Result(t.Context()); done <- err }()
		select {
		case <-plan.Crashed():
			told := c.GetSpans() // a dead process tells nothing more
			c = newCollector()
			defer func() { lines = tree(t, merged(told, c.GetSpans())) }()
			if err := plan.Reap(); err != nil {
				t.Error(err)
			}
			if e != nil {
				_ = e.Close()
			}
			e = open(t, db, flowOfAll(), tracing.Engine(c))
			err = <-done
		case err = <-done:
		}
		if err != nil {
			t.Error(err)
		}
		synctest.Wait()
		_ = e.Close()
		writes = plan.Writes()
		lines = tree(t, c.GetSpans())
	})
	return lines, writes
}

// merged is what two processes have told. An attempt whose end was told, and was not durable
// when its process died, is lost: its span comes twice, and the later one is on record.
func merged(dead, living tracetest.SpanStubs) tracetest.SpanStubs {
	return append(living, slices.DeleteFunc(dead, func(d tracetest.SpanStub) bool {
		return slices.ContainsFunc(living, func(l tracetest.SpanStub) bool {
			return l.SpanContext.SpanID() == d.SpanContext.SpanID() && of(l, tracing.Lost) != "" && of(d, tracing.Lost) == ""
		})
	})...)
}

// TestE129_OneDecision: of a run that begins a trace all spans are exported or none, as the
// sampler of the provider decides by the trace.
func TestE129_OneDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := newCollector(sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(0.5)))), memory.New()
		client := asks(t, db)
		e := open(t, db, flowOfAll(), tracing.Engine(c))
		defer e.Close()
		for i := range 40 {
			if _, err := perdure.Start(t.Context(), client, workflow.Declare[int, int]("child"), fmt.Sprint("c", i), 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		byTrace := map[trace.TraceID]int{}
		for _, s := range c.GetSpans() {
			byTrace[s.SpanContext.TraceID()]++
		}
		if len(byTrace) < 5 || len(byTrace) > 35 {
			t.Errorf("%d of 40 runs were sampled", len(byTrace))
		}
		for id, n := range byTrace {
			if n != 4 { // the run, its call, two attempts
				t.Errorf("of trace %s there are %d spans", id, n)
			}
		}
	})
}

// TestE129_Providers: one that gives other IDs is refused, with what to do, and one that
// does not record is taken, and changes no trace parent.
func TestE129_Providers(t *testing.T) {
	for name, p := range map[string]trace.TracerProvider{"IDGenerator(tracing.IDs{})": sdk.NewTracerProvider(), "is nil": nil} {
		if e, err := perdure.Open(t.Context(), memory.New(), tracing.Engine(p)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
			_ = e.Close()
		}
	}
	const above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var seen []string
	look := activity.New("look", func(ctx context.Context, _ int) (int, error) {
		c := trace.SpanContextFromContext(ctx)
		seen = append(seen, c.TraceID().String()+"-"+c.SpanID().String())
		return 0, nil
	})
	sub := workflow.New("sub", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, look, n) })
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
		if _, err := workflow.Call(wf, look, n); err != nil {
			return 0, err
		}
		return workflow.RunChild(wf, sub, n)
	})
	e := open(t, memory.New(), perdure.Register(look, sub, flow), tracing.Engine(noop.NewTracerProvider()))
	defer e.Close()
	if _, err := perdure.Run(t.Context(), e, flow, "f", 0, perdure.TraceParent(above)); err != nil {
		t.Fatal(err)
	}
	if want := above[3:52]; !slices.Equal(seen, []string{want, want}) {
		t.Errorf("bodies are below %v, want %s", seen, want)
	}
}

// broken is an exporter that panics at the spans of runs and calls.
type broken struct{ sdk.SpanExporter }

func (b broken) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	for _, s := range spans {
		if strings.HasPrefix(s.Name(), "perdure.run") || strings.HasPrefix(s.Name(), "perdure.call") {
			panic("the exporter is broken")
		}
	}
	return b.SpanExporter.ExportSpans(ctx, spans)
}

// TestE129_AnExporterThatPanics: the log says so, and runs end as without it.
func TestE129_AnExporterThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := sdk.NewTracerProvider(sdk.WithSyncer(broken{tracetest.NewInMemoryExporter()}), sdk.WithIDGenerator(tracing.IDs{}))
		db := memory.New()
		e := open(t, db, flowOfAll(), tracing.Engine(p), perdure.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		if _, err := perdure.Run(t.Context(), asks(t, db), workflow.Declare[int, int]("flow"), "f", 0); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), "observer_panicked") || !strings.Contains(log.String(), "the exporter is broken") {
			t.Errorf("the log:\n%s", log.String())
		}
	})
}

// TestE129_TheTableOfSpans: spans are of the kinds in the table and have no attribute that
// it does not give them, and each attribute of it is one that some span has.
func TestE129_TheTableOfSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db, plan := newCollector(), memory.New(), faulty.NewPlan()
		slow := activity.New("slow", func(ctx context.Context, _ int) (int, error) { time.Sleep(time.Minute); return 0, ctx.Err() })
		outside := activity.New("outside", func(context.Context, int) (int, error) { return 0, activity.ErrPending }, activity.Retry(retry.Policy{AttemptTimeout: time.Hour, MaxAttempts: 1}))
		loses := workflow.New("loses", func(wf *workflow.Context, n int) (int, error) {
			_, _ = workflow.Call(wf, outside, 0)
			return workflow.Call(wf, slow, n)
		})
		code := perdure.Register(slow, outside, loses, work, child)
		e := open(t, faulty.Wrap(db, plan), code, tracing.Engine(c))
		if _, err := perdure.Run(t.Context(), e, child, "fails", 2); err == nil {
			t.Error("it did not fail")
		}
		if _, err := perdure.Start(t.Context(), e, loses, "l", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Second)
		plan.Crash()
		if err := plan.Reap(); err != nil {
			t.Fatal(err)
		}
		_ = e.Close()
		e = open(t, db, code, tracing.Engine(c))
		defer e.Close()
		if _, err := perdure.Attach[int](e, "l").Result(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		unseen := map[string]bool{}
		for _, row := range tracing.Catalog() {
			for _, key := range row.Attributes {
				if row.Kind != "client" && row.Kind != "producer" {
					unseen[row.Name+" "+key] = true
				}
			}
		}
		for _, s := range c.GetSpans() {
			first, _, _ := strings.Cut(s.Name, " ")
			at := slices.IndexFunc(tracing.Catalog(), func(row tracing.Span) bool { return row.Name == first })
			if at < 0 {
				at = len(tracing.Catalog()) - 1 // a verb
			}
			row := tracing.Catalog()[at]
			if s.SpanKind.String() != row.Kind {
				t.Errorf("%s is of kind %s, in the table of %s", s.Name, s.SpanKind, row.Kind)
			}
			for _, a := range s.Attributes {
				if !slices.Contains(row.Attributes, string(a.Key)) {
					t.Errorf("%s has %s, in the table it has not", s.Name, a.Key)
				}
				delete(unseen, row.Name+" "+string(a.Key))
			}
		}
		for what := range unseen {
			t.Errorf("no span shows %s", what)
		}
	})
}
