package tracing_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry/tracing"
	"github.com/perdure/perdure/workflow"
)

// asked is a sampler that says no to the first question about a trace, and yes after that. It
// counts what it was asked.
type asked struct {
	mu    sync.Mutex
	about map[trace.TraceID]int
	names []string
}

func (a *asked) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.about[p.TraceID]++
	a.names = append(a.names, p.Name)
	if a.about[p.TraceID] > 1 {
		return sdk.SamplingResult{Decision: sdk.RecordAndSample}
	}
	return sdk.SamplingResult{Decision: sdk.Drop}
}

func (*asked) Description() string { return "asked" }

// flowOfInner is flowOfAll with an activity that makes spans of its own.
func flowOfInner(c collector) perdure.Option {
	inner := activity.New("inner", func(ctx context.Context, n int) (int, error) {
		_, span := c.Tracer("user").Start(ctx, "user's")
		span.End()
		time.Sleep(time.Second)
		return n, ctx.Err()
	})
	sub := workflow.New("sub", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, inner, n) })
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) {
		if _, err := workflow.Call(wf, inner, n); err != nil {
			return 0, err
		}
		if err := workflow.Sleep(wf, time.Minute); err != nil {
			return 0, err
		}
		if n == 0 {
			return workflow.ContinueAsNew(wf, workflow.Declare[int, int]("flow"), 1)
		}
		return workflow.RunChild(wf, sub, n)
	})
	return perdure.Register(inner, sub, flow)
}

// TestF51_DecidedOnceForARun: of a run that is not sampled, nothing is: not its attempts, what
// their bodies make, its child, the run that continues it, and what another process does of
// it. The sampler of a run with a trace parent is not asked again, that of one without once.
func TestF51_DecidedOnceForARun(t *testing.T) {
	for _, parent := range []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", ""} {
		synctest.Test(t, func(t *testing.T) {
			a := &asked{about: map[trace.TraceID]int{}}
			var sampler sdk.Sampler = a
			if parent != "" {
				sampler = sdk.ParentBased(sdk.AlwaysSample())
			}
			c, db, plan := newCollector(sdk.WithSampler(sampler)), memory.New(), faulty.NewPlan()
			e := open(t, faulty.Wrap(db, plan), flowOfInner(c), tracing.Engine(c))
			client := asks(t, db)
			var options []perdure.StartOption
			if parent != "" {
				options = append(options, perdure.TraceParent(parent))
			}
			if _, err := perdure.Start(t.Context(), client, workflow.Declare[int, int]("flow"), "f", 0, options...); err != nil {
				t.Fatal(err)
			}
			time.Sleep(61*time.Second + 500*time.Millisecond) // in the attempt of the second run
			if parent != "" {                                 // else the other process asks for itself
				plan.Crash()
				if err := plan.Reap(); err != nil {
					t.Fatal(err)
				}
				_ = e.Close()
				e = open(t, db, flowOfInner(c), tracing.Engine(c))
			}
			defer e.Close()
			if _, err := perdure.Attach[int](client, "f").Result(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := c.GetSpans(); parent != "" && len(got) > 0 {
				t.Errorf("spans of a run that is not sampled:\n\t%s", strings.Join(tree(t, got), "\n\t"))
			}
			for _, s := range c.GetSpans() {
				if strings.HasPrefix(s.Name, "perdure.") {
					t.Errorf("%s is sampled", s.Name)
				}
			}
			for _, name := range a.names {
				if name != "perdure.run flow" && name != "user's" && name != "perdure.probe" {
					t.Errorf("the sampler is asked about %s", name)
				}
			}
			if n := strings.Count(strings.Join(a.names, ","), "perdure.run"); parent == "" && n != 2 {
				t.Errorf("of two runs that begin a trace the sampler is asked %d times: %v", n, a.names)
			}
		})
	}
}

// TestF51_InAnotherProcess: of runs that one process begins and another one ends, all spans are
// exported or none, whether their start was traced or they begin a trace.
func TestF51_InAnotherProcess(t *testing.T) {
	for _, traced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			sampler := sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(0.5)))
			c, db := newCollector(sampler), memory.New()
			e, want := open(t, db, flowOfAll(), tracing.Engine(c)), 4 // the run, its call, two attempts
			client := asks(t, db)
			if traced {
				client, want = e, 5
			}
			for i := range 40 {
				if _, err := perdure.Start(t.Context(), client, workflow.Declare[int, int]("child"), fmt.Sprint("c", i), 1); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(30 * time.Second) // in the backoff
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e = open(t, db, flowOfAll(), tracing.Engine(c))
			defer e.Close()
			time.Sleep(time.Hour)
			byTrace := map[trace.TraceID]int{}
			for _, s := range c.GetSpans() {
				byTrace[s.SpanContext.TraceID()]++
			}
			if len(byTrace) < 5 || len(byTrace) > 35 {
				t.Errorf("%d of 40 runs were sampled", len(byTrace))
			}
			for id, n := range byTrace {
				if n != want {
					t.Errorf("of trace %s there are %d spans, want %d", id, n, want)
				}
			}
		})
	}
}

// TestF51_CostsTheDecision: of a run that is not sampled, its start takes the span that says so,
// its context and the trace parent, what its bodies find in their context is made once, and
// attempts and turns take no memory.
func TestF51_CostsTheDecision(t *testing.T) {
	m := newMaker(t, sdk.ParentBased(sdk.NeverSample()))
	start := &history.Start{WorkflowID: "order-7", Run: "r", Type: "pay", Created: 1, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	turn := &core.Turn{Number: 2, Ended: true, State: &core.State{Status: core.StatusFailed, Detail: []byte("{")},
		Attempts: []core.Record{{Call: 1, Attempt: 1, Name: "charge", Outcome: core.Lost, Started: 1, Ended: 2}},
		Closings: []core.Closing{{Call: 1, Name: "charge", Status: core.ClosedFailed, Attempts: 1, Scheduled: 1, Ended: 2}}}
	for _, c := range []struct {
		what string
		most float64
		do   func()
	}{
		{"a start", 3, func() {
			op := intercept.Op{Kind: intercept.Start, Name: "pay", WorkflowID: "order-7", Workflow: "pay"}
			if _, err := around.Watched(t.Context(), m.chain.Watcher(intercept.Start), op, func(_ context.Context, p around.Parent) (string, error) {
				return p.Trace, nil
			}); err != nil {
				t.Error(err)
			}
		}},
		{"a turn", 0, func() { m.settings.Observers[0].Turn(start, turn) }},
		{"a run", 2, func() {
			if a := m.chain.OfRun(start); a.Any() || a.Values == nil {
				t.Error("something stands around its attempts, or their bodies are told nothing")
			}
			if m.settings.Closings(start) {
				t.Error("the calls that it closes are told")
			}
		}},
	} {
		if n := testing.AllocsPerRun(100, c.do); n > c.most {
			t.Errorf("%s allocates %v times, want at most %v", c.what, n, c.most)
		}
	}
}

// TestF51_BodiesHandOnTheDecision: what the bodies of a run that is not sampled call over HTTP is
// told the trace of the run and that it is not sampled, whether the run has a trace parent or
// begins a trace, in the engine and in a worker, with an interceptor beside and without; and a
// provider that does not record hands on the trace parent as it is.
func TestF51_BodiesHandOnTheDecision(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"
	silent := func() trace.TracerProvider { return newCollector(sdk.WithSampler(sdk.ParentBased(sdk.NeverSample()))) }
	beside := perdure.Intercept(intercept.New("beside", func(ctx context.Context, _ *intercept.Op, next intercept.Next) error { return next(ctx) }))
	for name, c := range map[string]struct {
		provider trace.TracerProvider
		parent   string
		more     []perdure.Option
		flag     string // that ends what is handed on
	}{
		"trace parent":                  {silent(), parent + "0", nil, "-00"},
		"with an interceptor":           {silent(), parent + "0", []perdure.Option{beside}, "-00"},
		"begins a trace":                {silent(), "", nil, "-00"},
		"begins one, with interceptor":  {silent(), "", []perdure.Option{beside}, "-00"},
		"provider that does not record": {noop.NewTracerProvider(), parent + "1", nil, "-01"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tells := func(ctx context.Context, _ int) (string, error) {
					header := propagation.MapCarrier{}
					propagation.TraceContext{}.Inject(ctx, header)
					return header["traceparent"], nil
				}
				here, offered := activity.New("here", tells), activity.Declare[int, string]("offered", activity.Queue("q"))
				flow := workflow.New("flow", func(wf *workflow.Context, n int) (all []string, _ error) {
					for _, a := range []activity.Activity[int, string]{here, offered, here} {
						header, err := workflow.Call(wf, a, n)
						if err != nil {
							return nil, err
						}
						all = append(all, header)
					}
					return all, nil
				})
				db, with := memory.New(), append(c.more, tracing.Engine(c.provider))
				e := open(t, db, append(with, perdure.Register(here, flow))...)
				defer e.Close()
				worker, err := perdure.Open(t.Context(), db, append(with, perdure.NodeName("worker"), perdure.ServeQueue("q", 1), perdure.Register(offered.Impl(tells)))...)
				if err == nil {
					err = worker.Start(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				defer worker.Close()
				var options []perdure.StartOption
				if c.parent != "" {
					options = append(options, perdure.TraceParent(c.parent))
				}
				h, err := perdure.Start(t.Context(), asks(t, db), workflow.Declare[int, []string]("flow"), "f", 1, options...)
				if err != nil {
					t.Fatal(err)
				}
				told, err := h.Result(t.Context())
				if err != nil || len(told) != 3 {
					t.Fatal(told, err)
				}
				want := c.parent
				if want == "" { // its own span
					want = told[0]
				}
				for _, header := range told {
					if header != want || !strings.HasSuffix(header, c.flag) {
						t.Errorf("the bodies hand on %q, want %q with flag %s", told, want, c.flag)
					}
				}
			})
		})
	}
}
