package entity

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Row returns what the row of a run says of its start event, which is checked against it.
func Row(r *store.Run) history.Row {
	return history.Row{WorkflowID: r.WorkflowID, Run: r.ID, Type: r.Type, Group: r.Group, Chain: r.Chain, Attempt: r.Attempt, Created: r.Created}
}
