package dashboard

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var gateChanges = []change{
	{
		kind: "gate", name: "edit", label: "Edit",
		means: "What you change overrides what the code declares, on all nodes, until the gate is edited again. What you leave as it is follows the code.",
		ask:   askGateEdit,
		do: func(q *request, name string, form url.Values, who []ops.ControlOption) (url.Values, error) {
			edit, err := gateEditOf(form.Get("edit"))
			if err == nil {
				_, err = ops.EditGate(q.ctx, q.engine, name, edit, who...)
			}
			return nil, err
		},
	},
	{
		kind: "gate", name: "pause", label: "Pause",
		means: "No attempt passes the gate, on any node and across restarts, until it is resumed. Attempts that run go on.",
		ask:   askGate(nil),
		do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			return nil, ops.PauseGate(q.ctx, q.engine, name, who...)
		},
	},
	{
		kind: "gate", name: "resume", label: "Resume", means: "Attempts pass the gate again, as its limit, rate and breaker allow.",
		ask: askGate(nil),
		do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			return nil, ops.ResumeGate(q.ctx, q.engine, name, who...)
		},
	},
	{
		kind: "gate", name: "probe", label: "Probe",
		means: "The first call in line starts its attempt now. If it succeeds the breaker closes and the others pass; if it fails the breaker is open again for its cooldown.",
		ask: askGate(func(q *request, name string) (view.GateChange, error) {
			return ops.ProbeGate(q.ctx, q.engine, name, ops.DryRun())
		}),
		do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			_, err := ops.ProbeGate(q.ctx, q.engine, name, who...)
			return nil, err
		},
	},
	{
		kind: "gate", name: "reset", label: "Reset", means: "The circuit breaker closes and the retry budget is full again, whatever came before.",
		ask: askGateReset,
		do: func(q *request, name string, form url.Values, who []ops.ControlOption) (url.Values, error) {
			_, err := ops.ResetGate(q.ctx, q.engine, name, resetOf(form), who...)
			return nil, err
		},
	},
}

// askGate needs no input and shows the result of a dry run.
func askGate(dry func(*request, string) (view.GateChange, error)) func(*request, *changeForm) error {
	return func(q *request, f *changeForm) error {
		g, err := q.gateNamed(f.Name)
		if err != nil {
			return err
		}
		f.Sure = true
		if dry == nil {
			f.Says = []string{human.Plural(g.Running, "attempt runs", "attempts run") + ", " + human.Plural(g.Waiting, "call waits", "calls wait") + "."}
			return nil
		}
		c, err := dry(q, f.Name)
		if err == nil {
			f.gateSays(&c)
		}
		return err
	}
}

// gateSays shows the result of a dry run.
func (f *changeForm) gateSays(c *view.GateChange) {
	for _, part := range wording.GateParts {
		if before, after := wording.GatePart(c.Before, part), wording.GatePart(c.After, part); before != after {
			f.Diff = append(f.Diff, partDiff{part, before, after})
		}
	}
	say := func(text string) { f.Says = append(f.Says, text) }
	if c.Note != "" && (c.Operation != "edit" || c.Outcome == view.Unchanged) {
		say(strings.ToUpper(c.Note[:1]) + c.Note[1:] + ".")
	}
	switch {
	case c.Starting > 0:
		say(human.Count(c.Starting) + " of " + human.Plural(c.Waiting, "call", "calls") + " that wait start now.")
	case c.Refusing == 0 && c.Waiting > 0:
		say("None of " + human.Plural(c.Waiting, "call that waits", "calls that wait") + " starts now.")
	}
	if c.Refusing > 0 {
		say(human.Count(c.Refusing) + " of " + human.Plural(c.Waiting, "call", "calls") + " that wait fail now, because the breaker is open and calls do not wait for it.")
	}
	if over := c.Holders - c.After.Limit; over > 0 {
		say(human.Plural(over, "call holds a slot", "calls hold slots") + " beyond the limit; none starts until so many have ended.")
	}
	f.Sure = c.Outcome != view.Unchanged
}

// resetOf returns the parts that a form names.
func resetOf(v url.Values) view.GateReset {
	return view.GateReset{Breaker: v.Get("breaker") != "", Budget: v.Get("budget") != ""}
}

func askGateReset(q *request, f *changeForm) error {
	g, err := q.gateNamed(f.Name)
	if err != nil {
		return err
	}
	parts, asked := resetOf(f.values), f.values.Has("asked")
	checked := func(on bool) string {
		if on {
			return "yes"
		}
		return ""
	}
	if g.Breaker != "" {
		f.Fields = append(f.Fields, changeInput{Name: "breaker", Label: "Close the circuit breaker, which is " + strings.ReplaceAll(g.Breaker, "_", " "), Check: true, Value: checked(parts.Breaker)})
	}
	if g.Tokens != nil {
		f.Fields = append(f.Fields, changeInput{Name: "budget", Label: "Fill the retry budget, which has " + number(*g.Tokens) + " of " + strconv.Itoa(g.Spec.Budget.Tokens) + " tokens", Check: true, Value: checked(parts.Budget)})
	}
	f.Asks = "Show what it means"
	switch {
	case !asked:
		return nil
	case parts == view.GateReset{}:
		return wrongFieldf("Nothing is chosen. Choose what the gate is to forget.")
	}
	c, err := ops.ResetGate(q.ctx, q.engine, f.Name, parts, ops.DryRun())
	if err != nil {
		return err
	}
	f.gateSays(&c)
	f.hide("breaker", checked(parts.Breaker))
	f.hide("budget", checked(parts.Budget))
	f.hide("asked", "yes")
	return nil
}

// gateEditOf decodes the difference that the second form of an edit sends.
func gateEditOf(text string) (edit view.GateEdit, err error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&edit); err != nil {
		return edit, wrongFieldf("The difference is missing or cannot be read. Write what is to be into the form and look at the difference first.")
	}
	return edit, nil
}

func number(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

func whole(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func lasting(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func askGateEdit(q *request, f *changeForm) error {
	g, err := q.gateNamed(f.Name)
	if err != nil {
		return err
	}
	now, declared := g.Spec, g.Spec
	if g.Edited != nil {
		declared = g.Edited.Declared
	}
	value := func(name, current string) string {
		if f.values.Has("asked") {
			return strings.TrimSpace(f.values.Get(name))
		}
		return current
	}
	wait := "fail"
	if now.Breaker.Wait {
		wait = "wait"
	}
	wait = value("open", wait)
	f.Fields = []changeInput{
		{Name: "limit", Label: "Limit", Hint: "attempts at a time", Value: value("limit", strconv.Itoa(now.Limit)), Number: true},
		{Name: "rate", Label: "Rate per second", Hint: "attempts that start; empty: no rate", Value: value("rate", number(now.Rate.PerSecond)), Number: true},
		{Name: "burst", Label: "Burst", Hint: "so many may start together after a rest", Value: value("burst", whole(now.Rate.Burst)), Number: true},
		{Name: "tokens", Label: "Retry budget, tokens", Hint: "empty: no budget", Value: value("tokens", whole(now.Budget.Tokens)), Number: true},
		{Name: "cost", Label: "Cost of a retry", Hint: "tokens; empty: 1", Value: value("cost", number(now.Budget.Cost)), Number: true},
		{Name: "refund", Label: "Refund of a success at the first try", Hint: "tokens; empty: none", Value: value("refund", number(now.Budget.Refund)), Number: true},
		{Name: "failures", Label: "Breaker opens after failures", Hint: "in succession; empty: no breaker", Value: value("failures", whole(now.Breaker.Failures)), Number: true},
		{Name: "cooldown", Label: "Breaker stays open for", Hint: "such as 30s or 5m", Value: value("cooldown", lasting(now.Breaker.Cooldown))},
		{Name: "open", Label: "While the breaker is open", Choices: []changeChoice{{"fail", "calls fail", wait != "wait"}, {"wait", "calls wait", wait == "wait"}}},
	}
	if g.Edited != nil {
		f.Fields = append(f.Fields, changeInput{
			Name: "as-in-code", Label: "Set it back: as in code, whatever stands above", Value: value("as-in-code", ""), Check: true,
		})
	}
	f.Asks = "Show the difference"
	if !f.values.Has("asked") {
		return nil
	}
	edit := view.GateEdit{AsInCode: f.values.Get("as-in-code") != ""}
	if !edit.AsInCode {
		if edit, err = f.gateEdit(now); err != nil {
			return err
		}
	}
	if (edit == view.GateEdit{}) {
		f.Says = []string{"Nothing is different from what is in force."}
		return nil
	}
	c, err := ops.EditGate(q.ctx, q.engine, f.Name, edit, ops.DryRun())
	if err != nil {
		return err
	}
	f.gateSays(&c)
	if f.Sure && edit.AsInCode && len(f.Diff) == 0 {
		f.Says = append(f.Says, "It stays as it is, "+wording.GatePart(declared, "limit")+" at a time, and follows the code from now on.")
	}
	text, err := json.Marshal(edit)
	f.hide("edit", string(text))
	return err
}

// gateEdit returns how a form differs from the spec in force.
func (f *changeForm) gateEdit(now gate.Spec) (edit view.GateEdit, err error) {
	r := &fieldReader{values: f.values}
	limit := r.whole("limit", "limit")
	rate := gate.Rate{PerSecond: r.number("rate", "rate"), Burst: r.whole("burst", "burst")}
	budget := gate.Budget{Tokens: r.whole("tokens", "number of tokens"), Cost: r.number("cost", "cost"), Refund: r.number("refund", "refund")}
	breaker := gate.Breaker{Failures: r.whole("failures", "number of failures"), Cooldown: r.duration("cooldown", "cooldown"), Wait: f.values.Get("open") == "wait"}
	if r.err != nil {
		return edit, r.err
	}
	if limit < 1 {
		return edit, wrongFieldf("The limit is %d; a gate has a limit of at least 1. To let no attempt pass, pause it.", limit)
	}
	if rate.PerSecond == 0 {
		if rate.Burst != 0 && now.Rate.PerSecond == 0 {
			return edit, wrongFieldf("A burst needs a rate. Give one, or leave both empty.")
		}
		rate = gate.Rate{}
	}
	if budget.Tokens == 0 {
		if (budget.Cost != 0 || budget.Refund != 0) && now.Budget.Tokens == 0 {
			return edit, wrongFieldf("Cost and refund need a number of tokens. Give one, or leave all three empty.")
		}
		budget = gate.Budget{}
	}
	if breaker.Failures == 0 {
		if breaker.Cooldown != 0 && now.Breaker.Failures == 0 {
			return edit, wrongFieldf("A breaker needs a number of failures. Give one, or leave the cooldown empty.")
		}
		breaker = gate.Breaker{}
	} else if breaker.Cooldown == 0 {
		return edit, wrongFieldf("A breaker needs the time for which it stays open. Give one such as 30s, or leave the failures empty to have no breaker.")
	}
	if limit != now.Limit {
		edit.Limit = limit
	}
	if rate != now.Rate {
		edit.Rate = &rate
	}
	if budget != now.Budget {
		edit.Budget = &budget
	}
	if breaker != now.Breaker {
		edit.Breaker = &breaker
	}
	return edit, nil
}

// fieldReader reads fields of a form. It keeps the first error.
type fieldReader struct {
	values url.Values
	err    error
}

func (r *fieldReader) text(name string) string { return strings.TrimSpace(r.values.Get(name)) }

func (r *fieldReader) fail(what, text, form string) {
	if r.err == nil {
		r.err = wrongFieldf("The %s is %q. Write %s.", what, clipBytes(text, 100), form)
	}
}

func (r *fieldReader) whole(name, what string) int {
	text := r.text(name)
	n, err := strconv.Atoi(text)
	if text != "" && (err != nil || n < 0) {
		r.fail(what, text, "a whole number, such as 10")
	}
	return n
}

func (r *fieldReader) number(name, what string) float64 {
	text := r.text(name)
	n, err := strconv.ParseFloat(text, 64)
	if text != "" && (err != nil || !(n >= 0 && n < 1e18)) {
		r.fail(what, text, "a number, such as 2.5")
	}
	return n
}

func (r *fieldReader) duration(name, what string) time.Duration {
	text := r.text(name)
	d, err := time.ParseDuration(text)
	if text != "" && (err != nil || d < 0) {
		r.fail(what, text, "a duration, such as 30s or 1h30m")
	}
	return d
}
