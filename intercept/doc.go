// Package intercept lets a program stand around what its workflows, activities and clients
// do: to hand an identity from the caller of a start to the activities of its run, to
// trace, to log, to refuse, to replace errors that say too much.
//
// An [Interceptor] is a name, a function and the kinds of operations that it stands
// around. perdure.Intercept gives an engine its interceptors; the first is the outermost.
//
//	var Tenant = intercept.New("tenant", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
//		switch op.Kind {
//		case intercept.Start:
//			op.Headers["tenant"] = tenantOf(ctx) // of the caller
//		case intercept.Attempt:
//			ctx = withTenant(ctx, op.Headers["tenant"]) // of the body
//		}
//		return next(ctx)
//	}, intercept.Start, intercept.Attempt)
//
//	eng, err := perdure.Open(ctx, db, perdure.Intercept(Tenant), ...)
//
// # Headers
//
// Headers are small texts that belong to a run. They are recorded with its start, and
// durable as the run is: its attempts have them after a crash and on another node, as have
// the runs that follow it in its chain, its children, and the runs of a schedule that was
// made with them. They are kept as plain text, in spite of any codec: put no secrets there.
// A start that attaches to a run does not change its headers.
//
// The header "traceparent" is the trace parent of perdure.TraceParent.
//
// # Where interceptors run
//
// Those of clients ([Start] to [Complete]) run where the verb is called, in its context.
// Those of [Attempt] run around the body, once for each attempt, in its context: what they
// hand to next is what the body gets. They are inside the attempt's timeout; an error of
// theirs is the attempt's, and its policy judges it.
//
// Those of workflows ([WorkflowStart] to [Child]) run inside of the turn of the code, so
// they must be quick and wait for nothing: TurnTimeout counts. They cannot break the
// determinism of the code, because they run only when the code gets somewhere for the
// first time, never in a replay, and cannot change what the code does next: only the
// headers of a child and the error with which a run fails, which are on record. A turn that
// a crash undoes is run again, and so are they.
//
// # What an interceptor must do
//
// It calls next once, and returns its error or another one. An attempt or a verb of a
// client it may refuse, by returning an error without calling next. An interceptor that
// returns nil without calling next, calls it twice, hides an error or a panic of it, or
// panics is told so: the error is a [FaultError] that has its name. It is that of the verb
// or the attempt; inside of workflow code it parks the run, as a panic of that code would.
package intercept
