package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var editGate = fills(Row(Command{
	On: Gate, Name: "edit", Short: "Change what a gate does, without a deployment",
	Means: "What is named overrides what the code declares, on all nodes, until it is edited again or set back. What is not named follows the code.",
	More: `The command shows the difference and what it means for waiting calls; with --dry-run it
stops there. A deployment with other values does not end an edit: "perdure gates show NAME"
says what is in force and where it comes from. A lower limit takes effect as attempts end.
With --key the bounds are those of one run key, and --as-in-code sets that key back; without it,
all. A breaker that is open stays so: see "perdure gates probe" and "perdure gates reset".

JSON is an edit in one piece, such as '{"limit": 10}' or the spec of another database's
"perdure gates show NAME -o json"; with - it is read from standard input.`,
	Example: `  perdure gates edit payments --limit 10 --dry-run
  perdure gates edit payments --rate 50 --burst 10 --reason "the provider asked for it"
  perdure gates edit payments --key customer-17 --per-key-limit 3
  perdure gates edit payments --without breaker
  perdure gates edit payments --as-in-code`,
}, func(a *Ask, p *gateEdit) (view.GateChange, Effect, error) {
	g, err := FindGate(a.Ctx, a.Engine, a.Name)
	if err == nil {
		err = p.settle(g)
	}
	if err != nil {
		return view.GateChange{}, Effect{}, err
	}
	c, err := ops.EditGate(a.Ctx, a.Engine, a.Name, p.GateEdit, a.Settings(&p.Reason)...)
	e := gateEffect(&c)
	if p.AsInCode && len(e.Diff) == 0 && !e.Same {
		e.say("It stays as it is, " + wording.GatePart(c.After, "limit") + " at a time, and follows the code from now on.")
	}
	return c, e, err
}), gateEditForm)

// gateEdit is an edit of a gate: in one piece, or by the settings that are to be others.
type gateEdit struct {
	view.GateEdit
	gateSettings
	Reason
}

// OneOf says that nothing is edited unless it is named.
func (p gateEdit) OneOf() ([]string, string) {
	if !reflect.ValueOf(p.gateSettings).IsZero() {
		return nil, ""
	}
	return []string{"limit", "rate", "budget", "breaker", "per_key", "as_in_code"}, "name what is to change, such as a limit of 5"
}

// gateSettings are the settings of a gate that are to be others. Zero takes away what is not
// there with it.
type gateSettings struct {
	Slots      *int           `json:"-" flag:"limit" help:"let this {number} of attempts run at a time" label:"Limit" hint:"attempts at a time"`
	PerSecond  *float64       `json:"-" flag:"rate" help:"let this {number} of attempts start per second; 0 for no rate" label:"Rate per second" hint:"attempts that start; empty: no rate"`
	Burst      *int           `json:"-" flag:"burst" help:"of the rate: the {number} of attempts that may start together after a rest" label:"Burst" hint:"how many may start together after a rest"`
	Tokens     *int           `json:"-" flag:"tokens" help:"of the retry budget: the {number} of tokens; 0 for no budget" label:"Retry budget, tokens" hint:"empty: no budget"`
	Cost       *float64       `json:"-" flag:"cost" help:"of the retry budget: the tokens that a {retry} costs" label:"Cost of a retry" hint:"tokens; empty: 1"`
	Refund     *float64       `json:"-" flag:"refund" help:"of the retry budget: the tokens that a {success} at the first attempt brings" label:"Refund of a success at the first try" hint:"tokens; empty: none"`
	Failures   *int           `json:"-" flag:"failures" help:"of the circuit breaker: the {number} of failures in succession that open it; 0 for no breaker" label:"Breaker opens after failures" hint:"in succession; empty: no breaker"`
	Cooldown   *time.Duration `json:"-" flag:"cooldown" help:"of the circuit breaker: the {duration} for which it stays open" label:"Breaker stays open for" hint:"such as 30s or 5m"`
	WaitOpen   *bool          `json:"-" flag:"wait-open" help:"of the circuit breaker: calls wait while it is open; with =false they fail" label:"Calls wait while the breaker is open, and do not fail"`
	OwnBreaker *bool          `json:"-" flag:"breaker-per-key" help:"of the circuit breaker: each run key has its own; with =false all share one" label:"Each run key has a breaker of its own"`
	OwnBudget  *bool          `json:"-" flag:"budget-per-key" help:"of the retry budget: each run key has its own; with =false all share one" label:"Each run key has a retry budget of its own"`
	KeySlots   *int           `json:"-" flag:"per-key-limit" help:"let this {number} of attempts of one run key run at a time; 0 for as many as the gate has" label:"Limit of one key" hint:"attempts at a time; empty: as the gate"`
	KeyRate    *float64       `json:"-" flag:"per-key-rate" help:"let this {number} of attempts of one run key start per second; 0 for no rate of a key" label:"Rate of one key per second" hint:"attempts that start; empty: no rate"`
	KeyBurst   *int           `json:"-" flag:"per-key-burst" help:"of the rate of a key: the {number} of attempts that may start together after a rest" label:"Burst of one key" hint:"how many may start together after a rest"`
	OfKey      string         `json:"-" flag:"key" help:"set the bounds of this run {key} alone" label:"Only of the key" hint:"empty: of every key"`
	Without    []string       `json:"-" flag:"without" form:"-" enum:"rate,budget,breaker,per-key" help:"have no rate, budget, breaker or bounds per key: their {names}, with commas"`
	Anew       bool           `json:"-" flag:"as-in-code" help:"discard all earlier edits first" label:"Discard earlier edits and use the values from code, except for what is changed above"`

	Whole json.RawMessage `json:"-" flag:"json" form:"-" arg:"[JSON]" help:"an edit in one piece"`
}

// settle makes the edit of the settings, for a gate as it stands.
func (p *gateEdit) settle(g *view.Gate) error {
	if p.Whole != nil {
		if err := p.read(&g.Spec); err != nil {
			return err
		}
	}
	now := g.Spec
	if p.AsInCode = p.AsInCode || p.Anew; p.AsInCode && g.Edited != nil {
		now = g.Edited.Declared
	}
	rate := some(param.Over(p.PerSecond, &now.Rate.PerSecond), param.Over(p.Burst, &now.Rate.Burst))
	budget := some(param.Over(p.Tokens, &now.Budget.Tokens), param.Over(p.Cost, &now.Budget.Cost), param.Over(p.Refund, &now.Budget.Refund), param.Over(p.OwnBudget, &now.Budget.PerKey))
	breaker := some(param.Over(p.Failures, &now.Breaker.Failures), param.Over(p.Cooldown, &now.Breaker.Cooldown), param.Over(p.WaitOpen, &now.Breaker.Wait), param.Over(p.OwnBreaker, &now.Breaker.PerKey))
	if p.Key = cmp.Or(p.OfKey, p.Key); p.Key != "" {
		if own, has := g.KeyBounds[p.Key]; has && !p.AsInCode {
			now.PerKey = own
		}
	}
	perKey := some(param.Over(p.KeySlots, &now.PerKey.Limit), param.Over(p.KeyRate, &now.PerKey.Rate.PerSecond), param.Over(p.KeyBurst, &now.PerKey.Rate.Burst))
	if param.Over(p.Slots, &now.Limit) {
		if p.Limit = now.Limit; p.Limit < 1 {
			return param.Bad("limit", "to let no attempt pass, pause the gate", "is %d; a gate has a limit of at least 1", p.Limit)
		}
	}
	switch {
	case !rate:
	case p.PerSecond != nil && now.Rate.PerSecond == 0:
		p.Rate = &gate.Rate{}
	case now.Rate.PerSecond == 0:
		return param.Bad("rate", "a burst is of a rate: give one", "is missing")
	default:
		p.Rate = &now.Rate
	}
	switch {
	case !budget:
	case p.Tokens != nil && now.Budget.Tokens == 0:
		p.Budget = &gate.Budget{}
	case now.Budget.Tokens == 0:
		return param.Bad("tokens", "the rest of a budget needs a number of tokens", "are missing")
	default:
		p.Budget = &now.Budget
	}
	switch {
	case !breaker:
	case p.Failures != nil && now.Breaker.Failures == 0:
		p.Breaker = &gate.Breaker{}
	case now.Breaker.Failures == 0:
		return param.Bad("failures", "a breaker needs a number of failures and a cooldown", "are missing")
	case now.Breaker.Cooldown == 0:
		return param.Bad("cooldown", "a breaker needs the time for which it stays open, such as 30s", "is missing")
	default:
		p.Breaker = &now.Breaker
	}
	switch {
	case !perKey:
	case p.KeyRate != nil && now.PerKey.Rate.PerSecond == 0:
		p.PerKey = &gate.PerKey{Limit: now.PerKey.Limit}
	case p.KeyBurst != nil && now.PerKey.Rate.PerSecond == 0:
		return param.Bad("per-key-rate", "a burst is of a rate: give one", "is missing")
	default:
		p.PerKey = &now.PerKey
	}
	if err := p.without(); err != nil {
		return err
	}
	p.gateSettings = gateSettings{}
	return p.bounds(now)
}

// without takes away the parts that are named.
func (p *gateEdit) without() error {
	for _, part := range p.Without {
		switch {
		case part == "rate" && p.Rate == nil:
			p.Rate = &gate.Rate{}
		case part == "budget" && p.Budget == nil:
			p.Budget = &gate.Budget{}
		case part == "breaker" && p.Breaker == nil:
			p.Breaker = &gate.Breaker{}
		case part == "per-key" && p.PerKey == nil:
			p.PerKey = &gate.PerKey{}
		case part == "rate", part == "budget", part == "breaker", part == "per-key":
			return param.Bad("without", "leave one of the two out", "names the %s, which is set as well", part)
		default:
			return param.Bad("without", "name rate, budget, breaker or per-key with it", "is %q", param.Clip(part))
		}
	}
	return nil
}

// settingOf are the settings by the fields of a gate's spec.
var settingOf = map[string]string{
	"Limit": "limit", "Rate.PerSecond": "rate", "Rate.Burst": "burst", "Budget.Tokens": "tokens", "Budget.Cost": "cost", "Budget.Refund": "refund",
	"Breaker.Failures": "failures", "Breaker.Cooldown": "cooldown",
	"PerKey.Limit": "per-key-limit", "PerKey.Rate.PerSecond": "per-key-rate", "PerKey.Rate.Burst": "per-key-burst",
}

// bounds returns what is out of bounds in what is named, for a gate that is as now.
func (p *gateEdit) bounds(now gate.Spec) error {
	if p.Limit != 0 {
		now.Limit = p.Limit
	}
	param.Over(p.Rate, &now.Rate)
	param.Over(p.Budget, &now.Budget)
	param.Over(p.Breaker, &now.Breaker)
	param.Over(p.PerKey, &now.PerKey)
	if fault, ok := errors.AsType[*spec.FieldError](now.Validate()); ok && settingOf[fault.Field] != "" {
		return param.Bad(settingOf[fault.Field], "", "is %v; allowed is %s", fault.Value, fault.Allowed)
	}
	return nil
}

func some(given ...bool) bool { return slices.Contains(given, true) }

// read reads an edit in one piece, in the form of spec or edited of a gate. What cannot be
// edited must be as it is.
func (p *gateEdit) read(now *gate.Spec) error {
	var in struct {
		view.GateEdit
		Name     string          `json:"name"`
		Mode     gate.Mode       `json:"mode"`
		MaxHold  string          `json:"max_hold"`
		First    bool            `json:"priority_first"`
		Declared json.RawMessage `json:"declared"` // these four say who made an edit
		By       json.RawMessage `json:"by"`
		Why      json.RawMessage `json:"why"`
		Since    json.RawMessage `json:"since"`
	}
	if err := param.Strictly(p.Whole, &in); err != nil {
		return param.Bad("json", "see its form: perdure gates show NAME -o json", "is not that of a gate: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	held, err := time.ParseDuration(in.MaxHold)
	switch {
	case in.MaxHold != "" && (err != nil || held != now.MaxHold):
		return param.Bad("json", "leave max_hold out of it", "has the max_hold %s, and the gate %s: it is changed in code only", in.MaxHold, now.MaxHold)
	case in.First && !now.PriorityFirst:
		return param.Bad("json", "leave priority_first out of it", "has priority_first, and the gate has not: it is changed in code only")
	case in.Name != "" && in.Name != now.Name:
		return param.Bad("json", "leave the name out to use it for another gate", "is that of gate %q", in.Name)
	case in.Mode != "" && in.Mode != now.Mode:
		return param.Bad("json", "leave the mode out of it", "has the mode %q, and the gate %q: it is changed in code only", in.Mode, now.Mode)
	}
	p.GateEdit = in.GateEdit
	return nil
}

// gateEditForm shows what is in force.
func gateEditForm(a *Ask, p *gateEdit) (f Form, err error) {
	g, err := FindGate(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return f, err
	}
	s := &g.Spec
	p.gateSettings = gateSettings{
		Slots: &s.Limit, PerSecond: &s.Rate.PerSecond, Burst: &s.Rate.Burst, Tokens: &s.Budget.Tokens, Cost: &s.Budget.Cost, Refund: &s.Budget.Refund,
		Failures: &s.Breaker.Failures, Cooldown: &s.Breaker.Cooldown, WaitOpen: &s.Breaker.Wait, OwnBreaker: &s.Breaker.PerKey, OwnBudget: &s.Budget.PerKey,
		KeySlots: &s.PerKey.Limit, KeyRate: &s.PerKey.Rate.PerSecond, KeyBurst: &s.PerKey.Rate.Burst,
	}
	f.Button = "Show the difference"
	if g.Edited == nil {
		f.Without = append(f.Without, "as-in-code")
	}
	return f, nil
}
