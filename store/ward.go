package store

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/see"
)

// A ward is the part of a partition that another node than the partition's owner serves: runs
// that the owner moved to that node because it has code that fits them. A ward has the number
// of its node (Member.Ordinal), and its own owner, epoch and lease. In these respects it is
// like a partition: Claim, Release, Due, Inbox and Leave take the number of its place, and the
// epoch of a turn with its Ward is compared with that of the ward. The rows of its runs stay
// where they are, so readers need not know of wards.
//
// The owner of the partition is the home of the ward. Only the home moves runs away and
// dissolves a ward whose node is gone; only the ward moves runs back.

// wardShift is the position of a ward's number in the number of a place. A 32-bit int has no
// room for wards; all places are partitions there.
const wardShift = 32

// Place returns the number that identifies a ward of a partition in methods of Owner. For ward
// 0 it is the number of the partition.
func Place(partition, ward int) int { return partition | ward<<wardShift }

// SplitPlace is the inverse of Place.
func SplitPlace(place int) (partition, ward int) {
	return int(uint32(place)), place >> wardShift
}

// wardEpochs returns the epoch before the first one of a ward. A partition and its wards never
// share an epoch.
func wardEpochs(ward int) int64 { return int64(ward) << wardShift }

// WardEpoch returns the epoch with which a ward is created. It is above last, the last epoch
// of a ward that was dissolved before; last is 0 if there was none.
func WardEpoch(ward int, last int64) int64 { return max(wardEpochs(ward), last+1) }

// WardOf returns the ward of an epoch, 0 if the epoch belongs to the partition itself.
func WardOf(epoch int64) int { return int(epoch >> wardShift) }

// Errors of Move.
var (
	// ErrNoPlace reports that a run cannot move to a node: the node is not live or drains, or a
	// member of the group cannot tell the places of a partition apart.
	ErrNoPlace = errors.New("the node takes no runs of other nodes: it is gone or draining, or a 32-bit process uses the database; choose another node, or end that process " + see.NoCode)
	// ErrElsewhere reports that a run is not at the place that would move it.
	ErrElsewhere = errors.New("the run is on another node, and only that one or its home may move it: read where it is, and ask again")
)

// Move moves a run to another place of its partition.
type Move struct {
	Partition int
	Ward      int   // where the run is; 0: at home
	Epoch     int64 // of that place
	Run       string
	To        string // ID of a live node of the group; "": home
	Detail    []byte // new RunState.Detail of the run; nil: unchanged
}

// Validate returns an error if no store would move the run.
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

// Place returns the place of the turn's run.
func (t *Turn) Place() int { return Place(t.Partition, t.Ward) }
