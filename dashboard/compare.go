package dashboard

import (
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// comparePage shows where two runs differ.
type comparePage struct {
	view.Comparison
	Says string
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
	c := view.Compare(a, b)
	return &comparePage{c, wording.Compared(&c)}, nil
}
