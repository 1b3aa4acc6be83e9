package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// gateFlags are the flags of "gates edit".
type gateFlags struct {
	limit, burst, tokens, failures int
	rate, cost, refund             float64
	cooldown                       time.Duration
	wait, asInCode                 bool
	without                        []string
}

func (f *gateFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", 0, "let this `number` of attempts run at a time")
	flags.Float64Var(&f.rate, "rate", 0, "let this `number` of attempts start per second")
	flags.IntVar(&f.burst, "burst", 0, "of the rate: the `number` of attempts that may start together after a rest")
	flags.IntVar(&f.tokens, "tokens", 0, "of the retry budget: the `number` of tokens")
	flags.Float64Var(&f.cost, "cost", 0, "of the retry budget: the tokens that a `retry` costs")
	flags.Float64Var(&f.refund, "refund", 0, "of the retry budget: the tokens that a `success` at the first attempt brings")
	flags.IntVar(&f.failures, "failures", 0, "of the circuit breaker: the `number` of failures in succession that open it")
	flags.DurationVar(&f.cooldown, "cooldown", 0, "of the circuit breaker: the `duration` for which it stays open")
	flags.BoolVar(&f.wait, "wait-open", false, "of the circuit breaker: calls wait while it is open; with =false they fail")
	flags.StringSliceVar(&f.without, "without", nil, "have no rate, budget or breaker: their `names`, with commas")
	flags.BoolVar(&f.asInCode, "as-in-code", false, "end all earlier edits first")
	_ = cmd.RegisterFlagCompletionFunc("without", cobra.FixedCompletions([]string{"rate", "budget", "breaker"}, cobra.ShellCompDirectiveNoFileComp))
}

// edit returns the changes that the flags make to a gate's spec. What no flag names is
// unchanged.
func (f *gateFlags) edit(cmd *cobra.Command, edit view.GateEdit, current gate.Spec) (view.GateEdit, error) {
	changed := func(names ...string) bool { return anyChanged(cmd, names) != "" }
	edit.AsInCode = edit.AsInCode || f.asInCode
	if changed("limit") {
		if f.limit < 1 {
			return edit, usage("To let no attempt pass: perdure gates pause NAME", "--limit is %d; a gate has a limit of at least 1.", f.limit)
		}
		edit.Limit = f.limit
	}
	if changed("rate", "burst") {
		rate := current.Rate
		set(cmd, "rate", &rate.PerSecond, f.rate)
		set(cmd, "burst", &rate.Burst, f.burst)
		if rate.PerSecond == 0 {
			return edit, usage("Name it with --rate; to have none: --without rate", "The rate is missing.")
		}
		edit.Rate = &rate
	}
	if changed("tokens", "cost", "refund") {
		budget := current.Budget
		set(cmd, "tokens", &budget.Tokens, f.tokens)
		set(cmd, "cost", &budget.Cost, f.cost)
		set(cmd, "refund", &budget.Refund, f.refund)
		if budget.Tokens == 0 {
			return edit, usage("Name it with --tokens; to have no budget: --without budget", "The number of tokens is missing.")
		}
		edit.Budget = &budget
	}
	if changed("failures", "cooldown", "wait-open") {
		breaker := current.Breaker
		set(cmd, "failures", &breaker.Failures, f.failures)
		set(cmd, "cooldown", &breaker.Cooldown, f.cooldown)
		set(cmd, "wait-open", &breaker.Wait, f.wait)
		if breaker.Failures == 0 || breaker.Cooldown == 0 {
			return edit, usage("Name both with --failures and --cooldown; to have no breaker: --without breaker", "The gate has no circuit breaker, and one needs a number of failures and a cooldown.")
		}
		edit.Breaker = &breaker
	}
	for _, part := range f.without {
		switch {
		case part == "rate" && edit.Rate == nil:
			edit.Rate = &gate.Rate{}
		case part == "budget" && edit.Budget == nil:
			edit.Budget = &gate.Budget{}
		case part == "breaker" && edit.Breaker == nil:
			edit.Breaker = &gate.Breaker{}
		case part == "rate", part == "budget", part == "breaker":
			return edit, usage("Leave one of them out.", "The %s is both set and left out by --without.", part)
		default:
			return edit, usage("Use rate, budget or breaker.", "--without is %q.", part)
		}
	}
	return edit, nil
}

// set changes a field if its flag was given.
func set[T any](cmd *cobra.Command, flag string, field *T, value T) {
	if cmd.Flags().Changed(flag) {
		*field = value
	}
}

// specOf parses an edit in the form of spec or edited in "gates show NAME -o json". Fields
// that cannot be edited must be unchanged.
func (a *app) specOf(text string, current gate.Spec) (view.GateEdit, error) {
	data, err := a.jsonValue("gate", text)
	if err != nil {
		return view.GateEdit{}, err
	}
	var in struct {
		view.GateEdit
		Name     string          `json:"name"`
		Mode     gate.Mode       `json:"mode"`
		MaxHold  string          `json:"max_hold"`
		Declared json.RawMessage `json:"declared"` // these four say who made an edit
		By       json.RawMessage `json:"by"`
		Why      json.RawMessage `json:"why"`
		Since    json.RawMessage `json:"since"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return view.GateEdit{}, usage("See its form: perdure gates show NAME -o json", "The JSON is not that of a gate: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	if in.MaxHold != "" {
		held, err := time.ParseDuration(in.MaxHold)
		if err != nil || held != current.MaxHold {
			return view.GateEdit{}, usage("Leave max_hold out.", "max_hold is %s, and the gate has %s: it is changed in code only.", in.MaxHold, current.MaxHold)
		}
	}
	if in.Name != "" && in.Name != current.Name {
		return view.GateEdit{}, usage("Leave the name out to use it for another gate.", "The JSON is that of gate %q.", in.Name)
	}
	if in.Mode != "" && in.Mode != current.Mode {
		return view.GateEdit{}, usage("Leave the mode out.", "The mode is %q, and that of the gate %q: it is changed in code only.", in.Mode, current.Mode)
	}
	return in.GateEdit, nil
}

func (a *app) editGateCommand() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "edit NAME [JSON]",
		Short: "Change what a gate does, now",
		Long: `Change the limit, rate, retry budget or circuit breaker of a gate, on all nodes, without
a deployment. What no flag names stays as it is. The command shows the difference and what
it means for waiting calls; with --dry-run it stops there.

An edit holds until another one names the same, or --as-in-code takes it back. A deployment
with other values does not end it: "perdure gates show NAME" says what is in force and where
it comes from. A lower limit takes effect as attempts end. A breaker that is open stays so:
see "perdure gates probe" and "perdure gates reset".

JSON is an edit in one piece, such as '{"limit": 10}' or the spec of another database's
"perdure gates show NAME -o json"; with - it is read from standard input.`,
		Example: `  perdure gates edit payments --limit 10 --dry-run
  perdure gates edit payments --rate 50 --burst 10 --reason "the provider asked for it"
  perdure gates edit payments --without breaker
  perdure gates edit payments --as-in-code`,
	}
	f.add(cmd)
	a.changesGate(cmd, func(ctx context.Context, e *perdure.Engine, args []string, options []ops.ControlOption) (change view.GateChange, err error) {
		g, err := a.gate(ctx, e, args[0])
		if err != nil {
			return change, err
		}
		base := g.Spec
		if f.asInCode && g.Edited != nil {
			base = g.Edited.Declared
		}
		var edit view.GateEdit
		if len(args) == 2 {
			if edit, err = a.specOf(args[1], g.Spec); err != nil {
				return change, err
			}
		}
		if edit, err = f.edit(cmd, edit, base); err != nil {
			return change, err
		}
		return ops.EditGate(ctx, e, args[0], edit, options...)
	})
	return cmd
}

func (a *app) probeGateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe NAME",
		Short: "Let one attempt pass an open circuit breaker",
		Long: `End the cooldown of a gate's circuit breaker: the first call in line starts its attempt
now, as the probe. If it succeeds the breaker closes and the others pass; if it fails the
breaker is open again for its cooldown. If no call waits, the next one that comes is the
probe.`,
		Example: `  perdure gates probe payments --reason "they say that it is up"
  perdure gates probe payments --dry-run`,
	}
	a.changesGate(cmd, func(ctx context.Context, e *perdure.Engine, args []string, options []ops.ControlOption) (view.GateChange, error) {
		return ops.ProbeGate(ctx, e, args[0], options...)
	})
	return cmd
}

func (a *app) resetGateCommand() *cobra.Command {
	var parts view.GateReset
	cmd := &cobra.Command{
		Use:   "reset NAME",
		Short: "Close the circuit breaker of a gate, or fill its retry budget",
		Long: `Reset a gate: --breaker closes its circuit breaker, so that waiting calls start as limit and
rate allow; --budget fills its retry budget. To try with one attempt first:
perdure gates probe NAME`,
		Example: `  perdure gates reset payments --breaker --dry-run
  perdure gates reset payments --breaker --budget --reason "the bank is back"`,
	}
	cmd.Flags().BoolVar(&parts.Breaker, "breaker", false, "close the circuit breaker")
	cmd.Flags().BoolVar(&parts.Budget, "budget", false, "fill the retry budget")
	a.changesGate(cmd, func(ctx context.Context, e *perdure.Engine, args []string, options []ops.ControlOption) (view.GateChange, error) {
		if parts == (view.GateReset{}) {
			return view.GateChange{}, usage("Use --breaker, --budget or both.", "What is to be reset is missing.")
		}
		return ops.ResetGate(ctx, e, args[0], parts, options...)
	})
	return cmd
}

// gateWords replaces the field names of a gate's spec by the flags.
var gateWords = strings.NewReplacer("Limit is", "--limit is", "Rate.PerSecond", "--rate", "Rate.Burst", "--burst", "Budget.Tokens", "--tokens", "Budget.Cost", "--cost",
	"Budget.Refund", "--refund", "Breaker.Failures", "--failures", "Breaker.Cooldown", "--cooldown", "to Tokens", "to --tokens")

// changesGate runs a command that changes a gate and prints the change.
func (a *app) changesGate(cmd *cobra.Command, change func(context.Context, *perdure.Engine, []string, []ops.ControlOption) (view.GateChange, error)) {
	var who person
	var dry bool
	var once func() []ops.ControlOption
	cmd.Args = arguments
	cmd.ValidArgsFunction = a.completeArgument(gateNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withNamed(cmd.Context(), "gate", args[0], func(e *perdure.Engine) error {
			options := append(once(), ops.By(a.user(who)), ops.Why(who.why))
			if dry {
				options = append(options, ops.DryRun())
			}
			c, err := change(cmd.Context(), e, args, options)
			if refused, ok := errors.AsType[*view.InputError](err); ok {
				return &Error{Code: exitError, What: gateWords.Replace(human.Sentence(refused.Error())), Hint: "See how the gate stands: " + a.sameDatabase("perdure gates show "+term.Quote(args[0]))}
			}
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.document(c)
			}
			a.showGateChange(&c)
			return nil
		})
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show what would change, and what it means")
	who.addFlags(cmd)
	once = onceFlag(cmd)
}

// showGateChange shows the difference and its effect on waiting calls.
func (a *app) showGateChange(c *view.GateChange) {
	differ := func(what, was, is string) {
		if was != is {
			a.printf("%s %s -> %s\n", what, was, is)
		}
	}
	for _, name := range wording.GateParts {
		differ(name, wording.GatePart(c.Before, name), wording.GatePart(c.After, name))
	}
	if c.Note != "" && (c.Operation != "edit" || c.Outcome == view.Unchanged) {
		a.printf("%s\n", human.Sentence(c.Note))
	}
	switch {
	case c.Starting > 0:
		a.printf("%s of %s waiting %s now.\n", human.Count(c.Starting), human.Count(c.Waiting), verb(c.Starting, "starts", "start"))
	case c.Refusing == 0 && c.Waiting > 0:
		a.printf("None of %s waiting starts now.\n", human.Count(c.Waiting))
	}
	if c.Refusing > 0 {
		a.printf("%s of %s waiting %s now, because the breaker is open and calls do not wait for it.\n", human.Count(c.Refusing), human.Count(c.Waiting), verb(c.Refusing, "fails", "fail"))
	}
	if over := c.Holders - c.After.Limit; over > 0 {
		a.printf("%s beyond the limit; none starts until %s ended.\n", human.Plural(over, "call holds a slot", "calls hold slots"), verb(over, "it has", "they have"))
	}
	switch {
	case c.DryRun:
		a.printf("\nNothing was changed: this is a dry run.\n")
	case c.Outcome == view.Applied:
		a.printf("\nThis is so as soon as an engine%s sees it. To see it: %s\n", a.inGroup(), a.sameDatabase("perdure gates show "+term.Quote(c.Gate)))
	}
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// gate returns a gate by name.
func (a *app) gate(ctx context.Context, e *perdure.Engine, name string) (*view.Gate, error) {
	gates, err := ops.Gates(ctx, e)
	if err != nil {
		return nil, err
	}
	for i := range gates {
		if gates[i].Name == name {
			return &gates[i], nil
		}
	}
	return nil, fmt.Errorf("there is no gate %q: %w", name, perdure.ErrNotFound)
}
