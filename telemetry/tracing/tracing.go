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
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
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
	Pending    = "perdure.pending"  // true: the attempt continues outside the process of its body
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
	return seal.With(func(s *settings.Engine) {
		if p == nil {
			s.Faults = append(s.Faults, errors.New("tracing.Engine: the TracerProvider is nil; use otel.GetTracerProvider() or one of an SDK"))
			return
		}
		t := &tracer{Tracer: p.Tracer("github.com/perdure/perdure")}
		got, above, want := t.probe()
		if got.IsValid() && got != above && got != want {
			s.Faults = append(s.Faults, errIDs)
			return
		}
		t.records = got == want
		s.Watchers = append(s.Watchers, around.Placed{Watcher: t, Name: "tracing", At: len(s.Interceptors)})
		s.Interceptors = append(s.Interceptors, intercept.New("tracing", t.child, intercept.Child))
		if !t.records {
			return
		}
		s.Observers = append(s.Observers, t)
		if before := s.Closings; before != nil { // of another provider
			s.Closings = func(start *history.Start) bool { return before(start) || t.closings(start) }
		} else {
			s.Closings = t.closings
		}
	})
}

// tracer makes the spans of an engine.
type tracer struct {
	trace.Tracer
	records bool // its spans have the IDs that they should
	roots   roots
	names   names
}

// Begins implements around.Watcher.
func (t *tracer) Begins(ctx context.Context, op intercept.Op) (context.Context, around.Parent, any) {
	var (
		parent around.Parent
		span   trace.Span
	)
	if op.Kind != intercept.Attempt {
		ctx, span, parent = t.verb(ctx, &op)
	} else if in := t.runOf(&op); in.IsSampled() && t.records {
		ctx, span = t.attempt(ctx, &op, in)
	} else {
		if in.IsValid() { // what the body calls is no trace of its own, and not sampled either
			ctx = trace.ContextWithRemoteSpanContext(ctx, in)
		}
		return ctx, parent, nil
	}
	if !span.IsRecording() {
		return ctx, parent, nil
	}
	span.SetAttributes(attributes(&op)...)
	return ctx, parent, span
}

// Ends implements around.Watcher.
func (*tracer) Ends(mark any, err error, returned bool) {
	span := mark.(trace.Span)
	switch {
	case !returned:
		fail(span, retry.TypePanic)
	case err == nil:
	case errors.Is(err, activity.ErrPending):
		span.SetAttributes(attribute.Bool(Pending, true))
	default:
		fail(span, retry.TypeName(err))
	}
	span.End()
}

// Idle implements around.Watcher: attempts of a run that is not sampled have no spans, and
// what their bodies call learns that from their context.
func (t *tracer) Idle(start *history.Start) (values context.Context, idle bool) {
	in := parentOf(start.Trace, start.Headers[traceState])
	if !in.IsValid() && t.records {
		if in = t.roots.known(start.Run); !in.IsValid() {
			return nil, false // a sampler is to be asked
		}
	}
	switch {
	case !in.IsValid():
		return nil, true
	case in.IsSampled() && t.records:
		return nil, false
	}
	return trace.ContextWithRemoteSpanContext(context.Background(), in), true
}

// closings reports whether a run may have spans, so that what its turns close has to be told.
func (*tracer) closings(start *history.Start) bool {
	in := parentOf(start.Trace, start.Headers[traceState])
	return in.IsSampled() || !in.IsValid()
}

// The options of spans that begin now, shared by all of them.
var (
	client   = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
	consumer = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	producer = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer)}
)

// verb begins the span of a client's verb, which is the trace parent of a run that it starts.
func (t *tracer) verb(ctx context.Context, op *intercept.Op) (context.Context, trace.Span, around.Parent) {
	options := client
	if op.Kind == intercept.Start {
		options = producer
	}
	ctx, span := t.Start(ctx, t.names.of(op.Kind.String(), op.Name), options...)
	if op.Kind == intercept.Start && op.Headers[history.HeaderTrace] == "" { // else the caller chose
		return ctx, span, parentIn(trace.SpanContextFromContext(ctx))
	}
	return ctx, span, around.Parent{}
}

// attempt begins the span of an attempt.
func (t *tracer) attempt(ctx context.Context, op *intercept.Op, in trace.SpanContext) (context.Context, trace.Span) {
	options := consumer
	if op.Attempt > 1 {
		options = []trace.SpanStartOption{consumer[0], linked(in.WithSpanID(attemptSpan(op.RunID, op.Call, op.Attempt-1)), "previous attempt")}
	}
	return t.start(ctx, in.WithSpanID(callSpan(op.RunID, op.Call)), in.TraceID(), attemptSpan(op.RunID, op.Call, op.Attempt), t.names.of(op.Kind.String(), op.Name), options...)
}

// child makes the span of its parent's run the trace parent of a child, unless the code
// chose another one than that which the child has from it.
func (t *tracer) child(ctx context.Context, op *intercept.Op, next intercept.Next) error {
	if t.records && op.Headers[history.HeaderTrace] == op.Parent.Headers[history.HeaderTrace] {
		above := t.runOf(op.Parent).WithSpanID(runSpan(op.Parent.RunID))
		w3c.Inject(trace.ContextWithSpanContext(context.Background(), above), propagation.MapCarrier(op.Headers))
	}
	return next(ctx)
}

// start begins a span with an ID of its own: below above or, if that is not valid, in a trace
// with an ID of its own too.
func (t *tracer) start(ctx context.Context, above trace.SpanContext, in trace.TraceID, id trace.SpanID, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	w := &wanting{above: remote{silent, above}, ids: ids{in, id}}
	w.Context = trace.ContextWithSpan(ctx, &w.above)
	made, span := t.Start(w, name, options...)
	w.given.Store(true)
	return made, span
}

// probe returns the ID of a span, that of the one above it, and the one that was wanted. The
// span is not sampled and never ended, so it is never exported. A tracer that does not record
// hands on the one above, or none.
func (t *tracer) probe() (got, aboveIt, wanted trace.SpanID) {
	want := ids{traceOf(""), runSpan("")}
	above := trace.NewSpanContext(trace.SpanContextConfig{TraceID: want.trace, SpanID: callSpan("", 0), Remote: true})
	_, span := t.start(context.Background(), above, want.trace, want.span, "perdure.probe")
	return span.SpanContext().SpanID(), above.SpanID(), want.span
}

func linked(to trace.SpanContext, what string) trace.SpanStartOption {
	return trace.WithLinks(trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{attribute.String(Link, what)}})
}

func fail(span trace.Span, errorType string) {
	span.SetAttributes(attribute.String(ErrorType, errorType))
	span.SetStatus(codes.Error, errorType)
}

// attributes are what is known of an operation.
func attributes(op *intercept.Op) []attribute.KeyValue {
	all := ofRun(make([]attribute.KeyValue, 0, 5), op.WorkflowID, op.RunID, op.Workflow)
	if op.Call > 0 {
		all = append(all, attribute.Int64(Call, op.Call))
	}
	if op.Attempt > 0 {
		all = append(all, attribute.Int(Attempt, op.Attempt))
	}
	return all
}

// ofRun appends what is known of a run.
func ofRun(all []attribute.KeyValue, workflowID, run, workflow string) []attribute.KeyValue {
	if workflowID != "" {
		all = append(all, attribute.String(WorkflowID, workflowID))
	}
	if run != "" {
		all = append(all, attribute.String(RunID, run))
	}
	if workflow != "" {
		all = append(all, attribute.String(Workflow, workflow))
	}
	return all
}
