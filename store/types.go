package store

import (
	"math"
	"time"
)

// Wake times of a run, in nanoseconds of engine time since 1970, with some
// special values.
const (
	// LastInLine and all below it are the wake times of runs in line: see InLine.
	LastInLine int64 = math.MinInt64 + (2*topPriority+1)<<inLineBits

	// Arrived marks a run that has moved to another node, or back, and has taken no turn
	// there: see Move. Only the store sets it.
	Arrived int64 = -1
	// Hot marks a run with work in flight (or one never started): its owner
	// must load it as soon as it takes the partition over.
	Hot int64 = 0
	// Never marks a run that only a message can wake.
	Never int64 = math.MaxInt64
)

// What a wake time in line is made of: 52 bits of microseconds above the least number,
// which last until the year 2112, and the priority above these.
const (
	inLineBits  = 52
	topPriority = 1000
)

// InLine is the wake time of a run that has not begun, because there was no room for it
// when it was started. Its owner lets it begin when there is. All such times are at most
// LastInLine, and earlier for a higher priority, then for an earlier creation, so Due lists
// runs in line in the order in which they are to begin. Priorities beyond ±1000 count as
// these.
func InLine(priority int, created int64) int64 {
	level := topPriority - min(max(priority, -topPriority), topPriority)
	return math.MinInt64 + int64(level)<<inLineBits + min(max(created/1000, 1), 1<<inLineBits-1)
}

// PriorityInLine returns the priority from which InLine made a wake time.
func PriorityInLine(wake int64) int { return topPriority - int((wake-math.MinInt64)>>inLineBits) }

// IsInLine reports whether a run that has this wake time is in line to begin.
func IsInLine(wake int64) bool { return wake <= LastInLine }

// Info describes an open database.
type Info struct {
	Kind       string // "sqlite", "postgres", "memory"
	Location   string // file path or host and database, without credentials
	Partitions int    // of each group; fixed when the database was created, at least 1
	Shared     bool   // several nodes may serve it at a time
	Wards      bool   // runs may move among them: see Move
	// Private says that documents are encrypted on their way there: what errors and people
	// say is kept out of logs, too.
	Private bool

	// Domain names the commit domain of a partition: only turns whose
	// partitions share a domain may stand in one Commit.
	Domain func(partition int) int

	// LoneHooks is how many turns with a Hook may be committed at a time, each by
	// itself, beside the Commit of those without. Such a turn gets a transaction
	// of its own here, for which others in one Commit would wait. 0 says that it
	// shares theirs, and belongs into one Commit with them.
	LoneHooks int
}

// News is what a listener is told, one or more kinds of it.
type News uint

// The kinds of news.
const (
	// NewsMessage says that a message came into an inbox by Post, by Create or
	// with a turn.
	NewsMessage News = 1 << iota
	// NewsNodes says that a node joined or left, or that partitions were
	// released.
	NewsNodes
	// NewsSwitches says that a switch was written.
	NewsSwitches

	// AllNews is what a listener is told when it cannot be known what is new.
	AllNews = NewsMessage | NewsNodes | NewsSwitches | NewsTasks | NewsClaims
)

// Node is one engine process.
type Node struct {
	ID    string        // unique per start of a process
	Name  string        // for people: host and process, or a name that someone gave
	Group string        // whose partitions it serves
	Lease time.Duration // how long others wait for a sign of life of it; must be positive if the store is shared

	// Build names the code of the process: two nodes of one build run the same. "" is a
	// node of a version that did not say. Definitions is what it has registered, encoded;
	// a Membership leaves it out.
	Build       string
	Definitions string

	// Codecs are the names of the codecs that the node's store decodes with, and Encodes
	// those of them that it encodes with. The database is marked with the latter when the
	// node joins; see CodecError. A Membership and Nodes leave them out.
	Codecs, Encodes []string

	// Supersede says that the name is this node's alone: an earlier node of the
	// group with this name is dead. Its membership ends now, and its partitions
	// are free.
	Supersede bool
}

// Renewal is a node's sign of life.
type Renewal struct {
	Node     string // its ID
	Last     int64  // Next of the renewal before, 0 for the first
	Next     int64  // a random number other than 0
	Draining bool   // it gives its partitions away and wants no new ones
}

// Member is a node as others see it.
type Member struct {
	Node
	Joined int64 // ns
	Seen   int64 // last sign of life, ns
	Left   int64 // when its membership was ended: by itself, or by one that superseded it; ns, at least 1, 0 if it was not

	Draining bool // as its last renewal said

	// Live reports whether the node has not left and its lease has not run out.
	Live bool
	// Expires is when its lease runs out or did, ns; Never if the store needs no
	// leases.
	Expires int64
	// Owned is how many partitions are its own.
	Owned int
	// Ordinal numbers the nodes of a database by when they joined, from 1: its wards have
	// this number. A database without wards has none.
	Ordinal int
}

// Membership is what a node sees of its group.
type Membership struct {
	Now    int64       // the database's clock, ns
	Nodes  []Member    // live members of the node's group, itself included, by ID
	Owners []Ownership // Partition, Epoch and Node of each partition of the group, by partition, then of their wards (Place); Node is "" if it is free
}

// Ownership says that node owned a partition under an epoch.
type Ownership struct {
	Partition int
	Epoch     int64  // rises by at least one with each claim
	Node      string // its ID
	Since     int64  // database time, ns
	Clock     int64  // highest database time that is known of the partition when it was claimed, ns

	// Over reports that the epoch is past. Only Owners sets it.
	Over bool

	// Survived reports for a past epoch that the node's process outlived it: it
	// released the partition, claimed it again, left, or called Renew later, even if
	// that returned ErrReplaced. Only Owners sets it.
	Survived bool

	// Ended reports for a past epoch that the node's membership was ended: by itself, or
	// by a process that superseded it. Without it, and if the node has not survived, all
	// that is known is that its lease ran out: it may be dead, stand still or be cut off.
	// It is false of a node that is forgotten. Only Owners sets it.
	Ended bool
}

// Run is the row of one run: who it is, how it stands.
type Run struct {
	Partition  int
	ID         string // run ID, unique in the database, sorts by creation time
	WorkflowID string
	Type       string // name of the workflow definition
	Group      string // group of nodes that serves it, to whom the partition belongs
	Chain      string // run ID of the first run of the chain
	Attempt    int    // of the chain's retry, 1 for the first
	Start      []byte // the encoded start event
	Created    int64  // ns
	Priority   int    // of its calls among those that want a slot; for those who list runs

	// After lets a new run take its workflow ID over: it names the latest run of
	// the ID, of this chain or another, which must have ended. Of several that come
	// after one run, one is created. What waits in the inbox for the latest run of
	// the ID stays with the one that is the latest no more, under LeftKey of its key.
	// After is not kept.
	After string

	// Base is the history that a new run begins with, nil for none. It is not kept.
	Base *Base

	// Ward is where the run is worked on: 0 for the owner of the partition. Only Move and
	// Dissolve change it; a new run is where the turn is that creates it, and one that
	// closes is at home.
	Ward int

	// Latest is whether no run has come after this one under its workflow ID. Only reads
	// set it.
	Latest bool

	// Attributes are what List finds the run by, besides. They are read back as
	// SortAttributes has them.
	Attributes []Attribute

	RunState
}

// Base is a history to begin with: that of another run, up to a turn, and one turn
// more. A run is created with it or not at all: if the other run does not have so many
// turns (any more), the creation is refused with ErrNotFound.
type Base struct {
	RunRef         // whose turns are copied, with the epoch 0; wherever it is in the database
	Turns  int64   // how many, from the first; may be 0
	Last   TurnRow // follows them: its number is Turns + 1
}

// RunRef names a run.
type RunRef struct {
	Partition int
	Run       string
}

// RunState is the part of a run's row that turns change, always as a whole.
type RunState struct {
	Status Status
	Wake   int64  // Hot, Never, or when its owner must look at it, ns
	Closed int64  // ns, 0 while open
	Detail []byte // encoded: the outcome of a closed run, the reason of a parked one
	Full   bool   // it has as much to read as it may: see Message.IfRoom
}

// Status of a run as listings show it.
type Status string

// The statuses. Only the first four are open.
const (
	Running        Status = "running"
	OnHold         Status = "paused"           // until a person resumes it
	WaitingForCode Status = "waiting-for-code" // its owner lacks the definition
	Parked         Status = "parked"           // its code does not fit its history, or it panicked
	Completed      Status = "completed"
	Failed         Status = "failed"
	Canceled       Status = "canceled"
	Terminated     Status = "terminated"
	TimedOut       Status = "timed-out" // its time or that of its chain was up
	Continued      Status = "continued" // closed, a later run of the chain goes on
)

// Standing is the status of an entity that is no workflow, a gate for instance:
// it has rows, an inbox and a wake time as a run has, but no end. Reader.List
// leaves it out unless Filter.Status names this status, and Reader.Counts always
// does.
const Standing Status = "#standing"

// Open reports whether a run in this status may still do something.
func (s Status) Open() bool {
	return s == Running || s == OnHold || s == WaitingForCode || s == Parked || s == Standing
}

// Turn is one deterministic advance of a run, or a change of its calls between
// two advances; in either case it is committed whole or not at all. Its parts
// are written in the order of the fields. See Turn.Validate for what every
// store refuses; a turn of a run that does not exist is refused with
// ErrNotFound.
type Turn struct {
	Partition int
	Ward      int   // in which the run is; 0: at home
	Epoch     int64 // of the owner; another epoch in the database refuses the turn
	Run       string

	// Create inserts a run with this turn: the turn's own, or the next of its
	// chain if State closes the turn's own. Its workflow ID must be free, or
	// taken by a closed run of the same chain, or by that which Run.After names.
	// A run that exists already under
	// this ID stays as it is, and a turn of number 0 is then durable already.
	Create *Run

	// Number is the turn's number in the history of its run, 1 for the first;
	// 0 if it adds nothing to history. If (Partition, Run, Number) exists with
	// the same CommitID the turn is already durable and nothing is done; with
	// another CommitID it is refused with ErrStale. A turn of number 0 that
	// creates no run must be one that can be repeated: it has neither Hook
	// nor Tallies, and Messages only if it is Repeatable.
	Number   int64
	CommitID int64
	Time     int64  // engine time of the turn, ns
	Events   []byte // encoded events

	State *RunState // new state of the run, nil if unchanged
	// Attributes are all that the run has from now on, nil if they are unchanged; only
	// in a turn with a number.
	Attributes *[]Attribute

	Calls  []Call  // rows to insert or replace; their Partition and Run are the turn's
	Closed []int64 // numbers of calls whose rows are deleted
	// Over are tasks whose attempts the turn takes for ended: their rows are deleted,
	// whoever has them. Withdrawn are tasks that are offered no more: their rows are
	// deleted, but if one is claimed the turn is refused with ErrClaimed. GivenUp are tasks
	// whose claimants said nothing of their end: their rows are deleted, but if one is
	// settled the turn is refused with ErrClaimed, too. A task that is not there is gone
	// already. Offered are attempts that go into their queues: a row of
	// an earlier attempt is replaced, one of the same attempt stays as it is. Their
	// Partition and Run are the turn's.
	// Of Stopped the claimant hears that they are to end (HeldTask).
	Over, GivenUp, Withdrawn, Stopped []TaskRef
	Offered                           []Task

	// Remove deletes the turn's own run, which is Standing, with its calls: it
	// stands no more. What waits for it in the inbox stays. A run that is not
	// Standing, or does not exist, is left alone. Such a turn has no number and
	// writes nothing else that belongs to its run.
	Remove   bool
	Attempts []Attempt // ledger rows to insert; one that exists stays as it is
	Tallies  []Tally   // to add to the counters; only in a turn with a number
	Consumed []int64   // sequence numbers of inbox messages to delete
	Messages []Message // for other runs, which need not exist yet; delivered to their inbox once (but see Repeatable)

	// Repeatable says that the turn's messages may arrive twice. That happens if its
	// number is 0, the answer of its commit was lost, and the first copy was already
	// consumed.
	Repeatable bool

	// Hook runs inside the transaction, after the rows of this turn were written.
	// Its error refuses the turn (as a *HookError) and rolls back this turn alone.
	// The store documents the type of tx, a *sql.Tx for SQL stores. If the
	// transaction has to begin again, the hook runs again: only its effects through
	// tx occur once. It must not call the store. After HookLimit its statements are
	// cancelled; a hook that ignores that is left behind with ErrHookLeft, and the
	// store takes tx away from it.
	Hook func(tx any) error
}

// HookLimit is how long the hook of a turn may hold its transaction.
const HookLimit = 3 * time.Second

// TurnRow is a committed turn of history.
type TurnRow struct {
	Number   int64
	CommitID int64
	Epoch    int64
	Time     int64
	Events   []byte
}

// Call is the row of a call that must be found without replay.
type Call struct {
	Partition int
	Run       string
	Number    int64 // of the call in its run
	State     CallState
	Name      string // of the activity or step
	Queue     string
	Attempt   int   // the current or coming attempt
	Due       int64 // when a call in backoff goes on, ns; else 0
	Data      []byte
}

// CallState is where a call with a row stands between its turns.
type CallState string

// The states.
const (
	Queued      CallState = "queued"      // waits for a free slot
	Dispatched  CallState = "dispatched"  // an attempt runs on the owner
	External    CallState = "external"    // an attempt is completed from outside
	Offered     CallState = "offered"     // an attempt is offered in a queue
	Remote      CallState = "remote"      // an attempt runs on a worker
	Backoff     CallState = "backoff"     // waits for its next attempt's time
	Gated       CallState = "gated"       // waits for a gate
	Paused      CallState = "paused"      // waits for a person
	Quarantined CallState = "quarantined" // lost too many attempts to crashes
)

// The states of an entity's calls, which are no calls of workflows: Counts leaves
// them out.
const (
	TicketWaiting CallState = "#waiting" // for its turn at a gate
	TicketHolding CallState = "#holding" // an attempt may be running
	TicketResting CallState = "#resting" // between two attempts

	FireOpen    CallState = "#fired"    // of a schedule: its run is open
	FireWaiting CallState = "#buffered" // of a schedule: waits for the runs of earlier ones to close

	Noted CallState = "#noted" // of a gate or schedule: what a person did to it
)

// CallFilter selects calls that have a row.
type CallFilter struct {
	Partitions []int // nil: all
	State      CallState
	Limit      int // 0: 100
}

// WaitingCall is the row of a call, and whose it is.
type WaitingCall struct {
	Call
	WorkflowID string
	Type       string // name of the workflow definition
}

// OfEntity reports whether calls in this state belong to an entity that is no
// workflow.
func (s CallState) OfEntity() bool { return len(s) > 0 && s[0] == '#' }

// Message is something a run is told.
type Message struct {
	Partition  int
	Sequence   int64  // given by the store; unique in the database, rises within a partition
	WorkflowID string // whose latest run reads it
	Run        string // if set, only this run may read it
	Key        string // unique among the waiting messages of a workflow ID
	Kind       string
	Data       []byte
	Posted     int64 // ns, given by the store

	// IfRoom says to Post that a run which is Full is not to get the message. It is not
	// kept.
	IfRoom bool

	// ForOwner says to Post that the owner of the partition reads the message,
	// whether or not there is a run that does. It is not kept.
	ForOwner bool
	// Replace says to Post that this is said instead of the message with its key that
	// waits, if one does: that one is gone, and this one has a number and a time of its
	// own. It is not kept.
	Replace bool
}

// Wake is a run and its wake time.
type Wake struct {
	Partition int
	Run       string
	Time      int64
}

// Record is all that is needed to continue a run.
type Record struct {
	Run   Run
	Turns []TurnRow
	Calls []Call
}

// Result returns a Commit.
type Result struct {
	Now    int64   // the database's clock at the commit, ns
	Errors []error // one per turn
}

// Filter selects runs. The zero value selects all but what is Standing.
type Filter struct {
	Partitions []int // nil: all
	Status     []Status
	Type       string
	IDPrefix   string    // of the workflow ID
	Call       CallState // runs that have a call in this state
	ErrorType  string    // runs that have a call whose latest attempt in the ledger ended with this type of error
	Attributes []Attribute
	Since      time.Time // only runs created at this time or later; zero: all
	Until      time.Time // only runs created before this time; zero: all
	Before     string    // run ID: only runs with a lower one, which were created before it (paging)
	Above      string    // run ID: only runs with a greater one
	Limit      int       // 0: 100
}

// SelectsTime reports whether a run created at this time, in ns, is between Since
// and Until.
func (f *Filter) SelectsTime(created int64) bool {
	return (f.Since.IsZero() || created >= f.Since.UnixNano()) && (f.Until.IsZero() || created < f.Until.UnixNano())
}

// Counts says how many runs and calls of workflows are in which state.
type Counts struct {
	Runs  map[Status]int
	Calls map[CallState]int

	// NextRetry is the earliest Due of a call in backoff, 0 if there is none.
	NextRetry int64
}
