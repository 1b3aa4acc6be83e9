package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// named is a verb of package ops about something with a name.
type named[R any] = func(ctx context.Context, e *perdure.Engine, name string, options ...ops.ControlOption) (R, error)

var gateCommands = []Command{
	editGate,
	Row(Command{
		On: Gate, Name: "pause", Did: "paused", Short: "Pause a gate",
		Means:   "No attempt passes the gate, on any node and across restarts, until it is resumed. Attempts that run continue.",
		Example: `  perdure gates pause payments --reason "the bank asked for it"`,
	}, tell("pause", ops.PauseGate, atGate)),
	Row(Command{
		On: Gate, Name: "resume", Did: "resumed", Short: "Resume a paused gate",
		Means:   "Attempts pass the gate again, as its limit, rate and breaker allow. A gate that is not paused stays as it is.",
		Example: `  perdure gates resume payments --reason "the bank is ready"`,
	}, tell("resume", ops.ResumeGate, atGate)),
	probeGate,
	resetGate,
}

// tell is a request to a gate or schedule that its owner obeys when it sees it. A dry run says how
// it stands.
func tell(verb string, do func(context.Context, *perdure.Engine, string, ...ops.ControlOption) error, stands func(*Ask) ([]string, error)) func(*Ask, *Reason) (Told, Effect, error) {
	return func(a *Ask, r *Reason) (told Told, e Effect, err error) {
		told = Told{Name: a.Name, Operation: verb, By: a.By, Why: r.Why, DryRun: r.DryRun}
		if !r.DryRun {
			return told, e, do(a.Ctx, a.Engine, a.Name, a.Settings(r)...)
		}
		told.Says, err = stands(a)
		return told, Effect{Says: told.Says}, err
	}
}

// atGate says who is at a gate.
func atGate(a *Ask) ([]string, error) {
	g, err := FindGate(a.Ctx, a.Engine, a.Name)
	if err != nil {
		return nil, err
	}
	return []string{human.Plural(g.Running, "attempt runs", "attempts run") + ", " + human.Plural(g.Waiting, "call waits", "calls wait") + "."}, nil
}

// FindGate returns a gate by its name.
func FindGate(ctx context.Context, e *perdure.Engine, name string) (*view.Gate, error) {
	all, err := ops.Gates(ctx, e)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(g view.Gate) bool { return g.Name == name }); i >= 0 {
		return &all[i], nil
	}
	return nil, fmt.Errorf("no call has come to a gate %q yet: %w", name, perdure.ErrNotFound)
}

// gateEffect says what a change of a gate comes to.
func gateEffect(c *view.GateChange) (e Effect) {
	for _, part := range wording.GateParts {
		e.differ(part, wording.GatePart(c.Before, part), wording.GatePart(c.After, part))
	}
	if e.Same = c.Outcome == view.Unchanged; c.Note != "" && (c.Operation != "edit" || e.Same) {
		e.say(human.Sentence(c.Note))
	}
	switch {
	case c.Starting > 0:
		e.say(human.Count(c.Starting) + " of " + human.Count(c.Waiting) + " waiting " + verb(c.Starting, "starts", "start") + " now.")
	case c.Refusing == 0 && c.Waiting > 0:
		e.say("None of " + human.Count(c.Waiting) + " waiting starts now.")
	}
	if c.Refusing > 0 {
		e.say(human.Count(c.Refusing) + " of " + human.Count(c.Waiting) + " waiting " + verb(c.Refusing, "fails", "fail") + " now, because the breaker is open and calls do not wait for it.")
	}
	if over := c.Holders - c.After.Limit; over > 0 {
		e.say(human.Plural(over, "call holds a slot", "calls hold slots") + " beyond the limit; none starts until " + verb(over, "it has", "they have") + " ended.")
	}
	return e
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
