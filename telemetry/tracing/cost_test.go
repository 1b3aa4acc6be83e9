package tracing_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/telemetry/tracing"
)

// nowhere is an exporter that drops all spans.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                        { return nil }

// maker makes the spans of a workflow of five activities that do nothing: its start, its run,
// five calls and five attempts.
type maker struct {
	chain    *around.Chain
	settings settings.Engine
	tracer   trace.Tracer
}

const steps = 5

func newMaker(tb testing.TB, sampler sdk.Sampler) *maker {
	tb.Helper()
	p := sdk.NewTracerProvider(sdk.WithIDGenerator(tracing.IDs{}), sdk.WithSampler(sampler), sdk.WithBatcher(nowhere{}))
	tb.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	m := &maker{tracer: p.Tracer("sdk")}
	if err := seal.Apply(&m.settings, []perdure.Option{tracing.Engine(p)}); err != nil {
		tb.Fatal(err)
	}
	chain, err := around.New(m.settings.Interceptors, m.settings.Watchers)
	if err != nil || len(m.settings.Faults) > 0 {
		tb.Fatal(err, m.settings.Faults)
	}
	m.chain = chain
	return m
}

// perdure makes the spans as an engine does.
func (m *maker) perdure(ctx context.Context, run string, traced bool) error {
	start := &history.Start{WorkflowID: "order-7", Run: run, Type: "pay", Created: 1}
	if traced {
		op := intercept.Op{Kind: intercept.Start, Name: "pay", WorkflowID: start.WorkflowID, Workflow: "pay"}
		if _, err := around.Watched(ctx, m.chain.Watcher(intercept.Start), op, func(_ context.Context, p around.Parent) (struct{}, error) {
			start.Trace = p.Trace
			return struct{}{}, nil
		}); err != nil {
			return err
		}
	}
	turn, a := &core.Turn{Number: 1}, around.Attempts{}
	for _, o := range m.settings.Observers { // before the first attempt
		o.Turn(start, turn)
	}
	turn.Number = 2
	for i := range int64(steps) {
		if a = m.around(start, a); a.Any() {
			if err := m.attempt(ctx, start, &a, i+1); err != nil {
				return err
			}
		}
		turn.Closings = turn.Closings[:0]
		if m.settings.Closings(start) {
			turn.Closings = append(turn.Closings, core.Closing{Call: i + 1, Name: "charge", Status: core.ClosedCompleted, Attempts: 1, Scheduled: 1, Ended: 2})
		}
		if i == steps-1 {
			turn.Ended, turn.State = true, &core.State{Status: core.StatusCompleted, Closed: 2}
		}
		for _, o := range m.settings.Observers {
			o.Turn(start, turn)
		}
	}
	return nil
}

// around is what stands around the attempts of a run, which is asked once.
func (m *maker) around(start *history.Start, a around.Attempts) around.Attempts {
	if a.Asked {
		return a
	}
	return m.chain.OfRun(start)
}

// attempt is an attempt with spans.
func (m *maker) attempt(ctx context.Context, start *history.Start, a *around.Attempts, call int64) error {
	op := intercept.Op{Kind: intercept.Attempt, Name: "charge", WorkflowID: start.WorkflowID, RunID: start.Run, Workflow: start.Type, Call: call, Attempt: 1,
		Headers: history.WithTrace(start.Headers, start.Trace)}
	o := around.Operation{Op: &op, Inner: nowhere{}}
	o.Around(a)
	return o.Do(ctx)
}

// Next implements around.Inner.
func (nowhere) Next(context.Context) error { return nil }

// sdk makes as many spans with the same attributes with the SDK alone, one inside another.
func (m *maker) sdk(ctx context.Context, run string) {
	of := func(more ...attribute.KeyValue) trace.SpanStartOption {
		return trace.WithAttributes(append([]attribute.KeyValue{attribute.String(tracing.WorkflowID, "order-7"), attribute.String(tracing.RunID, run), attribute.String(tracing.Workflow, "pay")}, more...)...)
	}
	ctx, start := m.tracer.Start(ctx, "perdure.start pay", trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.String(tracing.WorkflowID, "order-7"), attribute.String(tracing.Workflow, "pay")))
	start.End()
	ctx, r := m.tracer.Start(ctx, "perdure.run pay", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(time.Unix(0, 1)), of(attribute.String(tracing.Status, "completed")))
	for i := range steps {
		below, call := m.tracer.Start(ctx, "perdure.call charge", trace.WithTimestamp(time.Unix(0, 1)),
			of(attribute.Int(tracing.Call, i+1), attribute.String(tracing.Status, "completed"), attribute.Int(tracing.Attempts, 1)))
		_, attempt := m.tracer.Start(below, "perdure.attempt charge", trace.WithSpanKind(trace.SpanKindConsumer),
			of(attribute.Int(tracing.Call, i+1), attribute.Int(tracing.Attempt, 1)))
		attempt.End()
		call.End(trace.WithTimestamp(time.Unix(0, 2)))
	}
	r.End(trace.WithTimestamp(time.Unix(0, 2)))
}

// BenchmarkSpans is what the spans of a workflow of five steps cost, twelve of them, and beside
// it what as many cost that the SDK makes alone.
func BenchmarkSpans(b *testing.B) {
	for _, ratio := range []float64{1, 0.1, 0.01, 0} {
		m := newMaker(b, sdk.ParentBased(sdk.TraceIDRatioBased(ratio)))
		for name, one := range map[string]func(run string) error{
			"SDK":                     func(run string) error { m.sdk(b.Context(), run); return nil },
			"perdure":                 func(run string) error { return m.perdure(b.Context(), run, true) },
			"perdure, untraced start": func(run string) error { return m.perdure(b.Context(), run, false) },
		} {
			b.Run(fmt.Sprintf("%v/%s", ratio, name), func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					if err := one("run-" + string(rune('a'+i%26)) + fmt.Sprint(i)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
