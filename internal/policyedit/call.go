package policyedit

import (
	"fmt"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Edit makes a policy of another one.
type Edit func(retry.Policy) (retry.Policy, error)

// apply returns the policy of a call and what an edit makes of it. What would be none is
// refused.
func apply(p *view.Call, edit Edit) (before, after retry.Policy, err error) {
	if before, err = retry.Parse(p.Policy); err != nil {
		return before, after, err
	}
	if after, err = edit(before); err == nil {
		err = after.Validate()
	}
	return before, after, err
}

// remaining is how many failures a call may still have under a policy; retry.Unlimited if any
// number.
func remaining(p *view.Call, policy retry.Policy) int {
	if limit := policy.AttemptLimit(); limit < retry.Unlimited {
		return max(0, limit-p.Failures)
	}
	return retry.Unlimited
}

func leftText(n int) string {
	if n == retry.Unlimited {
		return "any number of"
	}
	return fmt.Sprint(n)
}
