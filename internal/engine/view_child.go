package engine

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

func viewParent(p *history.Parent) *Parent {
	if p == nil || entity.KindOf(p.WorkflowID) == entity.Schedule {
		return nil
	}
	return &Parent{WorkflowID: p.WorkflowID, RunID: p.Run, Call: p.Call, Detached: p.Detached}
}

func viewChild(ev history.Event) *ChildInfo {
	c := &ChildInfo{WorkflowID: ev.ID, RunID: ev.Child.Run}
	switch {
	case ev.Kind == history.DetachedScheduled:
	case ev.Child.OnParentClose == history.CancelChild:
		c.OnParentClose = "cancel"
	default:
		c.OnParentClose = string(ev.Child.OnParentClose)
	}
	return c
}

// shownChildren is of how many pending children a description says how they stand: it
// costs a look at each.
const shownChildren = 100

// findChildren says how the runs stand that calls have started.
func (e *Engine) findChildren(ctx context.Context, calls []PendingCall) error {
	looked := 0
	for i := range calls {
		c := calls[i].Child
		if c == nil {
			continue
		}
		if looked++; looked > shownChildren {
			return nil
		}
		row, err := e.db.Find(ctx, entity.Place(e.group, c.WorkflowID), c.WorkflowID, "")
		if err == nil && row.Chain != c.RunID { // another one has its ID now, or had it before
			row, err = e.db.Find(ctx, row.Partition, c.WorkflowID, c.RunID)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			c.Status = "starting"
		case err != nil:
			return err
		default:
			c.RunID, c.Status = row.ID, string(row.Status)
		}
	}
	return nil
}
