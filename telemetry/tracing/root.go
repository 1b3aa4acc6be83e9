package tracing

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
)

// runOf is the trace of the run of an operation, and whether it is sampled: its trace parent, or
// its own span if it begins a trace. It is not valid of a run that is in no trace.
func (t *tracer) runOf(op *intercept.Op) trace.SpanContext {
	if above := parentOf(op.Headers[history.HeaderTrace], op.Headers[traceState]); above.IsValid() || !t.records {
		return above
	}
	return t.roots.of(op.RunID, func() root {
		return root{in: t.begin(&history.Start{Run: op.RunID, Type: op.Workflow}).SpanContext().WithRemote(true)}
	}).in
}

// root is a run without a trace parent: it begins a trace, and the sampler is asked once
// whether that is sampled.
type root struct {
	in   trace.SpanContext // its span
	span trace.Span        // that, begun with all that is known of the run; nil if it is not sampled, or something else asked first
}

// roots are what was decided of the runs that were at work lately.
type roots struct {
	mu         sync.Mutex
	young, old map[string]root
}

// maxYoung bounds the memory: twice as many runs are known, and of others the sampler is asked
// again.
const maxYoung = 4096

// of returns what was decided of a run, and lets decide what was not.
func (r *roots) of(run string, decide func() root) root {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, is := r.young[run]
	if is {
		return known
	}
	if known, is = r.old[run]; !is {
		known = decide()
	}
	if len(r.young) >= maxYoung {
		r.old, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = make(map[string]root)
	}
	r.young[run] = known
	return known
}

// known is what was decided of a run; it is not valid if that cannot be told now. It does not
// wait.
func (r *roots) known(run string) trace.SpanContext {
	if !r.mu.TryLock() { // a sampler may be at work
		return trace.SpanContext{}
	}
	defer r.mu.Unlock()
	if known, is := r.young[run]; is {
		return known.in
	}
	return r.old[run].in
}

// forget forgets a run that has ended.
func (r *roots) forget(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, run)
	delete(r.old, run)
}

// begin begins the span of a run that begins a trace.
func (t *tracer) begin(s *history.Start) trace.Span {
	in := traceOf(s.Run)
	_, span := t.start(context.Background(), trace.SpanContext{}, in, runSpan(s.Run), t.names.of("run", s.Type), runOptions(s, trace.SpanContext{})...)
	return span
}
