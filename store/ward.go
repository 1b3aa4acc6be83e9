package store

import (
	"errors"
	"fmt"
)

// A ward is the part of a partition on which another node than its owner works: runs that
// the owner gave away because that node has code which fits them. A ward is numbered by its
// node (Member.Ordinal) and has an owner, an epoch and a lease of its own, in which it is
// like a partition: Claim, Release, Due, Inbox and Leave take the number of its place, and
// a turn whose Ward names it is refused by its epoch. The rows of its runs stay where they
// are, so nobody who reads looks elsewhere.
//
// The owner of the partition is its home: only the home gives runs away and dissolves a
// ward whose node is there no more; only the ward gives runs back.

// wardShift is where the number of a ward stands in that of a place. An int of 32 bits has
// no room for wards: there, all places are partitions.
const wardShift = 32

// Place is the number under which verbs of ownership know a ward of a partition; that of the
// partition itself for the ward 0.
func Place(partition, ward int) int { return partition | ward<<wardShift }

// SplitPlace is the opposite of Place.
func SplitPlace(place int) (partition, ward int) {
	return int(uint32(place)), place >> wardShift
}

// wardEpochs is the epoch before the first of a ward: no two epochs of a partition and its
// wards are the same.
func wardEpochs(ward int) int64 { return int64(ward) << wardShift }

// WardEpoch is the epoch with which a ward is made, above that which it had last if it was
// dissolved before; last is 0 if it was not.
func WardEpoch(ward int, last int64) int64 { return max(wardEpochs(ward), last+1) }

// WardOf is the ward of which an epoch is, 0 if it is one of the partition.
func WardOf(epoch int64) int { return int(epoch >> wardShift) }

// Errors of Move.
var (
	// ErrNoPlace says that a run cannot move to a node: it does not live or drains, or a
	// process of an earlier version is a member that knows no wards.
	ErrNoPlace = errors.New("the node takes no runs of others: it is gone or drains, or a process of an earlier version is in the database; choose another one, or end that process")
	// ErrElsewhere says that a run is not in the ward that would move it.
	ErrElsewhere = errors.New("the run is on another node, and only that one or its home may move it: read where it is, and ask again")
)

// Move says that a run goes on at another place of its partition.
type Move struct {
	Partition int
	Ward      int   // where the run is; 0: at home
	Epoch     int64 // of that place
	Run       string
	To        string // ID of a live node of the group; "": home
	Detail    []byte // of the run's state from now on; nil: unchanged
}

// Validate returns why no store would move the run, or nil.
func (m *Move) Validate(info Info) error {
	if err := info.Check(m.Partition); err != nil {
		return err
	}
	switch {
	case m.Run == "":
		return fmt.Errorf("a move names no run: say which one moves")
	case m.Ward < 0:
		return fmt.Errorf("a move from ward %d: wards count from 1", m.Ward)
	case m.Ward != 0 && m.To != "":
		return fmt.Errorf("run %q would move from ward to ward: its home decides where it goes", m.Run)
	}
	return text("move", m.Run, m.To)
}

// Place is where the turn's run is: its epoch is that of the owner there.
func (t *Turn) Place() int { return Place(t.Partition, t.Ward) }
