package postgres

import (
	"strings"

	"github.com/perdure/perdure/store"
)

// runColumns are the columns of runFields.
const runColumns = `partition, id, workflow_id, type, node_group, chain, attempt, created, status, coalesce(wake, 9223372036854775807), closed, start, detail, priority, is_full, ward, latest, run_key, weight,
	(SELECT json_agg(json_build_array(a.name, a.value)) FROM perdure.attributes a WHERE a.partition = runs.partition AND a.run = runs.id)::text`

// runColumnsOf1 are the same in a statement whose first parameter is the only partition
// that it reads.
var runColumnsOf1 = strings.ReplaceAll(runColumns, "a.partition = runs.partition", "a.partition = $1")

// runColumnsHere are the same in a text for forms.
var runColumnsHere = strings.ReplaceAll(runColumns, "a.partition = ", "a.partition "+here)

func runFields(r *store.Run) []any {
	return []any{&r.Partition, (*runID)(&r.ID), &r.WorkflowID, &r.Type, &r.Group, (*runID)(&r.Chain), &r.Attempt, &r.Created, &r.Status, &r.Wake, &r.Closed,
		(*opaque)(&r.Start), (*opaque)(&r.Detail), &r.Priority, &r.Full, &r.Ward, &r.Latest, &r.Key, &r.Weight, (*attributes)(&r.Attributes)}
}

// attributes reads the attributes of a run.
type attributes []store.Attribute

// ScanBytes implements pgtype.BytesScanner.
func (a *attributes) ScanBytes(pairs []byte) error {
	all, err := store.DecodeAttributes(pairs)
	*a = all
	return err
}
