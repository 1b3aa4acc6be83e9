package entity

import (
	"hash/fnv"

	"github.com/perdure/perdure/store"
)

// Place returns the partition of a workflow ID: of all its runs, or of the standing entity
// that has it.
func Place(g store.Group, workflowID string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(workflowID))
	return g.First + int(h.Sum64()%uint64(g.Partitions))
}
