package tracing_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
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

// TestF51_CostsTheDecision: of a run that is not sampled, a turn that closes something takes no
// memory, and an attempt what its interceptor and the context of its body take.
func TestF51_CostsTheDecision(t *testing.T) {
	m := newMaker(t, sdk.ParentBased(sdk.NeverSample()))
	start := &history.Start{WorkflowID: "order-7", Run: "r", Type: "pay", Created: 1, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	turn := &core.Turn{Number: 2, Ended: true, State: &core.State{Status: core.StatusFailed, Detail: []byte("{")},
		Attempts: []core.Record{{Call: 1, Attempt: 1, Name: "charge", Outcome: core.Lost, Started: 1, Ended: 2}},
		Closings: []core.Closing{{Call: 1, Name: "charge", Status: core.ClosedFailed, Attempts: 1, Scheduled: 1, Ended: 2}}}
	if n := testing.AllocsPerRun(100, func() { m.settings.Observers[0].Turn(start, turn) }); n > 0 {
		t.Errorf("a turn allocates %v times", n)
	}
	headers := history.WithTrace(start.Headers, start.Trace)
	op := intercept.Op{Kind: intercept.Attempt, Name: "charge", WorkflowID: "order-7", RunID: "r", Workflow: "pay", Call: 1, Attempt: 2, Headers: headers}
	if n := testing.AllocsPerRun(100, func() {
		if err := m.chain.Do(t.Context(), &op, nothing); err != nil {
			t.Error(err)
		}
	}); n > 4 { // the operation, its next, the context with the span above, that span
		t.Errorf("an attempt allocates %v times", n)
	}
}
