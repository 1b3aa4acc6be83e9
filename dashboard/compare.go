package dashboard

import (
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// comparePage shows where two runs differ.
type comparePage struct {
	view.Comparison
	Runs []comparedRun
	Says string
	Rows []comparedCall
}

// comparedRun is one of the two.
type comparedRun struct {
	*view.Run
	Took string // empty while it is open
}

// comparedCall is what two runs did under one number.
type comparedCall struct {
	view.CallPair
	Step, WentA, WentB string
}

func (p *comparePage) title() string { return p.A.WorkflowID + " and " + p.B.WorkflowID }

func compare(q *request) (any, error) {
	h, _, _, err := q.which()
	if err != nil {
		return nil, err
	}
	with := q.URL.Query().Get("with")
	if with == "" {
		return nil, &badRequest{"The address does not name the other run.", "Enter its workflow ID on the page of a run."}
	}
	a, err := h.Overview(q.ctx)
	if err != nil {
		return nil, err
	}
	b, err := q.engine.Workflow(with).OfRun(q.URL.Query().Get("with_run")).Overview(q.ctx)
	if err != nil {
		return nil, err
	}
	p := &comparePage{Comparison: view.Compare(a, b)}
	p.Runs = []comparedRun{{&p.A, wording.Lasted(&p.A)}, {&p.B, wording.Lasted(&p.B)}}
	p.Says = wording.Compared(&p.Comparison)
	for _, pair := range p.Calls {
		p.Rows = append(p.Rows, comparedCall{pair, wording.StepOf(&pair), wording.Went(pair.A), wording.Went(pair.B)})
	}
	return p, nil
}
