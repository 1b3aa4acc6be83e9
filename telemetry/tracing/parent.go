package tracing

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
)

// w3c is how trace contexts are written into headers.
var w3c propagation.TraceContext

const traceState = around.HeaderState

// parentOf is a trace parent with its state; it is not valid if there is none. It reads
// what is common without memory and leaves the rest to OpenTelemetry.
func parentOf(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	if state == "" && len(parent) == len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") &&
		parent[:3] == "00-" && parent[35] == '-' && parent[52:54] == "-0" && (parent[54] == '0' || parent[54] == '1') {
		in, err := trace.TraceIDFromHex(parent[3:35])
		if err != nil {
			return trace.SpanContext{}
		}
		id, err := trace.SpanIDFromHex(parent[36:52])
		if err != nil {
			return trace.SpanContext{}
		}
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: in, SpanID: id, TraceFlags: trace.TraceFlags(parent[54] - '0'), Remote: true})
	}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), propagation.MapCarrier{history.HeaderTrace: parent, traceState: state}))
}

// parentIn is a span context as a trace parent, empty if it is not valid: what w3c injects.
func parentIn(sc trace.SpanContext) around.Parent {
	if !sc.IsValid() {
		return around.Parent{}
	}
	var b [55]byte
	in, id := sc.TraceID(), sc.SpanID()
	text := hex.AppendEncode(append(b[:0], "00-"...), in[:])
	text = hex.AppendEncode(append(text, '-'), id[:])
	text = hex.AppendEncode(append(text, '-'), []byte{byte(sc.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom))})
	return around.Parent{Trace: string(text), State: sc.TraceState().String()}
}

// remote is a span of which only the context is known.
type remote struct {
	trace.Span // silent
	sc         trace.SpanContext
}

var silent trace.Span = noop.Span{}

// SpanContext implements trace.Span.
func (r *remote) SpanContext() trace.SpanContext { return r.sc }
