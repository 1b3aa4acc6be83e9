package policyedit

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Edit makes a policy of another one.
type Edit func(retry.Policy) (retry.Policy, error)

// Change is what an edit means for one call.
type Change struct {
	Before, After retry.Policy
	Consequence   string // a sentence without its end
}

// Of returns what an edit means for a call that has a policy. The error says why the call
// cannot have the policy that would come of it.
func Of(p *view.Call, edit Edit, now time.Time) (Change, error) {
	before, after, err := apply(p, edit)
	if err != nil {
		return Change{}, err
	}
	return Change{before, after, fmt.Sprintf("%s; %s; %s", nextAttempt(p, now), attemptsLeft(p, before, after), lastStart(p, after))}, nil
}

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

// nextAttempt says when a call is tried next, which no edit changes.
func nextAttempt(p *view.Call, now time.Time) string {
	next := "the next attempt starts as before"
	switch {
	case p.State == view.CallBackoff && p.Next != nil:
		next = "the next attempt is due as before, " + human.Until(*p.Next, now)
	case p.State == view.CallRunning || p.State == view.CallExternal:
		next = "the attempt that runs goes on as before"
	}
	return next
}

// attemptsLeft says how many failures a call may still have.
func attemptsLeft(p *view.Call, before, after retry.Policy) string {
	return fmt.Sprintf("%s attempts are left, instead of %s", leftText(remaining(p, after)), leftText(remaining(p, before)))
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

// lastStart says when the last attempt may start.
func lastStart(p *view.Call, after retry.Policy) string {
	if w := after.Within; w > 0 && w != retry.Forever {
		return "none starts after " + human.Time(p.Scheduled.Add(w))
	}
	return "no time limit ends them"
}
