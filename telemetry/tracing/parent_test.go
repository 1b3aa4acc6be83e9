package tracing

import (
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"
)

// TestE63_TraceParentsAreReadAsOpenTelemetryDoes: the short way through a trace parent and the
// propagator come to the same, whatever stands in it.
func TestE63_TraceParentsAreReadAsOpenTelemetryDoes(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	rapid.Check(t, func(t *rapid.T) {
		parent := []byte(rapid.SampledFrom([]string{valid, valid[:54] + "0", valid + "-more", "", valid[:54],
			"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}).Draw(t, "parent"))
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			if len(parent) > 0 {
				parent[rapid.IntRange(0, len(parent)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123fFgG- \x00\xff")).Draw(t, "is")
			}
		}
		state := rapid.SampledFrom([]string{"", "a=b,c=d", "=", "a=b,a=c"}).Draw(t, "state")
		want := trace.SpanContextFromContext(w3c.Extract(t.Context(), propagation.MapCarrier{"traceparent": string(parent), "tracestate": state}))
		if got := parentOf(string(parent), state); !got.Equal(want) {
			t.Errorf("%q with state %q is %v, by OpenTelemetry %v", parent, state, got, want)
		}
	})
}

// TestE63_TraceParentsAreWrittenAsOpenTelemetryDoes: whatever the span, and whatever its flags
// and state.
func TestE63_TraceParentsAreWrittenAsOpenTelemetryDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var of trace.SpanContextConfig
		copy(of.TraceID[:], rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 7, 0xab, 0xff}), 16, 16).Draw(t, "trace"))
		copy(of.SpanID[:], rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 7, 0xab, 0xff}), 8, 8).Draw(t, "span"))
		of.TraceFlags = trace.TraceFlags(rapid.Byte().Draw(t, "flags"))
		of.TraceState, _ = trace.ParseTraceState(rapid.SampledFrom([]string{"", "a=b,c=d"}).Draw(t, "state"))
		sc := trace.NewSpanContext(of)
		want := propagation.MapCarrier{}
		w3c.Inject(trace.ContextWithSpanContext(t.Context(), sc), want)
		if got := parentIn(sc); got.Trace != want["traceparent"] || got.State != want["tracestate"] {
			t.Errorf("%v is written as %v, by OpenTelemetry %v", sc, got, want)
		}
	})
}
