package inspect

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

func parentOf(p *history.Parent) *view.Parent {
	if p == nil || entity.KindOf(p.WorkflowID) == entity.Schedule {
		return nil
	}
	return &view.Parent{WorkflowID: p.WorkflowID, RunID: p.Run, Call: p.Call, Detached: p.Detached}
}

func childOf(ev history.Event) *view.Child {
	c := &view.Child{WorkflowID: ev.ID, RunID: ev.Child.Run}
	switch {
	case ev.Kind == history.DetachedScheduled:
	case ev.Child.OnParentClose == history.CancelChild:
		c.OnParentClose = "cancel"
	default:
		c.OnParentClose = string(ev.Child.OnParentClose)
	}
	return c
}

// shownChildren is how many open children of a description have a status. Each costs a
// query.
const shownChildren = 100

// addChildren adds the latest runs and statuses of the children that calls started.
func (in *Inspector) addChildren(ctx context.Context, calls []view.Call) error {
	looked := 0
	for i := range calls {
		c := calls[i].Child
		if c == nil {
			continue
		}
		if looked++; looked > shownChildren {
			return nil
		}
		row, err := in.db.Find(ctx, entity.Place(in.group, c.WorkflowID), c.WorkflowID, "")
		if err == nil && row.Chain != c.RunID { // another chain has the workflow ID
			row, err = in.db.Find(ctx, row.Partition, c.WorkflowID, c.RunID)
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
