// Package intercept runs functions around what workflows, activities and clients do: to
// pass an identity from the caller of a start to the activities of its run, to trace, to
// log, to refuse, to replace errors that reveal too much.
//
// An [Interceptor] is a name, a function and the kinds of operations that it wraps.
// perdure.Intercept gives an engine its interceptors; the first is the outermost.
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
// Headers are short strings that belong to a run. They are recorded with its start, and
// as durable as the run: its attempts have them after a crash and on another node, and so
// have later runs of its chain, its children, and the runs of a schedule that was made
// with them. They are stored as plain text even if there is a codec: put no secrets
// there. A start that attaches to a run does not change its headers.
//
// The header "traceparent" is the trace parent of perdure.TraceParent.
//
// # Where interceptors run
//
// Interceptors of clients ([Start] to [Complete]) run where the verb is called, with its
// context. Interceptors of [Attempt] run around the body, once for each attempt: the body
// gets the context that they pass to next. The attempt's timeout includes them; their
// error is that of the attempt, and its policy judges it.
//
// Interceptors of workflows ([WorkflowStart] to [Child]) run inside the turn of the code,
// so they must be quick and not wait: perdure.TurnTimeout applies. They cannot break the
// determinism of the code, because they run only when the code reaches an operation for
// the first time, never in a replay, and cannot change what the code does next. They can
// change only the headers of a child and the error with which a run fails, which are
// recorded. A turn that a crash undoes runs again, and so do they.
//
// # What an interceptor must do
//
// It calls next once, and returns its error or another one. It may refuse an attempt or a
// verb of a client by returning an error without calling next. If an interceptor returns
// nil without calling next, calls it twice, hides its error or panic, or panics itself,
// the verb or the attempt fails with a *[FaultError] that names it; inside workflow code
// that parks the run, as a panic of the code would.
package intercept
