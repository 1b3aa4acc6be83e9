package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// TryPolicy says what another retry policy would have made of the calls in the ledger: how
// many would have succeeded or failed, with how many attempts and when. It replays the
// attempts on record, asks retry.Decide after each failure, and draws the jitter as the
// engine does. The policy that was in force gives back the record; what another one would
// have met with is partly assumed, and PolicyTrial says what and how much.
//
// It only reads. The ledger is read in batches; what is kept is eight bytes for each call
// and the attempts of calls that were retried at one time.
func TryPolicy(ctx context.Context, e *perdure.Engine, policy retry.Policy, filter view.TrialFilter) (*view.PolicyTrial, error) {
	trial, err := inside(e).TryPolicy(ctx, policy, filter)
	return trial, failed(err, "try policy")
}
