package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
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
	Pending    = "perdure.pending"  // true: the attempt goes on outside of its body
	ErrorType  = "error.type"       // see retry.TypeName
)

// Interceptor returns an interceptor that makes spans with the tracers of p. Place it first
// to have the others' time in the spans.
func Interceptor(p trace.TracerProvider) intercept.Interceptor {
	t := tracer{p.Tracer("github.com/perdure/perdure")}
	return intercept.New("tracing", t.around,
		intercept.Start, intercept.Signal, intercept.Query, intercept.Update, intercept.Cancel, intercept.Terminate,
		intercept.Result, intercept.Operate, intercept.Complete, intercept.Schedule, intercept.Attempt)
}

type tracer struct{ trace.Tracer }

// context is how trace contexts are written into headers.
var w3c propagation.TraceContext

func (t tracer) around(ctx context.Context, op *intercept.Op, next intercept.Next) (err error) {
	kind := trace.SpanKindClient
	switch op.Kind {
	case intercept.Attempt:
		kind = trace.SpanKindConsumer
		ctx = w3c.Extract(ctx, propagation.MapCarrier(op.Headers))
	case intercept.Start:
		kind = trace.SpanKindProducer
	}
	name := "perdure." + op.Kind.String()
	if op.Name != "" {
		name += " " + op.Name
	}
	ctx, span := t.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes(op)...))
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

func fail(span trace.Span, errorType string) {
	span.SetAttributes(attribute.String(ErrorType, errorType))
	span.SetStatus(codes.Error, errorType)
}

// attributes are what is known of an operation.
func attributes(op *intercept.Op) (all []attribute.KeyValue) {
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
