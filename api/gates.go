package api

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func gateEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/gates", "listGates", "List gates: what they let pass, who holds them and who waits.", "gates", listGates),
		define("GET /api/gates/{name}", "describeGate", "Describe a gate with the calls at it.", "gates show", describeGate),
		define("POST /api/gates/{name}/pause", "pauseGate", "Pause a gate: no attempt passes. Pausing again changes nothing.", "gates pause", tellGate("pause", ops.PauseGate)).writes().withKey(),
		define("POST /api/gates/{name}/resume", "resumeGate", "Resume a paused gate.", "gates resume", tellGate("resume", ops.ResumeGate)).writes().withKey(),
		define("POST /api/gates/{name}/edit", "editGate", "Change what a gate does, without a deployment; with dry_run only say what that means.", "gates edit", editGate).writes().withKey(),
		define("POST /api/gates/{name}/probe", "probeGate", "Let one attempt pass an open circuit breaker.", "gates probe", probeGate).writes().withKey(),
		define("POST /api/gates/{name}/reset", "resetGate", "Close the circuit breaker of a gate, or fill its retry budget.", "gates reset", resetGate).writes().withKey(),
	}
}

type gateList struct {
	Gates []view.Gate `json:"gates" doc:"by name"`
}

func listGates(c *call, _, _ none) (gateList, error) {
	gates, err := ops.Gates(c.Context(), c.e)
	return gateList{append([]view.Gate{}, gates...)}, err
}

func describeGate(c *call, _, _ none) (*view.Gate, error) {
	gates, err := ops.Gates(c.Context(), c.e)
	if err != nil {
		return nil, err
	}
	for i := range gates {
		if gates[i].Name == c.PathValue("name") {
			return &gates[i], nil
		}
	}
	return nil, notFound.Of(human.Sentence("no call has come to a gate " + quote(c.PathValue("name")) + " yet"))
}

// reasonBody says why something without a dry run is done.
type reasonBody struct {
	Why string `json:"why,omitempty" doc:"for the audit"`
}

// told is a request that is in the database.
type told struct {
	Name      string `json:"name" doc:"of the gate or schedule"`
	Operation string `json:"operation" doc:"pause, resume or delete"`
	By        string `json:"by" doc:"who asked, by the token"`
	Why       string `json:"why,omitempty" doc:"reason that was given"`
}

// tell sends a request to a gate or schedule.
type tell = func(ctx context.Context, e *perdure.Engine, name string, options ...ops.ControlOption) error

func tellGate(what string, f tell) func(*call, none, reasonBody) (told, error) {
	return func(c *call, _ none, b reasonBody) (told, error) {
		name := c.PathValue("name")
		return told{name, what, c.who.Name, b.Why}, f(c.Context(), c.e, name, c.control(b.Why, false)...)
	}
}

type editBody struct {
	view.GateEdit
	whyBody
}

func (editBody) oneOf() ([]string, string) {
	return []string{"limit", "rate", "budget", "breaker", "as_in_code"}, "name what is to change, as in {\"limit\": 5}"
}

func editGate(c *call, _ none, b editBody) (view.GateChange, error) {
	return ops.EditGate(c.Context(), c.e, c.PathValue("name"), b.GateEdit, c.control(b.Why, b.DryRun)...)
}

func probeGate(c *call, _ none, b whyBody) (view.GateChange, error) {
	return ops.ProbeGate(c.Context(), c.e, c.PathValue("name"), c.control(b.Why, b.DryRun)...)
}

type resetBody struct {
	Breaker bool `json:"breaker,omitempty" doc:"it closes, and counts no failures"`
	Budget  bool `json:"budget,omitempty" doc:"it has all its tokens"`
	whyBody
}

func (resetBody) oneOf() ([]string, string) {
	return []string{"breaker", "budget"}, "name the parts to reset, as in {\"breaker\": true}"
}

func resetGate(c *call, _ none, b resetBody) (view.GateChange, error) {
	parts := view.GateReset{Breaker: b.Breaker, Budget: b.Budget}
	return ops.ResetGate(c.Context(), c.e, c.PathValue("name"), parts, c.control(b.Why, b.DryRun)...)
}
