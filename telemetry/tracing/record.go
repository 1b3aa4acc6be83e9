package tracing

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// Committed implements settings.Observer.
func (*tracer) Committed(int, time.Duration) {}

// Turn implements settings.Observer: the spans of what a durable turn has closed, with their
// true times. A turn is made durable by one process and told once, so each of them is
// made at most once.
func (t *tracer) Turn(start *history.Start, turn *core.Turn) {
	closed := tells(turn)
	if turn.Number > 1 && !closed {
		return
	}
	r := closedRun{tracer: t, start: start, in: parentOf(start.Trace, start.Headers[traceState])}
	if !r.in.IsValid() { // it is decided in its first turn
		known := t.roots.of(start.Run, func() root {
			span := t.begin(start)
			known := root{in: span.SpanContext().WithRemote(true)}
			if known.in.IsSampled() {
				known.span = span
			}
			return known
		})
		r.in, r.root, r.span = known.in, true, known.span
		if turn.Ended {
			t.roots.forget(start.Run)
		}
	}
	if !r.in.IsSampled() || !closed {
		return
	}
	for i := range turn.Attempts {
		if a := &turn.Attempts[i]; a.Outcome == core.Lost && a.Started > 0 {
			r.lostAttempt(a)
		}
	}
	for i := range turn.Closings {
		r.call(&turn.Closings[i])
	}
	if turn.Ended && turn.State != nil {
		r.run(turn)
	}
}

// tells reports whether a turn has closed something.
func tells(turn *core.Turn) bool {
	if turn.Ended || len(turn.Closings) > 0 {
		return true
	}
	for i := range turn.Attempts {
		if turn.Attempts[i].Outcome == core.Lost {
			return true
		}
	}
	return false
}

// closedRun is a run of which something has closed.
type closedRun struct {
	tracer *tracer
	start  *history.Start
	in     trace.SpanContext // its trace parent, or its own span if it begins a trace
	root   bool              // it does
	span   trace.Span        // its span, if it is a root and has begun that
}

// make makes a span that has begun and ended, with attributes after those of the run.
func (r *closedRun) make(name string, above trace.SpanContext, id trace.SpanID, ended int64, failed string, more []attribute.KeyValue, options ...trace.SpanStartOption) {
	_, span := r.tracer.start(context.Background(), above, r.in.TraceID(), id, name, options...)
	r.end(span, ended, failed, more...)
}

// end ends a span with attributes after those of the run.
func (r *closedRun) end(span trace.Span, ended int64, failed string, more ...attribute.KeyValue) {
	if !span.IsRecording() {
		return
	}
	all := append(ofRun(make([]attribute.KeyValue, 0, 7), r.start.WorkflowID, r.start.Run, r.start.Type), more...)
	if failed != "" {
		all = append(all, attribute.String(ErrorType, failed))
		span.SetStatus(codes.Error, failed)
	}
	span.SetAttributes(all...)
	span.End(trace.WithTimestamp(time.Unix(0, ended)))
}

func (r *closedRun) run(turn *core.Turn) {
	s, failed := r.start, ""
	switch status := turn.State.Status; status {
	case core.StatusCompleted, core.StatusContinued:
	case core.StatusTimedOut:
		failed = string(status)
		fallthrough
	default:
		if d, err := core.DecodeDetail(turn.State.Detail); err == nil && d.Failure != nil {
			failed = d.Failure.TypeName()
		}
	}
	span := r.span
	if span == nil {
		above := r.in
		if r.root {
			above = trace.SpanContext{}
		}
		_, span = r.tracer.start(context.Background(), above, r.in.TraceID(), runSpan(s.Run), r.tracer.names.of("run", s.Type), runOptions(s, above)...)
	}
	r.end(span, max(s.Created, cmp.Or(turn.State.Closed, turn.Time)), failed, attribute.String(Status, string(turn.State.Status)))
}

// runOptions are those of the span of a run below another one; if that is not valid, the run
// begins a trace, as each run of its chain does.
func runOptions(s *history.Start, above trace.SpanContext) []trace.SpanStartOption {
	options := append(make([]trace.SpanStartOption, 0, 3), consumer[0], trace.WithTimestamp(time.Unix(0, s.Created)))
	if s.Previous == "" {
		return options
	}
	previous := above.WithSpanID(runSpan(s.Previous))
	if !above.IsValid() {
		previous = previous.WithTraceID(traceOf(s.Previous)).WithRemote(true)
	}
	return append(options, linked(previous, "previous run"))
}

func (r *closedRun) call(c *core.Closing) {
	r.make(r.tracer.names.of("call", c.Name), r.in.WithSpanID(runSpan(r.start.Run)), callSpan(r.start.Run, c.Call), max(c.Scheduled, c.Ended), c.ErrorType,
		[]attribute.KeyValue{attribute.Int64(Call, c.Call), attribute.String(Status, string(c.Status)), attribute.Int(Attempts, c.Attempts)},
		trace.WithTimestamp(time.Unix(0, c.Scheduled)))
}

// lostAttempt makes the span of an attempt whose process could not end it.
func (r *closedRun) lostAttempt(a *core.Record) {
	options := append(make([]trace.SpanStartOption, 0, 3), consumer[0], trace.WithTimestamp(time.Unix(0, a.Started)))
	if a.Attempt > 1 {
		options = append(options, linked(r.in.WithSpanID(attemptSpan(r.start.Run, a.Call, a.Attempt-1)), "previous attempt"))
	}
	r.make(r.tracer.names.of("attempt", a.Name), r.in.WithSpanID(callSpan(r.start.Run, a.Call)), attemptSpan(r.start.Run, a.Call, a.Attempt), max(a.Started, a.Ended), string(core.Lost),
		[]attribute.KeyValue{attribute.Int64(Call, a.Call), attribute.Int(Attempt, a.Attempt), attribute.String(Lost, a.Reason)}, options...)
}
