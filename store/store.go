package store

import "context"

// Opener opens a database. sqlite.File and memory.New return one: the engine decides
// when the connection is made, and a program can name a database before it exists.
type Opener interface {
	// Open connects, creates the schema in an empty database and applies
	// pending migrations. A database of another program, or of a newer version,
	// is refused (ErrForeign, ErrNewer) and left untouched.
	Open(ctx context.Context) (Store, error)
}

// Store is a database as the engine sees it. Every method is one whole
// transaction: it takes effect or it does not. After a lost answer the caller may
// repeat the call with the same arguments; the effect occurs once.
//
// All methods are safe for concurrent use. Byte slices passed to a store belong to
// the caller and do not change after the call began; byte slices returned belong to
// the caller.
//
// An error for which Unavailable reports true means that the database could not
// answer now (busy, full, gone): the same call may succeed later. Undone reports whether
// it is certain that nothing was written. If ctx ends first, the error wraps that of ctx,
// and is ctx.Err() itself if nothing was written. Every other error is about the
// arguments and permanent.
type Store interface {
	Owner
	Client
	Reader
	Queues

	// Info says what and where the database is. It never changes while open.
	Info() Info

	// Listen calls notify once when it begins (with every kind of news), then
	// within 100 ms after something of a kind was written through this Store,
	// another one, or another process. Calls may be spurious and may coalesce;
	// notify must return quickly. Listen blocks until ctx ends or the store is
	// closed. It returns the error of ctx, ErrStoreClosed, or an *UnavailableError,
	// after which it may be called again.
	Listen(ctx context.Context, notify func(News)) error

	// Close releases all resources. A node that joined through this Store and has
	// not left counts as dead: in a shared store its lease must expire. Close waits
	// for calls in progress, which it does not prolong.
	Close() error
}

// Owner holds the verbs of a node: a process that serves partitions.
//
// A node is a member for the time of its lease, counted from its last Join or Renew
// on the database's clock. It owns the partitions it claimed until it releases them
// or, after its lease expired, another node claims them. A store that only one
// process can serve (Info.Shared is false) needs no lease: a node is dead when the
// store says so.
type Owner interface {
	// Join registers a node. Joining again with the same ID changes nothing;
	// ErrReplaced means that the node of this ID is no longer a member. A store
	// that only one process can serve refuses a second one with an *InUseError.
	Join(ctx context.Context, node Node) error

	// Renew extends a node's lease and returns the live nodes and the owners of the
	// group's partitions. After a lost answer it may be repeated with the same
	// numbers. ErrReplaced means that the node is no longer a member: it left, a node
	// of its name superseded it, or another process renews the same ID, which the
	// numbers reveal.
	//
	// An expired lease can be renewed: the node still owns the partitions that no
	// other node claimed meanwhile.
	Renew(ctx context.Context, renewal Renewal) (*Membership, error)

	// Leave ends a node's membership and frees its partitions.
	Leave(ctx context.Context, node string) error

	// Claim makes node the owner of the partitions that are free, its own, or owned
	// by a node whose lease has expired, and returns these in order. It raises the
	// epoch of each, so that every Commit under an older epoch is refused, and waits
	// for commits in flight. ErrReplaced means that the node is not a member. If a
	// partition does not exist, none is claimed.
	Claim(ctx context.Context, node string, partitions []int) ([]Ownership, error)

	// Release frees the partitions that node owns. Like Claim it waits for commits in
	// flight.
	Release(ctx context.Context, node string, partitions []int) error

	// Move gives an open run to another node, or back, where it has Arrived. The ward is
	// made if there is none yet; the node finds it among the owners of its next renewal,
	// owned and not served. A run that is there already stays as it is, so a repeated call
	// does no harm. ErrFenced says that the epoch is not that of the place; ErrElsewhere
	// that the run is at another one; ErrNoPlace that the node takes none; ErrClosed that
	// the run has ended.
	Move(ctx context.Context, move Move) error

	// Dissolve brings home the runs of a ward whose owner has released it, left or lost its
	// lease, and returns whether there is no such ward any more: an owner that lives keeps
	// it. Like Claim it waits for commits in flight. ErrFenced says that the epoch is not
	// that of the partition.
	Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error)

	// Commit makes the turns of a batch durable together. Result.Errors has an entry
	// for each turn, in order: nil means that it is durable (now, or since an earlier
	// call with the same bytes); a refused turn (ErrFenced, *ConflictError, ErrStale)
	// wrote nothing and did not hinder the others. If Commit itself fails, no turn is
	// known to be durable, and it is safe to repeat the call with the same turns. A
	// turn that would wait for a transaction that is not the store's (see Transaction)
	// gets an *UnavailableError. The caller uses turns for other ones afterwards: what the
	// store keeps of it, it copies.
	Commit(ctx context.Context, turns []Turn) (Result, error)

	// Due lists runs of the partitions whose wake time w satisfies
	// after < w <= until, earliest first, at most limit (0: all). Runs that
	// share the last wake time are all listed, in any order, so that reading on
	// after that time omits none. Runs with work in flight have wake time Hot (0),
	// those that have come from another node Arrived (-1): pass after = -2 to see both. Runs in line have wake times up to LastInLine.
	Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]Wake, error)

	// Inbox lists messages of the partitions with a sequence number above after,
	// by number, at most limit (0: all). Turns consume them by number. Of
	// concurrent posts the one with the lower number may appear later, so a complete
	// reading begins at 0.
	Inbox(ctx context.Context, partitions []int, after int64, limit int) ([]Message, error)
}

// Client holds the verbs that need no ownership.
type Client interface {
	// Group returns the partitions of a group of nodes and creates them if the group
	// is new. Every group has Info.Partitions of its own with consecutive numbers;
	// the group "" has those from 0.
	Group(ctx context.Context, name string) (Group, error)

	// Secret returns at least 32 random bytes that were made with the database and
	// never change. They sign tokens.
	Secret(ctx context.Context) ([]byte, error)

	// Create inserts a run that its owner will start, and a message of
	// KindCreated that tells the owner so; of a run in line (see InLine) the owner is
	// told by news of messages alone. If the workflow ID is taken it
	// returns a *ConflictError with the run that has it, unless that is this very
	// run. A closed run does not hinder a later one of its own chain, nor one that
	// comes after it (Run.After).
	Create(ctx context.Context, run Run) error

	// Post inserts a message for the latest run of a workflow ID. A message whose key
	// equals that of a waiting one is dropped, or replaces it if it says so: posting
	// twice is posting once. ErrNotFound and ErrClosed mean that no run would read it
	// (not for a message ForOwner), ErrFull that it is IfRoom and the backlog is full.
	Post(ctx context.Context, message Message) error

	// Take removes the messages that wait for a workflow ID and returns them by
	// number. Callers that are not runs receive their answers this way. If the result
	// of the call is lost, so are the messages.
	Take(ctx context.Context, partition int, workflowID string) ([]Message, error)

	// Switch appends to the log of a group's switches and returns the entry. A
	// request that is already in the log is not written again; its entry is
	// returned.
	Switch(ctx context.Context, s Switch) (Switch, error)

	// Delete removes closed runs and old counters and returns how many runs it
	// removed. It is one transaction, so callers delete in small batches. A run whose
	// successor is being created may be left for the next time.
	Delete(ctx context.Context, d Deletion) (int, error)

	// Within returns the verbs of a client inside tx, a transaction in this database
	// that the caller began and will end. The store documents the types of tx;
	// others are refused with ErrTx, here or by the verbs.
	Within(tx any) (Transaction, error)

	// Transact runs f inside a transaction of the store's own, which is committed if
	// f returns nil and rolled back otherwise; the error is then a *HookError around
	// that of f. tx and the rules for f are those of the Hook of a Turn: f has
	// HookLimit, runs again if the transaction has to begin again, calls the store
	// only within tx, and may be left behind. A store without transactions for
	// callers returns ErrTx.
	Transact(ctx context.Context, f func(tx any) error) error
}

// Reader holds the verbs that only read. They see everything committed before the
// call. A partition that does not exist is empty.
type Reader interface {
	// Find returns one run: by run ID if given, else the latest run of the workflow
	// ID. It returns ErrNotFound if there is none.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)

	// Ended returns those of the runs that are closed, in no particular order.
	Ended(ctx context.Context, runs []RunRef) ([]Run, error)

	// Load reads all that is needed to continue a run.
	Load(ctx context.Context, partition int, run string) (*Record, error)

	// List reads runs, newest first.
	List(ctx context.Context, filter Filter) ([]Run, error)

	// Floor returns how far a look at the newest runs goes: of each of the partitions (nil:
	// all) it takes the run that is the each-th by ID, the greatest ID first, of those below
	// before (empty: of all), and returns the greatest of their IDs; empty if no partition has
	// so many. Runs of all statuses count, and entities. Below 1, each is 1. Its cost depends
	// on each, not on the number of runs.
	Floor(ctx context.Context, partitions []int, before string, each int) (string, error)

	// History reads the turns of a run with numbers above after, in order, at
	// most limit (0: all).
	History(ctx context.Context, partition int, run string, after int64, limit int) ([]TurnRow, error)

	// Calls reads the calls of a run that have a row, by number.
	Calls(ctx context.Context, partition int, run string) ([]Call, error)

	// Waiting reads calls in one state of all runs, those with the earliest Due first,
	// in no other order. Its cost depends on the limit, not on the number of runs.
	Waiting(ctx context.Context, filter CallFilter) ([]WaitingCall, error)

	// Attempts reads a part of the ledger of a run, by call and attempt. Its cost depends on
	// how long the part is, not on the ledger.
	Attempts(ctx context.Context, partition int, run string, part AttemptRange) ([]Attempt, error)

	// Ledger reads attempts of all runs, the latest first: by Ended, then by Run,
	// Call and Number, all descending. Its cost does not depend on the number of runs
	// or of first-try successes.
	Ledger(ctx context.Context, filter LedgerFilter) ([]LedgerEntry, error)

	// Errors groups the attempts of the ledger that ended with an error, by name
	// and type of the error, in this order. Before, Latest, Above and Limit of the
	// filter are ignored.
	Errors(ctx context.Context, filter LedgerFilter) ([]ErrorGroup, error)

	// Tallies returns the sums of the counters by type and name.
	Tallies(ctx context.Context, filter TallyFilter) ([]Tally, error)

	// Owners returns the owners of a partition and its wards by epoch.
	Owners(ctx context.Context, partition int) ([]Ownership, error)

	// Nodes returns the nodes, recently departed ones included, by the time they
	// joined.
	Nodes(ctx context.Context) ([]Member, error)

	// Switches reads the entries of a group's log of switches above the number after,
	// in order. Reading on from the last number misses none.
	Switches(ctx context.Context, group string, after int64) ([]Switch, error)

	// Tasks reads tasks, the highest priority first, then the oldest.
	Tasks(ctx context.Context, filter TaskFilter) ([]Task, error)

	// Backlogs returns what is in each queue, by name.
	Backlogs(ctx context.Context, partitions []int) ([]Backlog, error)

	// Workers returns the workers, recently departed ones included, by the time they
	// joined, then by ID.
	Workers(ctx context.Context) ([]WorkerState, error)

	// Counts returns how many runs and calls of the partitions (nil: all) are in each
	// state.
	Counts(ctx context.Context, partitions []int) (Counts, error)
}
