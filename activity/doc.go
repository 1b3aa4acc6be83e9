// Package activity declares the steps of a workflow that touch the world.
//
// An activity is an ordinary Go function: it may do I/O, take its time, and
// fail. The engine runs it, retries it by its policy, and records every attempt.
// Workflows call activities by typed handles:
//
//	var Charge = activity.New("charge", func(ctx context.Context, o Order) (Payment, error) {
//		return gateway.Charge(ctx, o, activity.IdempotencyKey(ctx))
//	}, activity.Retry(retry.Policy{MaxAttempts: 5}))
//
// An activity runs at least once: if the process dies after the effect and before the
// result is recorded, another attempt follows. IdempotencyKey is the same for all
// attempts of one call; pass it to the system that you call.
//
// Effects in your own tables in the engine's database need no key: with OnCommit they are
// part of the transaction that records the result.
package activity
