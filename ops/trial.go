package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// TryPolicy computes how the calls in the ledger would have gone with another retry
// policy: how many would have succeeded or failed, with how many attempts and when. It
// replays the recorded attempts, calls retry.Decide after each failure, and draws the
// jitter as the engine does. For the policy that was in force the result equals the
// record; for another policy some outcomes are assumed, and view.PolicyTrial says which
// and how many.
//
// It only reads. It reads the ledger in batches, and keeps in memory eight bytes for each
// call and the attempts of calls that were retried at the same time.
func TryPolicy(ctx context.Context, e *perdure.Engine, policy retry.Policy, filter view.TrialFilter) (*view.PolicyTrial, error) {
	trial, err := inside(e).TryPolicy(ctx, policy, filter)
	return trial, failed(err, "try policy")
}
