package store

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/see"
)

// Copies has the methods that copy a database into another one, if Info.Closes is set: the
// others return an error. Rows go as they are stored:
// a codec around the store neither decodes nor encodes them, and a blob goes by its reference.
type Copies interface {
	// Sealed returns the seal of the database, the zero value if it has none.
	Sealed(ctx context.Context) (Seal, error)

	// Seal replaces the seal before by after and inserts rows (nil: none), in one transaction.
	// If the database has another seal than before, nothing is done and the error is ErrStale;
	// if it has the seal after already, nothing is done either and there is no error. Rows may
	// be inserted only if before is closed, and must not exist yet. Rows.Facts replaces the
	// facts of the database.
	//
	// Closing a database waits for the transactions that write to it. It is refused with an
	// *InUseError while a node or a worker is live. From then on every method that writes
	// returns a *SealedError, and so does Join; those that read continue. Group still creates
	// groups.
	Seal(ctx context.Context, before, after Seal, rows *Rows) error

	// Export returns rows after a place of a closed database, and the place to continue from:
	// about limit of them, but at least one unless nothing follows. All rows of a run are
	// together. The zero Cursor is before the first row; a Cursor whose Part is CopyEnd is
	// behind the last one. Messages of a workflow ID are in the order of their numbers;
	// everything else is in an order of the store.
	Export(ctx context.Context, after Cursor, limit int) (*Rows, error)
}

// Seal says whether a database may be used, and of which copy it is a part. Seals are compared
// by all fields.
type Seal struct {
	State SealState `json:"state,omitempty"`
	Copy  string    `json:"copy,omitempty"`  // identifies the copy
	Other string    `json:"other,omitempty"` // location of the other database, without credentials
	Since int64     `json:"since,omitempty"` // when the copy began, ns
	Note  string    `json:"note,omitempty"`  // what the copier needs to continue
	Clock int64     `json:"clock,omitempty"` // of an opened database: attempts that began earlier began in the other one, ns
}

// SealState is the state of a database that was part of a copy.
type SealState string

// The states. A database that was never part of a copy has none of them.
const (
	SealedSource SealState = "source" // closed: its rows go to the other database, or are there
	SealedTarget SealState = "target" // closed: it is not complete yet
	SealOpened   SealState = "opened" // open: it was completed from the other database
)

// Closed reports whether a database with this seal accepts only reads and the rows of a copy.
func (s Seal) Closed() bool { return s.State == SealedSource || s.State == SealedTarget }

// SealedError refuses the use of a closed database.
type SealedError struct {
	Location string
	Seal     Seal
}

func (e *SealedError) Error() string { return e.Text() + ": " + e.Advice() }

// Text returns the error without the advice.
func (e *SealedError) Text() string {
	since := time.Unix(0, e.Seal.Since).UTC().Format(time.RFC3339)
	if e.Seal.State == SealedTarget {
		return fmt.Sprintf("%s is not complete: since %s perdure copies %s into it", e.Location, since, e.Seal.Other)
	}
	return fmt.Sprintf("%s is closed: on %s perdure copied it to %s", e.Location, since, e.Seal.Other)
}

// Advice returns what to do.
func (e *SealedError) Advice() string {
	if e.Seal.State == SealedTarget {
		return "let that command finish, or run it again; if the copy was undone, drop this database " + see.Copying
	}
	return "use that database; if nothing has run there, perdure copy --unseal with the same --from and --to opens this one again " + see.Copying
}

// Cursor is a place in the rows of a database. Only the store knows what its numbers and texts
// mean. It may be kept as JSON.
type Cursor struct {
	Part      CopyPart `json:"part,omitempty"`
	Partition int      `json:"partition,omitempty"`
	Number    int64    `json:"number,omitempty"`
	ID        string   `json:"id,omitempty"`
	Name      string   `json:"name,omitempty"`
	More      int64    `json:"more,omitempty"`
}

// CopyPart is a kind of rows that are exported together.
type CopyPart string

// The parts, in order. The first one is that of the zero Cursor.
const (
	CopyFacts    CopyPart = ""
	CopyRuns     CopyPart = "runs"
	CopyMessages CopyPart = "messages"
	CopyTallies  CopyPart = "tallies"
	CopySwitches CopyPart = "switches"
	CopyEnd      CopyPart = "end"
)

// Follow returns the beginning of the part after p.
func (p CopyPart) Follow() Cursor {
	return Cursor{Part: map[CopyPart]CopyPart{CopyFacts: CopyRuns, CopyRuns: CopyMessages, CopyMessages: CopyTallies, CopyTallies: CopySwitches, CopySwitches: CopyEnd}[p]}
}

// Rows are rows of a database of all kinds.
type Rows struct {
	Facts    *Facts // nil except after the zero Cursor
	Runs     []WholeRun
	Messages []Message // Seal assigns their numbers in this order, and keeps Posted
	Tallies  []Tally   // Seal adds them to what is there
	Switches []Switch

	Next Cursor // set by Export
}

// Facts are what a database knows about itself.
type Facts struct {
	Secret []byte // see Client.Secret
	Codecs string // see Group.Codecs
	Groups []Group
	Clock  int64 // the highest known time of a partition, ns; Seal advances all partitions to it
}

// WholeRun is everything that belongs to a run. Run.Latest and Run.Attributes are part of it.
// The partitions and run IDs of the lists are those of the run.
type WholeRun struct {
	Run      Run
	Turns    []TurnRow
	Calls    []Call
	Attempts []Attempt
	Tasks    []Task
}

// CopiedEpoch is the epoch of the turns that were copied from another database, and of no
// owner.
const CopiedEpoch = -1

// ExportBytes is how large the histories in one Export may be. The run that exceeds it is the
// last one.
const ExportBytes = 8 << 20

// CheckSeal returns an error if no store would replace the seal before by after with these
// rows.
func CheckSeal(before, after Seal, rows *Rows) error {
	switch {
	case after.State != "" && after.Copy == "":
		return fmt.Errorf("a seal names no copy: others could not be told from it")
	case rows != nil && !before.Closed():
		return fmt.Errorf("rows of a copy go only into a closed database")
	}
	return nil
}
