package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/retry"
)

// Attributes of spans. Errors are told by their type only (error.type), as their texts
// may hold what does not belong into a trace.
const (
	WorkflowID = "perdure.workflow_id"
	RunID      = "perdure.run_id"
	Workflow   = "perdure.workflow" // name of the definition
	Call       = "perdure.call"     // number in its run
	Attempt    = "perdure.attempt"  // number in its call, from 1
	Attempts   = "perdure.attempts" // that a call had
	Status     = "perdure.status"   // how a run or a call ended
	Pending    = "perdure.pending"  // true: the attempt goes on outside of its body
	Lost       = "perdure.lost"     // why an attempt is lost: its process, or its lease, ended before it
	Link       = "perdure.link"     // what a link leads to: "previous attempt" or "previous run"
	ErrorType  = "error.type"       // see retry.TypeName
)

// errIDs is what a provider is refused with.
var errIDs = errors.New("tracing.Engine: the TracerProvider gives spans other IDs than those of their runs and calls; pass sdktrace.WithIDGenerator(tracing.IDs{}) to sdktrace.NewTracerProvider")

// Engine is the option of perdure.Open by which an engine makes spans with the tracers of p.
// Place it before perdure.Intercept to have the time of other interceptors in the spans.
//
// A provider that records has to have the IDGenerator [IDs]; else Open returns an error. One
// that does not record is taken, and nothing is made. So set the provider of package otel
// before Open.
func Engine(p trace.TracerProvider) perdure.Option {
	return bridge.Set(func(s *bridge.Settings) {
		if p == nil {
			s.Faults = append(s.Faults, errors.New("tracing.Engine: the TracerProvider is nil; use otel.GetTracerProvider() or one of an SDK"))
			return
		}
		t := tracer{p.Tracer("github.com/perdure/perdure")}
		if t.othersIDs() {
			s.Faults = append(s.Faults, errIDs)
			return
		}
		s.Interceptors = append(s.Interceptors, intercept.New("tracing", t.around,
			intercept.Start, intercept.Signal, intercept.Query, intercept.Update, intercept.Cancel, intercept.Terminate,
			intercept.Result, intercept.Operate, intercept.Complete, intercept.Schedule, intercept.Attempt, intercept.Child))
		s.Observers, s.Closings = append(s.Observers, t), true
	})
}

type tracer struct{ trace.Tracer }

// context is how trace contexts are written into headers.
var w3c propagation.TraceContext

func (t tracer) around(ctx context.Context, op *intercept.Op, next intercept.Next) (err error) {
	if op.Kind == intercept.Child {
		t.child(op)
		return next(ctx)
	}
	ctx, span := t.begin(ctx, op)
	returned := false
	defer func() {
		switch {
		case !returned:
			fail(span, retry.TypePanic)
		case errors.Is(err, activity.ErrPending):
			span.SetAttributes(attribute.Bool(Pending, true))
		case err != nil:
			fail(span, retry.TypeName(err))
		}
		span.End()
	}()
	if op.Kind == intercept.Start && op.Headers["traceparent"] == "" { // else the caller chose
		w3c.Inject(ctx, propagation.MapCarrier(op.Headers))
	}
	err = next(ctx)
	returned = true
	return err
}

// begin begins the span of an attempt, or of a client's verb.
func (t tracer) begin(ctx context.Context, op *intercept.Op) (context.Context, trace.Span) {
	name := "perdure." + op.Kind.String()
	if op.Name != "" {
		name += " " + op.Name
	}
	options := append(make([]trace.SpanStartOption, 0, 3), trace.WithAttributes(attributes(op)...))
	switch op.Kind {
	case intercept.Start:
		options = append(options, producer)
	case intercept.Attempt:
		above := parentOf(propagation.MapCarrier(op.Headers))
		in := t.traceOf(op.RunID, above)
		options = append(options, consumer)
		if op.Attempt > 1 {
			options = append(options, linked(in.WithSpanID(attemptSpan(op.RunID, op.Call, op.Attempt-1)), "previous attempt"))
		}
		id := attemptSpan(op.RunID, op.Call, op.Attempt)
		below, span := t.start(trace.ContextWithRemoteSpanContext(ctx, in.WithSpanID(callSpan(op.RunID, op.Call))), in.TraceID(), id, name, options...)
		if span.SpanContext().SpanID() != id { // nobody records: what the body calls is below the trace parent
			return trace.ContextWithRemoteSpanContext(ctx, above), span
		}
		return below, span
	default:
		options = append(options, client)
	}
	return t.Start(ctx, name, options...)
}

// child makes the span of its parent's run the trace parent of a child, unless the code
// chose another one than that which the child has from it.
func (t tracer) child(op *intercept.Op) {
	if op.Headers["traceparent"] != op.Parent.Headers["traceparent"] {
		return
	}
	above := t.traceOf(op.Parent.RunID, parentOf(propagation.MapCarrier(op.Parent.Headers))).WithSpanID(runSpan(op.Parent.RunID))
	if above.IsValid() && t.records() {
		w3c.Inject(trace.ContextWithSpanContext(context.Background(), above), propagation.MapCarrier(op.Headers))
	}
}

// traceOf is the trace of a run below a trace parent, without the ID of a span: that of the
// parent, if it is valid; else one that follows from the ID of the run, which is sampled as the
// provider samples a span that begins it. It is not valid if the provider does not record.
func (t tracer) traceOf(run string, above trace.SpanContext) trace.SpanContext {
	if above.IsValid() {
		return above
	}
	_, probe := t.start(context.Background(), traceOf(run), runSpan(run), "perdure.run") // never ended, so never exported
	return probe.SpanContext().WithRemote(true)
}

// parentOf is the trace parent in some headers; it is not valid if there is none.
func parentOf(headers propagation.TextMapCarrier) trace.SpanContext {
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), headers))
}

// The kinds of spans.
var (
	client   = trace.WithSpanKind(trace.SpanKindClient)
	consumer = trace.WithSpanKind(trace.SpanKindConsumer)
	producer = trace.WithSpanKind(trace.SpanKindProducer)
)

// start begins a span below that of ctx, with an ID of its own; without one above, in a
// trace with an ID of its own too.
func (t tracer) start(ctx context.Context, in trace.TraceID, id trace.SpanID, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	w := &wanting{Context: ctx, ids: ids{in, id}}
	made, span := t.Start(w, name, options...)
	w.given.Store(true)
	return made, span
}

// othersIDs reports whether spans of the tracer have IDs, and others than they should.
func (t tracer) othersIDs() bool {
	got, above, want := t.probe()
	return got.IsValid() && got != above && got != want
}

// records reports whether spans of the tracer have the IDs that they should.
func (t tracer) records() bool {
	got, _, want := t.probe()
	return got == want
}

// probe returns the ID of a span, that of the one above it, and the one that was wanted. The
// span is not sampled and never ended, so it is never exported. A tracer that does not record
// hands on the one above, or none.
func (t tracer) probe() (got, aboveIt, wanted trace.SpanID) {
	want := ids{traceOf(""), runSpan("")}
	above := trace.NewSpanContext(trace.SpanContextConfig{TraceID: want.trace, SpanID: callSpan("", 0), Remote: true})
	_, span := t.start(trace.ContextWithRemoteSpanContext(context.Background(), above), want.trace, want.span, "perdure.probe")
	return span.SpanContext().SpanID(), above.SpanID(), want.span
}

func linked(to trace.SpanContext, what string) trace.SpanStartOption {
	return trace.WithLinks(trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String(Link, what)}})
}

func fail(span trace.Span, errorType string) {
	span.SetAttributes(attribute.String(ErrorType, errorType))
	span.SetStatus(codes.Error, errorType)
}

// attributes are what is known of an operation, with room for two more.
func attributes(op *intercept.Op) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 7)
	for _, a := range []struct{ key, value string }{{WorkflowID, op.WorkflowID}, {RunID, op.RunID}, {Workflow, op.Workflow}} {
		if a.value != "" {
			all = append(all, attribute.String(a.key, a.value))
		}
	}
	if op.Call > 0 {
		all = append(all, attribute.Int64(Call, op.Call))
	}
	if op.Attempt > 0 {
		all = append(all, attribute.Int(Attempt, op.Attempt))
	}
	return all
}
