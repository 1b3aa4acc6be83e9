package store

import "fmt"

// Deletion says what Client.Delete removes: closed runs and old counters. No process
// writes to those, so deleting needs no fencing.
type Deletion struct {
	// Runs of the partition to remove if they are closed, each with its history, calls,
	// ledger, attributes, tasks and the messages for it alone. If a run was the latest of its
	// workflow ID, the ID is free. Open and missing runs are skipped.
	Partition int
	Runs      []string

	// TalliesBefore removes the partition's counters of buckets that begin before
	// this time, ns; 0 for none.
	TalliesBefore int64

	// SwitchesBefore removes entries of the group's log of switches that were written
	// before this time, ns, and that a later one of the same kind and name has
	// overruled; 0 for none. Their requests are then forgotten.
	Group          string
	SwitchesBefore int64
}

// Validate returns why no store would carry the deletion out, or nil.
func (d *Deletion) Validate(info Info) error {
	if err := info.Check(d.Partition); err != nil {
		return err
	}
	if d.TalliesBefore < 0 || d.SwitchesBefore < 0 {
		return fmt.Errorf("a deletion is of what was before a negative time")
	}
	if err := CheckGroup(d.Group); err != nil {
		return err
	}
	return text("run ID", d.Runs...)
}
