package store

import "fmt"

// Deletion is what Client.Delete removes: things that are over, which nobody writes to
// any more, so that no epoch is asked for.
type Deletion struct {
	// Runs of the partition that are removed if they have ended, each with its
	// history, its calls, its ledger, its attributes and what waits for it alone in
	// the inbox. If one was the latest of its workflow ID, the ID is free. One that
	// is open, or does not exist, is left alone.
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
