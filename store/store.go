package store

import "context"

// Opener opens a database. sqlite.File and memory.New return one. The engine decides when to
// connect, and a program can name a database before it exists.
type Opener interface {
	// Open connects, creates the schema in an empty database and applies pending migrations. It
	// refuses a database of another program or of a newer version (ErrForeign, ErrNewer) and
	// leaves it untouched.
	Open(ctx context.Context) (Store, error)
}

// Store is a database as the engine uses it. Every method is one whole transaction: it takes
// effect or it does not. After a lost reply the caller may repeat the call with the same
// arguments; the effect occurs once.
//
// All methods are safe for concurrent use. Byte slices passed to a store belong to the caller,
// who must not change them after the call has begun. Byte slices returned belong to the
// caller.
//
// An error for which Unavailable reports true means that the database could not process the
// call now (busy, full, unreachable); the same call may succeed later. Undone reports whether
// certainly nothing was written, and Refused whether the database works and refused a
// statement of the store, so that waiting alone does not help. If ctx ends first, the error wraps that of ctx, and is
// ctx.Err() itself if nothing was written. Every other error is about the arguments and is
// permanent.
type Store interface {
	Owner
	Client
	Reader
	Queues
	Copies

	// Info describes the database. It does not change while the store is open.
	Info() Info

	// Listen calls notify once when it begins, with every kind of news, then within 100 ms
	// after something of a kind was written through this Store, another Store or another
	// process. Calls may be spurious and may coalesce. notify must return quickly. Listen
	// blocks until ctx ends or the store is closed. It returns the error of ctx,
	// ErrStoreClosed, or an *UnavailableError, after which the caller may call it again.
	Listen(ctx context.Context, notify func(News)) error

	// Close releases all resources. It waits for calls in progress and does not prolong them. A
	// node that joined through this Store and has not left counts as dead: in a shared store
	// its lease must expire.
	Close() error
}

// Owner has the methods of a node, a process that serves partitions.
//
// A node is a member for the time of its lease, counted from its last Join or Renew on the
// database's clock. It owns the partitions it has claimed until it releases them, or until its
// lease has expired and another node claims them. A store that only one process can serve
// (Info.Shared is false) needs no lease; the store decides when a node is dead.
type Owner interface {
	// Join registers a node. Joining again with the same ID changes nothing. ErrReplaced means
	// that the node with this ID is no longer a member. A store that only one process can serve
	// refuses a second one with an *InUseError.
	Join(ctx context.Context, node Node) error

	// Renew extends a node's lease and returns the live nodes and the owners of the group's
	// partitions. After a lost reply it may be repeated with the same numbers. ErrReplaced
	// means that the node is no longer a member: it left, a node of its name superseded it, or
	// another process renews the same ID, which the numbers reveal.
	//
	// An expired lease can be renewed. The node then still owns the partitions that no other
	// node has claimed meanwhile.
	Renew(ctx context.Context, renewal Renewal) (*Membership, error)

	// Leave ends a node's membership and frees its partitions.
	Leave(ctx context.Context, node string) error

	// Claim makes node the owner of those of the partitions that are free, its own, or owned by
	// a node whose lease has expired. It returns them in order. It raises the epoch of each, so
	// that every Commit under an older epoch is refused, and waits for commits in flight.
	// ErrReplaced means that the node is not a member. If one of the partitions does not exist,
	// none is claimed.
	Claim(ctx context.Context, node string, partitions []int) ([]Ownership, error)

	// Release frees those of the partitions that node owns. Like Claim it waits for commits in
	// flight.
	Release(ctx context.Context, node string, partitions []int) error

	// Move moves an open run to another node, or back to the owner of its partition. There its
	// wake time is Arrived. If the node has no ward yet, Move creates it; the node finds the
	// ward among the owners of its next renewal, owned and not served. A run that is there
	// already stays as it is, so repeating the call is harmless. ErrFenced means that the epoch
	// is not that of the place, ErrElsewhere that the run is at another place, ErrNoPlace that
	// the node accepts no runs, ErrClosed that the run has ended.
	Move(ctx context.Context, move Move) error

	// Dissolve brings home the runs of a ward whose owner has released it, left or lost its
	// lease. It reports whether the ward no longer exists: a live owner keeps it. Like Claim it
	// waits for commits in flight. ErrFenced means that the epoch is not that of the partition.
	Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error)

	// Commit makes the turns of a batch durable together. Result.Errors has an entry for each
	// turn, in order. Nil means that the turn is durable (now, or since an earlier call with
	// the same bytes). A refused turn (for example ErrFenced, *ConflictError, ErrStale) wrote
	// nothing and did not affect the others. If Commit itself fails, no turn is known to be
	// durable, and it is safe to repeat the call with the same turns. A turn that would wait
	// for a transaction that is not the store's (see Transaction) gets an *UnavailableError, and
	// so does one that needs a statement which the database refuses.
	// The caller reuses turns afterwards, so the store copies what it keeps of the slice.
	Commit(ctx context.Context, turns []Turn) (Result, error)

	// Due returns runs of the partitions whose wake time w satisfies after < w <= until,
	// earliest first, at most limit (0: all). It returns all runs that share the last wake
	// time, in any order, so that reading on after that time omits none. Runs with work in
	// flight have wake time Hot (0), and runs that have arrived from another node Arrived
	// (-1); pass after = -2 to get both. Runs in line have wake times up to LastInLine.
	Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]Wake, error)

	// Line returns the runs of the partitions that are in line by their keys (InLineByKey) and
	// whose turn it is, of each partition as Take chooses them from LineRead.From on, at most
	// LineRead.Share: of each key by priority, highest first, then age, then ID.
	Line(ctx context.Context, read LineRead) ([]LineRun, error)

	// Inbox returns messages of the partitions by number. Turns consume them by number. Of
	// concurrent posts the one with the lower number may appear later, so a complete read
	// begins at 0.
	Inbox(ctx context.Context, partitions []int, read InboxRead) ([]Message, error)
}

// Client has the methods that need no ownership.
type Client interface {
	// Group returns the partitions of a group of nodes and creates them if the group is new.
	// Every group has Info.Partitions partitions of its own with consecutive numbers; those of
	// the group "" start at 0.
	Group(ctx context.Context, name string) (Group, error)

	// Secret returns at least 32 random bytes that were generated with the database and never
	// change. They sign tokens.
	Secret(ctx context.Context) ([]byte, error)

	// Create inserts a run that its owner will start, and a message of KindCreated that tells
	// the owner. The owner of a run in line (see InLine) gets only news of messages. If the
	// workflow ID is in use, Create returns a *ConflictError with the run that has it, unless
	// that is this very run. A closed run does not prevent a later run of its own chain, nor
	// one that names it in Run.After.
	Create(ctx context.Context, run Run) error

	// Post inserts a message for the latest run of a workflow ID. If a message with the same
	// key waits, the new one is dropped, or replaces it if Message.Replace is set; so posting
	// twice is posting once. ErrNotFound and ErrClosed mean that no run would read the message
	// (not if it is ForOwner), and ErrFull that it is IfRoom and the run is Full.
	Post(ctx context.Context, message Message) error

	// Take removes the messages that wait for a workflow ID and returns them by number. Callers
	// that are not runs receive replies this way. If the reply to the call is lost, the
	// messages are lost.
	Take(ctx context.Context, partition int, workflowID string) ([]Message, error)

	// Switch appends an entry to the log of a group's switches and returns it. If the request
	// is in the log already, Switch returns that entry and writes nothing.
	Switch(ctx context.Context, s Switch) (Switch, error)

	// Delete deletes closed runs and old counters and returns how many runs it deleted. It is
	// one transaction, so callers delete in small batches. It may skip a run whose successor is
	// being created.
	Delete(ctx context.Context, d Deletion) (int, error)

	// Within returns the client's methods inside tx, a transaction in this database that the
	// caller began and will end. The store documents the types of tx; for others, Within or the
	// methods return ErrTx.
	Within(tx any) (Transaction, error)

	// Transact runs f inside a transaction of the store, which is committed if f returns nil
	// and rolled back otherwise; Transact then returns a *HookError that wraps the error of f.
	// tx and the rules for f are those of Turn.Hook: f has HookLimit, runs again if the
	// transaction restarts, calls the store only within tx, and may be abandoned. A store
	// without transactions for callers returns ErrTx.
	Transact(ctx context.Context, f func(tx any) error) error
}

// Reader has the methods that only read. They see everything that was committed before the
// call. A partition that does not exist is empty.
type Reader interface {
	// Find returns one run: by run ID if run is not "", else the latest run of the workflow ID.
	// It returns ErrNotFound if there is none.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)

	// Ended returns those of runs that are closed, in no particular order.
	Ended(ctx context.Context, runs []RunRef) ([]Run, error)

	// Load returns everything needed to continue a run.
	Load(ctx context.Context, partition int, run string) (*Record, error)

	// List returns runs, newest first.
	List(ctx context.Context, filter Filter) ([]Run, error)

	// Floor bounds a read of the newest runs. In each of the partitions (nil: all) it looks at
	// the runs with IDs below before ("": all), in descending order of ID, and takes the ID of
	// the each-th one. It returns the greatest of these IDs, or "" if no partition has that
	// many runs. Runs of all statuses count, and so do entities. A value of each below 1 counts
	// as 1. The cost depends on each, not on the number of runs.
	Floor(ctx context.Context, partitions []int, before string, each int) (string, error)

	// History returns the turns of a run with numbers above after, in order, at most limit (0:
	// all).
	History(ctx context.Context, partition int, run string, after int64, limit int) ([]TurnRow, error)

	// Calls returns the rows of a run's calls, by number. See Apart.
	Calls(ctx context.Context, partition int, run string) ([]Call, error)

	// Waiting returns calls of all runs in one state, earliest Due first and otherwise in no
	// particular order. Its cost depends on the limit, not on the number of runs.
	Waiting(ctx context.Context, filter CallFilter) ([]WaitingCall, error)

	// Attempts returns a part of the ledger of a run, by call and attempt. Its cost depends on
	// the size of that part, not of the ledger.
	Attempts(ctx context.Context, partition int, run string, part AttemptRange) ([]Attempt, error)

	// Ledger returns attempts of all runs, latest first: by Ended, then by Run, Call and
	// Number, all descending. Its cost does not depend on the number of runs or of first-try
	// successes.
	Ledger(ctx context.Context, filter LedgerFilter) ([]LedgerEntry, error)

	// Errors groups the attempts of the ledger that ended with an error by name and type of the
	// error, in this order. Limit restricts it to so many of the latest, and to those that
	// ended at the same moment as the last of them; 0: all. It ignores Before, Latest and
	// Above of the filter.
	Errors(ctx context.Context, filter LedgerFilter) ([]ErrorGroup, error)

	// Tallies returns the sums of the counters, by the keys of the filter and in their order.
	Tallies(ctx context.Context, filter TallyFilter) ([]Tally, error)

	// Owners returns the owners of a partition and its wards by epoch.
	Owners(ctx context.Context, partition int) ([]Ownership, error)

	// Nodes returns the nodes, including recently departed ones, in the order of joining.
	Nodes(ctx context.Context) ([]Member, error)

	// Switches returns the entries of a group's log of switches above the number after, in
	// order. Reading on after the last number misses none.
	Switches(ctx context.Context, group string, after int64) ([]Switch, error)

	// Posted returns the messages that wait for a workflow ID, by number.
	Posted(ctx context.Context, partition int, workflowID string) ([]Message, error)

	// Tasks returns tasks: highest priority first, then oldest.
	Tasks(ctx context.Context, filter TaskFilter) ([]Task, error)

	// Backlogs returns the content of each queue, by name.
	Backlogs(ctx context.Context, partitions []int) ([]Backlog, error)

	// Workers returns the workers, including recently departed ones, in the order of joining,
	// then by ID.
	Workers(ctx context.Context) ([]WorkerState, error)

	// Counts returns how many runs and calls of the partitions (nil: all) are in each state.
	// They are as Counts.Bound leaves them, so that no state has to be counted beyond most; 0
	// counts all.
	Counts(ctx context.Context, partitions []int, most int) (Counts, error)
}
