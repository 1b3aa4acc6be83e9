package store

import (
	"math"
	"time"
)

// Wake times of a run, in nanoseconds of engine time since 1970, with some special values.
const (
	// LastInLine is the highest wake time of a run in line; see InLine.
	LastInLine int64 = math.MinInt64 + (2*topPriority+1)<<inLineBits
	// InLineByKey is the wake time of all runs in line that have a key; see Owner.Line.
	InLineByKey int64 = LastInLine + 1

	// Arrived marks a run that has moved to another node, or back, and has taken no turn there;
	// see Move. Only the store sets it.
	Arrived int64 = -1
	// Hot marks a run with work in flight, or one that never started. Its owner must load it as
	// soon as it takes over the partition.
	Hot int64 = 0
	// Never marks a run that only a message can wake.
	Never int64 = math.MaxInt64
)

// A wake time in line has 52 bits of microseconds above the lowest number, which last until
// the year 2112, and above these the priority.
const (
	inLineBits  = 52
	topPriority = 1000
)

// InLine returns the wake time of a run that has not begun, because all slots were taken when
// it was started. Its owner begins it when a slot is free. All such times are at most
// LastInLine. They are lower for a higher priority, then for an earlier creation, so Due
// returns runs in line in the order in which they begin. Priorities beyond ±1000 count as
// ±1000.
func InLine(priority int, created int64) int64 {
	level := topPriority - min(max(priority, -topPriority), topPriority)
	return math.MinInt64 + int64(level)<<inLineBits + min(max(created/1000, 1), 1<<inLineBits-1)
}

// PriorityInLine returns the priority in a wake time that InLine returned.
func PriorityInLine(wake int64) int { return topPriority - int((wake-math.MinInt64)>>inLineBits) }

// WakeInLine returns the wake time of the run while it is in line.
func (r *Run) WakeInLine() int64 {
	if r.Key != "" {
		return InLineByKey
	}
	return InLine(r.Priority, r.Created)
}

// IsInLine reports whether a run with this wake time is in line to begin.
func IsInLine(wake int64) bool { return wake <= InLineByKey }

// Info describes an open database.
type Info struct {
	Kind       string // "sqlite", "postgres", "memory"
	Location   string // file path or host and database, without credentials
	Partitions int    // of each group; fixed when the database was created, at least 1
	Shared     bool   // several nodes may serve it at the same time
	Wards      bool   // runs may move between nodes; see Move
	Closes     bool   // it can be closed and copied; see Copies
	// Private says that documents are encrypted before they are stored. Texts of errors and of
	// people are kept out of logs, too.
	Private bool

	// Domain returns the commit domain of a partition. Turns in one Commit must have partitions
	// of the same domain.
	Domain func(partition int) int

	// LoneHooks is how many turns with a Hook may be committed at a time, each in its own
	// Commit, beside the Commit of turns without one. Such a turn gets its own transaction, for
	// which other turns in the same Commit would wait. 0 means that a turn with a Hook shares
	// the transaction of the others and belongs into their Commit.
	LoneHooks int
}

// News is a set of kinds of news for a listener.
type News uint

// The kinds of news.
const (
	// NewsMessage announces that a message entered an inbox by Post, by Create or with a turn.
	NewsMessage News = 1 << iota
	// NewsNodes announces that a node joined or left, or that partitions were released.
	NewsNodes
	// NewsSwitches announces that a switch was written.
	NewsSwitches

	// AllNews is for listeners that may have missed something.
	AllNews = NewsMessage | NewsNodes | NewsSwitches | NewsTasks | NewsClaims
)

// Node is one engine process.
type Node struct {
	ID    string        // unique per start of a process
	Name  string        // for people: host and process, or a given name
	Group string        // whose partitions it serves
	Lease time.Duration // how long others wait for its renewal; must be positive if the store is shared

	// Build identifies the code of the process: two nodes of one build run the same code.
	// Definitions is what the node has registered, encoded; a Membership omits it.
	Build       string
	Definitions string

	// Codecs are the names of the codecs that the node's store decodes with, and Encodes those
	// of them that it encodes with. Join adds the latter to the mark of the database; see
	// CodecError. Membership and Nodes omit both.
	Codecs, Encodes []string

	// Supersede says that the name belongs to one node at a time: an earlier node of the group
	// with this name is dead. Join ends its membership and frees its partitions.
	Supersede bool
}

// Renewal renews a node's lease.
type Renewal struct {
	Node     string // its ID
	Last     int64  // Next of the previous renewal, 0 for the first
	Next     int64  // a random number other than 0
	Draining bool   // it hands over its partitions and wants no new ones
}

// Member is the row of a node with its state.
type Member struct {
	Node
	Joined int64 // ns
	Seen   int64 // last Join or Renew, ns
	Left   int64 // when its membership ended, by Leave or because it was superseded, ns, at least 1; 0 if it has not

	// Superseded says that its membership ended without Leave: by the node that took its name
	// or its place, or by the Close of its Store. Its process is dead, unless it is heard of
	// again.
	Superseded bool

	Draining bool // from its last renewal

	// Live reports whether the node has not left and its lease has not expired.
	Live bool
	// Expires is when its lease expires or expired, ns; Never if the store needs no leases.
	Expires int64
	// Owned is how many partitions it owns.
	Owned int
	// Ordinal numbers the nodes of a database in the order of joining, from 1. A node's wards
	// have this number. It is 0 in a database without wards.
	Ordinal int
}

// Membership is a node's view of its group.
type Membership struct {
	Now    int64       // the database's clock, ns
	Nodes  []Member    // live members of the node's group, itself included, by ID
	Owners []Ownership // Partition, Epoch and Node of each partition of the group, by partition, then of their wards (Place); Node is "" if it is free
}

// Ownership is the ownership of a partition by a node under an epoch.
type Ownership struct {
	Partition int
	Epoch     int64  // increases with each claim
	Node      string // its ID; "" if the partition is free
	Since     int64  // database time, ns
	Clock     int64  // highest known database time of the partition when it was claimed, ns

	// Over reports that the epoch is past. Only Owners sets it.
	Over bool

	// Survived reports for a past epoch that the node's process outlived it: it released the
	// partition, claimed it again, left, or called Renew later, even if that returned
	// ErrReplaced. Only Owners sets it.
	Survived bool

	// Ended reports for a past epoch that the node's membership was ended, by Leave or by a
	// process that superseded it. If neither Ended nor Survived is set, only the end of its
	// lease is known: the node may be dead, suspended or cut off. Ended is false if the store
	// has forgotten the node. Only Owners sets it.
	Ended bool
}

// Run is the row of one run: its identity and its state.
type Run struct {
	Partition  int
	ID         string // run ID, unique in the database, sorts by creation time
	WorkflowID string
	Type       string // name of the workflow definition
	Group      string // group of nodes to which the partition belongs
	Chain      string // run ID of the first run of the chain
	Attempt    int    // number of the attempt in the chain's retry, 1 for the first
	Start      []byte // the encoded start event
	Created    int64  // ns
	Priority   int    // of its calls when they wait for slots; readers may show it
	Key        string // with which others it takes turns where runs and calls wait; at most 200 bytes
	Weight     int    // of the key, 0 for 1

	// After lets a new run take over its workflow ID from a closed run: it names the latest run
	// of the ID, of this chain or another. Of several new runs that name the same run, only one
	// is created. Messages that wait for the latest run of the ID stay with the run that is no
	// longer the latest, under LeftKey of their keys. After is not kept.
	After string

	// Base is the history that a new run begins with; nil for none. It is not kept.
	Base *Base

	// Ward is the place of the run: 0 for the owner of the partition. Only Move and Dissolve
	// change it. A new run is at the place of the turn that creates it; a closed run is at
	// home.
	Ward int

	// Latest reports whether the run is the latest of its workflow ID. Only reads set it.
	Latest bool

	// Attributes are names and values by which List can find the run. Reads return them in the
	// form of SortAttributes.
	Attributes []Attribute

	RunState
}

// Base is the beginning of a history: that of another run up to a turn, and one more turn. A
// run is created with all of it or not at all: if the other run does not have that many turns,
// or no longer, ErrNotFound refuses the creation.
type Base struct {
	RunRef         // whose turns are copied, with the epoch 0; it may be in any partition
	Turns  int64   // number of turns to copy, from the first; may be 0
	Last   TurnRow // follows them; its number is Turns + 1
}

// RunRef names a run.
type RunRef struct {
	Partition int
	Run       string
}

// RunState is the part of a run's row that turns replace as a whole.
type RunState struct {
	Status Status
	Wake   int64  // Hot, Never, or when its owner must look at it, ns
	Closed int64  // ns, 0 while open
	Detail []byte // encoded: the outcome of a closed run, the reason of a parked one
	Full   bool   // it has as many unread messages as it may; see Message.IfRoom
}

// Status is the status of a run in listings.
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
	TimedOut       Status = "timed-out" // it or its chain exceeded its time limit
	Continued      Status = "continued" // closed; a later run of the chain continues it
)

// Statuses returns all statuses but Standing.
func Statuses() []Status {
	return []Status{Running, OnHold, WaitingForCode, Parked, Completed, Failed, Canceled, Terminated, TimedOut, Continued}
}

// Standing is the status of an entity that is not a workflow, such as a gate: it has rows, an
// inbox and a wake time like a run, but does not end. Reader.List omits it unless
// Filter.Status names it; Reader.Counts always omits it.
const Standing Status = "#standing"

// Open reports whether a run with this status may still advance.
func (s Status) Open() bool {
	return s == Running || s == OnHold || s == WaitingForCode || s == Parked || s == Standing
}

// Turn is one deterministic advance of a run, or a change of its calls between two advances.
// It is committed whole or not at all. Its parts are written in the order of the fields.
// Turn.Validate says what every store refuses. A turn of a run that does not exist is refused
// with ErrNotFound.
type Turn struct {
	Partition int
	Ward      int   // ward in which the run is; 0: at home
	Epoch     int64 // of the owner; the turn is refused if the database has another epoch
	Run       string

	// Create inserts a run with this turn: the turn's own run, or the next of its chain if
	// State closes the turn's own. Its workflow ID must be free, or belong to a closed run of
	// the same chain or to the run that Run.After names. A run that exists under this ID stays
	// as it is; a turn of number 0 then counts as durable.
	Create *Run

	// Number is the turn's number in the history of its run, 1 for the first; 0 if the turn
	// adds nothing to history. If (Partition, Run, Number) exists with the same CommitID, the
	// turn is durable already and nothing is done; with another CommitID it is refused with
	// ErrStale. A turn of number 0 that creates no run must be repeatable: it has neither Hook
	// nor Tallies, and Messages only if Repeatable is set.
	Number   int64
	CommitID int64
	Time     int64  // engine time of the turn, ns
	Events   []byte // encoded events

	State *RunState // new state of the run, nil if unchanged
	// Attributes replace all attributes of the run; nil if they are unchanged. Only a turn with
	// a number may have them.
	Attributes *[]Attribute

	Calls  []Call  // rows to insert or replace; their Partition and Run are the turn's
	Closed []int64 // numbers of the rows of calls that are deleted
	// Over are tasks whose attempts have ended: their rows are deleted, whoever has claimed
	// them.
	//
	// Withdrawn are tasks that are no longer offered: their rows are deleted, but if one is
	// claimed, the turn is refused with ErrClaimed.
	//
	// GivenUp are tasks whose claimants have not reported an end: their rows are deleted, but
	// if one is settled, the turn is refused with ErrClaimed.
	//
	// Stopped are tasks whose claimants are asked to end them (HeldTask).
	//
	// A task that does not exist counts as deleted. Offered are attempts to put into their
	// queues: a row of an earlier attempt is replaced, one of the same attempt stays as it is.
	// Their Partition and Run are the turn's.
	Over, GivenUp, Withdrawn, Stopped []TaskRef
	Offered                           []Task

	// Remove deletes the turn's own run, which must be Standing, with its calls. Messages that
	// wait for it stay in the inbox. A run that is not Standing, or does not exist, is left
	// alone. Such a turn has no number and writes nothing else that belongs to its run.
	Remove   bool
	Attempts []Attempt // ledger rows to insert; an existing row stays as it is
	Tallies  []Tally   // added to the counters; only in a turn with a number
	Consumed []int64   // sequence numbers of inbox messages to delete
	Messages []Message // for other runs, which need not exist yet; each is delivered once (but see Repeatable)

	// Repeatable says that the turn's messages may arrive twice. That happens if Number is 0,
	// the reply to its commit was lost, and the first copy was consumed before the repetition.
	Repeatable bool

	// Hook runs inside the transaction, after the rows of this turn were written. If it returns
	// an error, the turn is refused with a *HookError and this turn alone is rolled back. The
	// store documents the type of tx. A tx that is no *sql.Tx has a method As(target any) bool,
	// which sets a *sql.Tx on the same transaction, if the store is an SQL store. If the transaction
	// restarts, the hook runs again: only its effects through tx occur once. It must not call
	// the store. After HookLimit its statements are canceled. A hook that ignores that is
	// abandoned with ErrHookLeft, and the store makes tx unusable for it.
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

// Call is the row of a call that must be found without replay, or of several calls of a run that
// follow each other and are alike. See Apart.
type Call struct {
	Partition int
	Run       string
	Number    int64 // of the call in its run, or of the last of several
	First     int64 // of several, the number of the first; 0: there is only one
	State     CallState
	Name      string // of the activity or step
	Queue     string
	Attempt   int   // the current or coming attempt
	Due       int64 // when a call in backoff continues, ns; else 0
	Data      []byte
}

// CallState is the state of a call with a row.
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
	InDoubt     CallState = "in-doubt"    // an attempt may have had its effect; waits for a person
	Quarantined CallState = "quarantined" // lost too many attempts to crashes
)

// CallStates returns the states of calls of workflows.
func CallStates() []CallState {
	return []CallState{Queued, Dispatched, External, Offered, Remote, Backoff, Gated, Paused, InDoubt, Quarantined}
}

// The states of an entity's rows, which are not calls of workflows. Counts omits them.
const (
	TicketWaiting CallState = "#waiting" // for its turn at a gate
	TicketHolding CallState = "#holding" // an attempt may be running
	TicketResting CallState = "#resting" // between two attempts
	GateShare     CallState = "#share"   // what a gate remembers of a run key
	GateTripped   CallState = "#tripped" // the same, of one whose own breaker is not closed

	FireOpen    CallState = "#fired"    // of a schedule: its run is open
	FireWaiting CallState = "#buffered" // of a schedule: waits until the runs of earlier fires close

	Noted CallState = "#noted" // of a gate or schedule: an operation of a person
)

// CallFilter selects calls that have a row.
type CallFilter struct {
	Partitions []int // nil: all
	State      CallState
	Limit      int // 0: 100
}

// WaitingCall is the row of a call with its run's workflow ID and type.
type WaitingCall struct {
	Call
	WorkflowID string
	Type       string // name of the workflow definition
	Key        string // of the run
}

// OfEntity reports whether calls in this state belong to an entity that is not a workflow.
func (s CallState) OfEntity() bool { return len(s) > 0 && s[0] == '#' }

// InboxRead says what is read of inboxes. The zero value reads everything.
type InboxRead struct {
	After int64    // only messages with higher numbers
	Limit int      // at most so many; 0: all
	Of    []string // only those for runs of these workflow IDs, by an index; one named twice counts once; nil: for any
}

// Message is a message to a run or another entity.
type Message struct {
	Partition  int
	Sequence   int64  // assigned by the store; unique in the database, increasing within a partition
	WorkflowID string // whose latest run reads it
	Run        string // if set, only this run may read it
	Key        string // unique among the waiting messages of a workflow ID
	Kind       string
	Data       []byte
	Posted     int64 // ns, assigned by the store

	// IfRoom tells Post to return ErrFull if the run is Full. It is not kept.
	IfRoom bool

	// ForOwner tells Post that the owner of the partition reads the message, whether or not
	// there is a run. It is not kept.
	ForOwner bool
	// Replace tells Post to replace a waiting message with the same key. The new message gets
	// its own number and time. It is not kept.
	Replace bool
	// Ordered tells Post that of such messages to one run a later one is never read before an
	// earlier one. It is not kept.
	Ordered bool
}

// Wake is a run and its wake time.
type Wake struct {
	Partition int
	Run       string
	Time      int64
}

// Record is everything needed to continue a run.
type Record struct {
	Run   Run
	Turns []TurnRow
	Calls []Call
}

// Result is the result of Commit.
type Result struct {
	Now    int64   // the database's clock at the commit, ns
	Errors []error // one per turn
}

// Filter selects runs. The zero value selects all except Standing ones.
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
	Before     string    // run ID: only runs with a lower one, which are older (paging)
	Above      string    // run ID: only runs with a greater one
	Limit      int       // 0: 100
}

// SelectsTime reports whether created, in ns, is between Since and Until.
func (f *Filter) SelectsTime(created int64) bool {
	return (f.Since.IsZero() || created >= f.Since.UnixNano()) && (f.Until.IsZero() || created < f.Until.UnixNano())
}
