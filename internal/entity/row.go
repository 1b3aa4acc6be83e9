package entity

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Row returns the fields of the start event that the row repeats, to check one by the other.
func Row(r *store.Run) history.Row {
	return history.Row{WorkflowID: r.WorkflowID, Run: r.ID, Type: r.Type, Group: r.Group, Chain: r.Chain, Attempt: r.Attempt, Created: r.Created}
}
