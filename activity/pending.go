package activity

import (
	"context"
	"errors"
)

// ErrPending is what a body returns to leave its attempt open: a person decides, or another
// system calls back. Any process that has the attempt's Token ends it, with
// perdure.Engine.Complete or FailAttempt. Until then the attempt holds no goroutine and no
// slot, and survives the process.
//
//	var Approve = activity.New("approve", func(ctx context.Context, o Order) (bool, error) {
//		if err := mail.Ask(ctx, o, activity.Token(ctx)); err != nil {
//			return false, err
//		}
//		return false, activity.ErrPending
//	}, activity.Retry(retry.Policy{AttemptTimeout: 72 * time.Hour}))
//
// The policy must have an AttemptTimeout or a HeartbeatTimeout; without one the call
// fails and is not retried. Returning ErrPending counts as a heartbeat, and
// perdure.Engine.HeartbeatAttempt sends further ones.
//
// Return it soon: if the process dies before that, the attempt is lost with its token,
// unless it was completed already. A retry has another token.
var ErrPending = errors.New("the attempt continues outside the process")

// Token returns the token of the attempt that runs in ctx, with which any process can
// complete it. It needs no escaping in a URL. Treat it as a secret: anyone who has it can
// complete the attempt. Outside an activity or step it is empty.
func Token(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil && a.Link != nil {
		return a.Link.Token()
	}
	return ""
}
