package tracing

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// Committed implements engine.Observer.
func (tracer) Committed(int, time.Duration) {}

// Turn implements engine.Observer: the spans of what a durable turn has closed, with their
// true times. A turn is made durable by one process and told once, so each of them is
// made at most once.
func (t tracer) Turn(start *history.Start, turn *core.Turn) {
	lost := false
	for i := range turn.Attempts {
		lost = lost || turn.Attempts[i].Outcome == core.Lost
	}
	if !lost && len(turn.Closings) == 0 && !turn.Ended {
		return
	}
	above := parentOf(recorded{start})
	r := closedRun{t, start, above, t.traceOf(start.Run, above)}
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

// recorded are the headers of a run as its start event has them, for reading.
type recorded struct{ *history.Start }

// Get implements propagation.TextMapCarrier.
func (r recorded) Get(name string) string {
	if name == history.HeaderTrace && r.Trace != "" {
		return r.Trace
	}
	return r.Headers[name]
}

// Keys implements propagation.TextMapCarrier; nothing reads it.
func (recorded) Keys() []string { return nil }

// Set implements propagation.TextMapCarrier; nothing is written.
func (recorded) Set(string, string) {}

// closedRun is a run of which something has closed.
type closedRun struct {
	tracer tracer
	start  *history.Start
	above  trace.SpanContext // its trace parent, not valid if it has none
	in     trace.SpanContext // its trace
}

// make makes a span that has begun and ended, below another one if that is valid.
func (r closedRun) make(name string, above trace.SpanContext, id trace.SpanID, began, ended int64, failed string, op intercept.Op, more [2]attribute.KeyValue, options ...trace.SpanStartOption) {
	op.WorkflowID, op.RunID, op.Workflow = r.start.WorkflowID, r.start.Run, r.start.Type
	all := attributes(&op)
	for _, a := range more {
		if a.Valid() {
			all = append(all, a)
		}
	}
	options = append(options, trace.WithTimestamp(time.Unix(0, began)), trace.WithAttributes(all...))
	ctx := context.Background()
	if above.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, above)
	}
	_, span := r.tracer.start(ctx, r.in.TraceID(), id, name, options...)
	if failed != "" {
		fail(span, failed)
	}
	span.End(trace.WithTimestamp(time.Unix(0, max(began, ended))))
}

func (r closedRun) run(turn *core.Turn) {
	s := r.start
	failed := ""
	if d, err := core.DecodeDetail(turn.State.Detail); err == nil && d.Failure != nil {
		failed = d.Failure.TypeName()
	}
	if failed == "" && turn.State.Status == core.StatusTimedOut {
		failed = string(turn.State.Status)
	}
	options := append(make([]trace.SpanStartOption, 0, 4), consumer)
	if s.Previous != "" {
		previous := trace.NewSpanContext(trace.SpanContextConfig{TraceID: r.in.TraceID(), SpanID: runSpan(s.Previous), TraceFlags: r.in.TraceFlags(), Remote: true})
		if !r.above.IsValid() { // each run of such a chain has a trace of its own
			previous = previous.WithTraceID(traceOf(s.Previous))
		}
		options = append(options, linked(previous, "previous run"))
	}
	r.make("perdure.run "+s.Type, r.above, runSpan(s.Run), s.Created, cmp.Or(turn.State.Closed, turn.Time), failed, intercept.Op{},
		[2]attribute.KeyValue{attribute.String(Status, string(turn.State.Status))}, options...)
}

func (r closedRun) call(c *core.Closing) {
	r.make("perdure.call "+c.Name, r.in.WithSpanID(runSpan(r.start.Run)), callSpan(r.start.Run, c.Call), c.Scheduled, c.Ended, c.ErrorType,
		intercept.Op{Call: c.Call}, [2]attribute.KeyValue{attribute.String(Status, string(c.Status)), attribute.Int(Attempts, c.Attempts)})
}

// lostAttempt makes the span of an attempt whose process could not end it.
func (r closedRun) lostAttempt(a *core.Record) {
	options := append(make([]trace.SpanStartOption, 0, 4), consumer)
	if a.Attempt > 1 {
		options = append(options, linked(r.in.WithSpanID(attemptSpan(r.start.Run, a.Call, a.Attempt-1)), "previous attempt"))
	}
	r.make("perdure.attempt "+a.Name, r.in.WithSpanID(callSpan(r.start.Run, a.Call)), attemptSpan(r.start.Run, a.Call, a.Attempt), a.Started, a.Ended,
		string(core.Lost), intercept.Op{Call: a.Call, Attempt: a.Attempt}, [2]attribute.KeyValue{attribute.String(Lost, a.Reason)}, options...)
}
