package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// PauseGate stops attempts from passing a gate, or lets them pass again. Attempts in flight
// continue. When it returns nil, the request is durable. It returns store.ErrNotFound if
// the gate does not exist.
func (c *Client) PauseGate(ctx context.Context, name string, paused bool, by By) error {
	return c.intercept(ctx, operate(map[bool]string{true: "pause-gate", false: "resume-gate"}[paused]), func(ctx context.Context) error {
		if err := c.check(ctx, named("gate", name), by.check()); err != nil {
			return err
		}
		m := core.ToGate{Gate: name, Word: core.GateResume}
		if paused {
			m.Word = core.GatePause
		}
		g, err := c.gate(ctx, name)
		switch {
		case !paused && errors.Is(err, store.ErrNotFound): // the gate is gone, or exists when the message arrives
		case err != nil:
			return err
		case g.Asked(string(m.Word), by.Request) != nil:
			return nil // already obeyed
		case paused: // send the declaration too, in case the gate is forgotten before the message arrives
			m.Spec = g.Declared()
		}
		return c.tellGate(ctx, m, by)
	})
}

// EditGate overrides parts of the gate's declaration. It returns the resulting change as of
// now. With dry it does nothing else; otherwise the request is durable when it returns,
// unless it would change nothing.
func (c *Client) EditGate(ctx context.Context, name string, edit view.GateEdit, dry bool, by By) (view.GateChange, error) {
	return Intercept(ctx, c, operate("edit-gate"), func(ctx context.Context) (view.GateChange, error) {
		recorded := history.RecordGateEdit(edit)
		m := core.ToGate{Gate: name, Word: core.GateEdit, Anew: edit.AsInCode, Edits: &recorded}
		if edit == (view.GateEdit{}) {
			return view.GateChange{}, &history.InputError{What: "edit of a gate", Problem: "names nothing; name a limit, rate, budget or breaker, or restore what the code declares"}
		}
		if err := checkKeyEdit(edit); err != nil {
			return view.GateChange{}, err
		}
		return c.operateGate(ctx, m, dry, by)
	})
}

// checkKeyEdit returns what is wrong with an edit of one run key.
func checkKeyEdit(edit view.GateEdit) error {
	if edit.Key == "" {
		return nil
	}
	if err := history.CheckKey(edit.Key); err != nil {
		return err
	}
	rest := edit
	rest.Key, rest.PerKey, rest.AsInCode = "", nil, false
	switch {
	case rest != view.GateEdit{}:
		return &history.InputError{What: "edit of a gate", Problem: "names a key, and more than the bounds of one; leave the key or the rest out"}
	case edit.PerKey == nil && !edit.AsInCode:
		return &history.InputError{What: "edit of a gate", Problem: "names a key and no bounds for it"}
	}
	return nil
}

// ProbeGate ends the cooldown of a gate's circuit breaker, or of that of one key. It returns the
// change as EditGate does.
func (c *Client) ProbeGate(ctx context.Context, name, key string, dry bool, by By) (view.GateChange, error) {
	return Intercept(ctx, c, operate("probe-gate"), func(ctx context.Context) (view.GateChange, error) {
		return c.operateGate(ctx, core.ToGate{Gate: name, Word: core.GateProbe, Key: key}, dry, by)
	})
}

// ResetGate closes the breaker of a gate or fills its budget. It returns the change as
// EditGate does.
func (c *Client) ResetGate(ctx context.Context, name string, parts view.GateReset, dry bool, by By) (view.GateChange, error) {
	return Intercept(ctx, c, operate("reset-gate"), func(ctx context.Context) (view.GateChange, error) {
		m := core.ToGate{Gate: name, Word: core.GateReset, Key: parts.Key}
		if parts.Breaker {
			m.Parts = append(m.Parts, core.PartBreaker)
		}
		if parts.Budget {
			m.Parts = append(m.Parts, core.PartBudget)
		}
		if len(m.Parts) == 0 {
			return view.GateChange{}, &history.InputError{What: "reset of a gate", Problem: "names nothing; name the breaker, the budget or both"}
		}
		return c.operateGate(ctx, m, dry, by)
	})
}

// operateGate sends a request to a gate, unless it would be refused or change nothing.
func (c *Client) operateGate(ctx context.Context, m core.ToGate, dry bool, by By) (out view.GateChange, err error) {
	if err := c.check(ctx, named("gate", m.Gate), by.check()); err != nil {
		return out, err
	}
	if m.Key != "" {
		if err := history.CheckKey(m.Key); err != nil {
			return out, err
		}
	}
	g, err := c.gate(ctx, m.Gate)
	if err != nil {
		return out, err
	}
	asked := g.Asked(string(m.Word), by.Request)
	m.Spec = g.Declared()
	out, err = gateChange(g, &m, asked, c.now())
	out.DryRun = dry
	if err != nil || dry || asked != nil || m.Word == core.GateProbe && out.Outcome == core.Unchanged {
		return out, err
	}
	return out, c.tellGate(ctx, m, by)
}

// gateChange returns what a request does to a gate, or did if the gate has obeyed it already. The
// error says that it is refused.
func gateChange(g *core.Gate, m *core.ToGate, asked *core.Note, now int64) (out view.GateChange, err error) {
	if asked == nil {
		out = inspect.GateChange(m.Gate, m.Word, g.Preview(now, m))
	} else {
		is := spec.Spec(g.Detail().Spec)
		out = inspect.GateChange(m.Gate, m.Word, core.GatePreview{Before: is, After: is, Outcome: asked.Outcome, Text: asked.Text})
	}
	if out.Outcome == core.Refused {
		err = &history.InputError{What: fmt.Sprintf("%s of gate %q", m.Word, m.Gate), Problem: "is refused: " + out.Note}
	}
	return out, err
}

// gate returns the committed state of a gate.
func (c *Client) gate(ctx context.Context, name string) (*core.Gate, error) {
	g, err := c.read.Gate(ctx, name)
	return g, c.absentGate(ctx, name, err)
}

// absentGate says of a gate that is not there when it is.
func (c *Client) absentGate(ctx context.Context, name string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return c.read.Absent(ctx, entity.Gate, name, "it is made when the first call comes to it, and forgotten a week after the last")
	}
	return err
}

func (c *Client) tellGate(ctx context.Context, m core.ToGate, by By) error {
	m.By, m.Why, m.Request = cmp.Or(by.Who, c.node), by.Why, by.Request
	return c.absentGate(ctx, m.Gate, c.deliver(ctx, message.ControlGate(c.group, &m)))
}
