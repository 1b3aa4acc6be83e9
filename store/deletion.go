package store

import "fmt"

// Deletion says what Client.Delete deletes: closed runs and old counters. No process writes to
// those, so deleting them needs no fencing.
type Deletion struct {
	// Runs are runs of the partition to delete if they are closed, each with its history,
	// calls, ledger, attributes, tasks and the messages for it alone. If a run was the latest
	// of its workflow ID, the ID becomes free. Open and missing runs are skipped.
	Partition int
	Runs      []string

	// TalliesBefore deletes the partition's counters whose buckets begin before this time, ns;
	// 0 for none.
	TalliesBefore int64

	// SwitchesBefore deletes entries of the group's log of switches that were written before
	// this time, ns, and are superseded by a later entry of the same kind and name; 0 for none.
	// The store then no longer recognizes their requests.
	Group          string
	SwitchesBefore int64
}

// Validate returns an error if no store would carry out the deletion.
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
