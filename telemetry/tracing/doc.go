// Package tracing makes spans of OpenTelemetry of the verbs of clients and of attempts.
//
//	eng, err := perdure.Open(ctx, db, perdure.Intercept(tracing.Interceptor(otel.GetTracerProvider())), ...)
//
// A verb is a span below that of its context. A start records its span as the trace parent
// of the run (W3C traceparent and tracestate), which is durable: each attempt of the run,
// of the runs that follow it and of its children, on whatever node, is a span below it, and
// the context of its body has that span. So a trace goes on through processes and crashes,
// and what a body calls over HTTP belongs to its attempt. The backoff between two attempts
// is in no span.
//
// An attempt whose process died has no span, as nobody was left to end it; the ledger has
// it. Workflow code itself has none either: it takes no time between its calls. A run with
// neither perdure.TraceParent nor a traced start begins a trace with each attempt.
package tracing
