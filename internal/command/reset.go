package command

import (
	"fmt"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/view"
)

func noCall(n int64) *param.Wrong {
	return param.Bad("call", "see the numbers of calls: perdure history ID", "is %d; there is no such call", n)
}

// proposeReset proposes the call that failed, for a run that has failed.
func proposeReset(a *Ask, p *resetParams) (f Form, err error) {
	if a.Name == "" {
		return f, nil
	}
	o, err := a.Engine.Workflow(a.Name).Overview(a.Ctx)
	if err != nil || o.Description.Failure == nil {
		return f, nil // the form itself says what is wrong
	}
	for i := range o.Calls {
		c := &o.Calls[i]
		if c.Outcome == view.OutcomeFailed || c.Outcome == view.OutcomeTimedOut || c.Outcome == view.OutcomeLost {
			p.Call = c.Call
			f.Hints = map[string]string{"call": fmt.Sprintf("call %d, %s, is the last that failed; the history shows all", c.Call, human.Clip(c.Name, 60))}
		}
	}
	return f, nil
}
