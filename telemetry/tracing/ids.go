package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

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

// wanting is a context that asks for the IDs of the next span, until they are given.
type wanting struct {
	context.Context // it has above
	ids
	above remote
	given atomic.Bool
}

// Value implements context.Context.
func (w *wanting) Value(key any) any {
	if key == (wantedKey{}) {
		if w.given.Load() {
			return nil // the spans of a body are others
		}
		return w
	}
	return w.Context.Value(key)
}

// wantedBy returns the IDs that a context asks for, nil if it asks for none.
func wantedBy(ctx context.Context) *ids {
	if w, is := ctx.Value(wantedKey{}).(*wanting); is {
		return &w.ids
	}
	return nil
}

// NewIDs implements the SDK's IDGenerator.
func (g IDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if w := wantedBy(ctx); w != nil {
		return w.trace, w.span
	}
	if g.Others != nil {
		return g.Others.NewIDs(ctx)
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements the SDK's IDGenerator.
func (g IDs) NewSpanID(ctx context.Context, traceID trace.TraceID) (id trace.SpanID) {
	if w := wantedBy(ctx); w != nil {
		return w.span
	}
	if g.Others != nil {
		return g.Others.NewSpanID(ctx, traceID)
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// traceOf is the trace of a run that was started without a trace parent.
func traceOf(run string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("perdure trace\x00" + run))
	copy(id[:], sum[:])
	return id
}

// The spans of a run, of a call and of an attempt.
func runSpan(run string) trace.SpanID {
	var b [128]byte
	return spanOf(append(append(b[:0], "perdure span\x00run\x00"...), run...))
}

func callSpan(run string, call int64) trace.SpanID {
	var b [128]byte
	return spanOf(appendCall(append(b[:0], "perdure span\x00call\x00"...), run, call))
}

func attemptSpan(run string, call int64, attempt int) trace.SpanID {
	var b [128]byte
	name := appendCall(append(b[:0], "perdure span\x00attempt\x00"...), run, call)
	return spanOf(strconv.AppendInt(append(name, 0), int64(attempt), 10))
}

func appendCall(b []byte, run string, call int64) []byte {
	return strconv.AppendInt(append(append(b, run...), 0), call, 10)
}

func spanOf(name []byte) (id trace.SpanID) {
	sum := sha256.Sum256(name)
	copy(id[:], sum[:])
	return id
}
