// Package tracing makes spans of OpenTelemetry of the verbs of clients, of runs, of their
// calls and of attempts.
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(tracing.IDs{}), sdktrace.WithBatcher(exporter))
//	eng, err := perdure.Open(ctx, db, tracing.Engine(provider), ...)
//
// A verb is a span below that of its context. A start records its span as the trace parent
// of the run (W3C traceparent and tracestate), which is durable. A run is a span below its
// trace parent, a call of an activity or a step one below its run, an attempt one below its
// call, and a child's run one below the run that started it: in whatever processes they
// happen, it is one trace. The context of a body has the span of its attempt, so what it
// calls over HTTP belongs to it. The backoff between two attempts is in no span but their
// call's. An attempt has a link to the one before, and a run that continues another one, or
// retries it, has a link to that.
//
// # Spans that outlive processes
//
// A run may take longer than any process lives. So its span, as that of a call, is made when
// the run closes, with its true times, by the process that made the end durable: once, as the
// end is. Its ID, and those of calls and attempts, follow from those of the run, so spans
// below it can be made before, and elsewhere. [IDs] is what lets them: the SDK asks it.
//
// The span of an attempt is made while it runs. One whose process died is made by the process
// that takes the run over, from the record, with the attribute perdure.lost. If an attempt
// has ended, and its process dies before that is durable, it is lost too, and there are two
// spans with its ID: the one with perdure.lost is what counts.
//
// A process that dies takes spans with it: those that its exporter had not sent yet, and
// those of what it had just closed. They are not made up for; spans below them show a parent
// that is missing. The ledger has it all (perdure attempts).
//
// # Sampling
//
// Whether a run is sampled is decided once, and holds for its calls and attempts, its children
// and what its bodies call, in whatever processes they happen. The trace parent says so, if there
// is one: below one that is not sampled nothing is made, and the sampler is not asked. A run
// without a trace parent, because its starter is not traced or a schedule, begins a trace, whose
// ID follows from its own; the provider's sampler decides on it by that ID. A sampler that counts
// or draws may decide otherwise in the next process that the run is at work in.
//
// Of a run that is sampled the sampler is asked about each span, as OpenTelemetry's SDK does: wrap
// it in sdktrace.ParentBased, so that it is yes. It is told name and kind; attributes follow
// when the span records.
//
// Spans of runs and calls are made between two turns of a run, on the goroutine that has made
// the end durable: a processor that blocks holds it up, so use one that does not, as that of
// sdktrace.WithBatcher. One that panics there is logged (observer_panicked).
//
// Workflow code has no span of its own: it takes no time between its calls.
package tracing
