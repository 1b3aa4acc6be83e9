package tracing

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// Generator makes the IDs of spans. It is the IDGenerator of OpenTelemetry's SDK.
type Generator interface {
	NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID)
	NewSpanID(ctx context.Context, traceID trace.TraceID) trace.SpanID
}

// IDs lets a TracerProvider of OpenTelemetry's SDK give the spans of runs, calls and
// attempts the IDs that follow from theirs:
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(tracing.IDs{}), ...)
//
// So whatever process makes such a span, it is the same one, and its parents are known
// before they are made. All other spans get theirs from Others.
type IDs struct {
	Others Generator // nil: random ones
}

type wantedKey struct{}

// ids are those that the next span shall have.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// NewIDs implements the SDK's IDGenerator.
func (g IDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if w, is := ctx.Value(wantedKey{}).(ids); is {
		return w.trace, w.span
	}
	if g.Others != nil {
		return g.Others.NewIDs(ctx)
	}
	for !id.IsValid() {
		fill(id[:])
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements the SDK's IDGenerator.
func (g IDs) NewSpanID(ctx context.Context, traceID trace.TraceID) (id trace.SpanID) {
	if w, is := ctx.Value(wantedKey{}).(ids); is {
		return w.span
	}
	if g.Others != nil {
		return g.Others.NewSpanID(ctx, traceID)
	}
	for !id.IsValid() {
		fill(id[:])
	}
	return id
}

func fill(id []byte) {
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
}

// traceOf is the trace of a run that was started without a trace parent.
func traceOf(run string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("perdure trace\x00" + run))
	copy(id[:], sum[:])
	return id
}

// The spans of a run, of a call and of an attempt.
func runSpan(run string) trace.SpanID { return spanOf("run\x00" + run) }

func callSpan(run string, call int64) trace.SpanID {
	return spanOf("call\x00" + run + "\x00" + strconv.FormatInt(call, 10))
}

func attemptSpan(run string, call int64, attempt int) trace.SpanID {
	return spanOf("attempt\x00" + run + "\x00" + strconv.FormatInt(call, 10) + "\x00" + strconv.Itoa(attempt))
}

func spanOf(name string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("perdure span\x00" + name))
	copy(id[:], sum[:])
	return id
}
