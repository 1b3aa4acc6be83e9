package activity

import (
	"context"
	"errors"
)

// ErrPending is what a body returns whose attempt goes on elsewhere: a person
// decides, another system calls back. A holder of the attempt's Token says how it
// ends, from any process, with the engine's Complete or FailAttempt. Until then
// the attempt holds no goroutine and no slot, and survives the process.
//
//	var Approve = activity.New("approve", func(ctx context.Context, o Order) (bool, error) {
//		if err := mail.Ask(ctx, o, activity.Token(ctx)); err != nil {
//			return false, err
//		}
//		return false, activity.ErrPending
//	}, activity.Retry(retry.Policy{AttemptTimeout: 72 * time.Hour}))
//
// The policy must have an AttemptTimeout or a HeartbeatTimeout; without one the
// call fails for good. Returning ErrPending counts as a heartbeat, and the
// engine's HeartbeatAttempt gives further ones.
//
// Return it soon: an attempt whose process dies before that is lost, unless it was
// completed until then, and its token with it. A retry has another token.
var ErrPending = errors.New("the attempt goes on outside")

// Token returns the token of the attempt that runs in ctx, by which any process can
// complete it. It is text that fits into a URL, and worth as much as the right to
// complete the attempt: keep it from those who must not. Outside an activity or
// step it is empty.
func Token(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil && a.Link != nil {
		return a.Link.Token()
	}
	return ""
}
