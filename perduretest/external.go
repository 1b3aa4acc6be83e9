package perduretest

import (
	"context"

	"github.com/perdure/perdure"
)

// Complete ends the attempt of a token with a result, as perdure.Engine.Complete does,
// and repeats the request after a crash or in an outage. If the attempt was lost in a
// crash before its body returned, its token is stale; the next attempt has another.
func (e *Env) Complete(token string, result any) error {
	return e.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error { return eng.Complete(ctx, token, result) })
}

// FailAttempt ends the attempt of a token with an error, repeated like Complete.
func (e *Env) FailAttempt(token string, failure error) error {
	return e.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error { return eng.FailAttempt(ctx, token, failure) })
}

// HeartbeatAttempt reports that the attempt of a token is alive, repeated like Complete.
func (e *Env) HeartbeatAttempt(token string, details any) error {
	return e.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error { return eng.HeartbeatAttempt(ctx, token, details) })
}
