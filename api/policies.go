package api

import (
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

func policyEndpoints() []endpoint {
	return []endpoint{
		define("POST /api/policies/explain", "explainPolicy", "Explain a retry policy: which errors it retries, when each attempt starts, what may be a mistake.", "policy explain", explainPolicy),
		define("POST /api/policies/try", "tryPolicy", "Try a retry policy on the calls in the ledger.", "policy try", tryPolicy).waits(),
	}
}

type explainBody struct {
	Policy *command.Policy `json:"policy" doc:"text in brackets, or an object" need:"write one as in [retry: 3, backoff: 60]"`
	Nested int             `json:"nested,omitempty" doc:"nested layers that retry by it; default 1"`
}

func explainPolicy(_ *call, _ none, b explainBody) (view.PolicyExplanation, error) {
	e, err := retry.Explain(b.Policy.Policy, max(b.Nested, 1))
	if err != nil {
		return view.PolicyExplanation{}, badRequest("%v", err)
	}
	return view.ExplainPolicy(e), nil
}

type tryBody struct {
	Policy   *command.Policy `json:"policy" doc:"text in brackets, or an object" need:"write one as in [retry: 3, backoff: 60]"`
	Workflow string          `json:"workflow,omitempty" doc:"name of the definition"`
	Activity string          `json:"activity,omitempty" doc:"name of the activity or step"`
	Since    param.Moment    `json:"since,omitzero" doc:"only calls whose first attempt ended at this time or later: RFC 3339, or how long ago"`
	Until    param.Moment    `json:"until,omitzero" doc:"only calls whose first attempt ended before this time"`
}

func tryPolicy(c *call, _ none, b tryBody) (*view.PolicyTrial, error) {
	return ops.TryPolicy(c.Context(), c.e, b.Policy.Policy, view.TrialFilter{
		Workflow: b.Workflow, Activity: b.Activity, Since: b.Since.At, Until: b.Until.At,
	})
}
