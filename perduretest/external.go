package perduretest

import (
	"context"

	"github.com/perdure/perdure"
)

// Complete ends the attempt of a token with a result, as Engine.Complete does,
// asking again after a crash or in an outage. An attempt that was lost in a crash
// before its body had returned has a stale token; the next one has another.
func (e *Env) Complete(token string, result any) error {
	return e.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error { return eng.Complete(ctx, token, result) })
}

// FailAttempt ends the attempt of a token with an error, asking again like
// Complete.
func (e *Env) FailAttempt(token string, failure error) error {
	return e.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error { return eng.FailAttempt(ctx, token, failure) })
}

// HeartbeatAttempt says that the attempt of a token is alive, asking again like
// Complete.
func (e *Env) HeartbeatAttempt(token string, details any) error {
	return e.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error { return eng.HeartbeatAttempt(ctx, token, details) })
}
