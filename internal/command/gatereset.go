package command

import (
	"fmt"

	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var resetGate = fills(Row(Command{
	On: Gate, Name: "reset", Short: "Close the circuit breaker of a gate, or fill its retry budget",
	Means: "The parts that are named forget what came before: a breaker is closed, so that waiting calls start as limit and rate allow, and a budget is full. Where each run key has its own, this is about the key that is named, or about all.",
	More:  "To try with one attempt first: perdure gates probe NAME",
	Example: `  perdure gates reset payments --breaker --dry-run
  perdure gates reset payments --breaker --budget --reason "the bank is back"
  perdure gates reset payments --breaker --key customer-17`,
}, func(a *Ask, p *gateReset) (view.GateChange, Effect, error) {
	c, err := ops.ResetGate(a.Ctx, a.Engine, a.Name, view.GateReset{Breaker: p.Breaker, Budget: p.Budget, Key: p.Key}, a.Settings(&p.Reason)...)
	return c, gateEffect(&c), err
}), gateResetForm)

// gateReset are the parts of a gate that are reset.
type gateReset struct {
	Breaker bool   `json:"breaker,omitempty" help:"close the circuit breaker, which then counts no failures"`
	Budget  bool   `json:"budget,omitempty" help:"fill the retry budget"`
	Key     string `json:"key,omitempty" help:"reset what this run {key} has of its own" label:"Only of the key" hint:"empty: of every key"`
	Reason
}

// OneOf says that nothing is reset unless it is named.
func (gateReset) OneOf() ([]string, string) {
	return []string{"breaker", "budget"}, "choose what the gate is to forget"
}

// gateResetForm asks for the parts that the gate has, and says how they are.
func gateResetForm(a *Ask, _ *gateReset) (f Form, err error) {
	g, err := FindGate(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return f, err
	}
	f.Labels = map[string]string{"breaker": "Close the circuit breaker, which is " + wording.GateBreaker(g)}
	if !g.Spec.Breaker.PerKey && !g.Spec.Budget.PerKey {
		f.Without = append(f.Without, "key")
	}
	if g.Breaker == "" {
		f.Without = append(f.Without, "breaker")
	}
	switch {
	case g.Spec.Budget.PerKey:
		f.Labels["budget"] = "Fill the retry budget"
	case g.Tokens == nil:
		f.Without = append(f.Without, "budget")
	default:
		f.Labels["budget"] = fmt.Sprintf("Fill the retry budget, which has %g of %d tokens", *g.Tokens, g.Spec.Budget.Tokens)
	}
	return f, nil
}
