package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// AttemptOf returns the attempt that a token identifies, whether or not it has ended, so that a
// server can decide who may end it. The error is perdure.ErrInvalidToken if this database did
// not sign the token, and perdure.ErrNotFound if the run was deleted.
func AttemptOf(ctx context.Context, e *perdure.Engine, token string) (view.TokenAttempt, error) {
	of, err := inside(e).AttemptOf(ctx, token)
	return of, failed(err, "attempt of a token")
}
