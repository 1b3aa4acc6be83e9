package store

import "context"

// Opener opens a database. sqlite.File and memory.New return one, so that the
// engine decides when the connection is made and a program can name a database
// before it exists.
type Opener interface {
	// Open connects, creates the schema in an empty database and applies
	// pending migrations. A database that is none of ours, or newer than this
	// program, is refused (ErrForeign, ErrNewer) and left untouched.
	Open(ctx context.Context) (Store, error)
}

// Store is a database as the engine sees it. Every method is one whole
// transaction: it happened or it did not, and a caller that got no answer may
// call again with the same arguments without doing it twice.
//
// All methods are safe for concurrent use. Byte slices handed to a store stay
// the caller's but are never changed after the call began; byte slices handed
// out belong to the receiver.
//
// An error for which Unavailable reports true means that the database could
// not answer now (busy, full, gone): the same call may work later. Every other
// error is about the arguments and would come again.
type Store interface {
	Owner
	Client
	Reader

	// Info says what and where the database is. It never changes while open.
	Info() Info

	// Listen calls notify once when it begins and then, until ctx ends or the
	// store is closed, soon (within 100 ms) after a message came into an inbox
	// by Post, by Create or with a turn: through this Store, another one, or
	// another process. Calls may be spurious and may coalesce; notify must
	// return quickly. Listen blocks; it answers the error of ctx or
	// ErrStoreClosed.
	Listen(ctx context.Context, notify func()) error

	// Close releases everything, ownership included. It does not wait for
	// calls in progress longer than they take by themselves.
	Close() error
}

// Owner holds the verbs of the node that owns partitions.
type Owner interface {
	// Join registers a node as a worker of this database. A store that only one
	// process can serve refuses a second one with an *InUseError.
	Join(ctx context.Context, node Node) error

	// Leave gives back what Join took. Partitions of the node are free after it.
	Leave(ctx context.Context, node string) error

	// Claim makes node the owner of the partitions and raises the epoch of
	// each, so that every later Commit under an older epoch is refused.
	Claim(ctx context.Context, node string, partitions []int) ([]Ownership, error)

	// Commit makes the turns of a batch durable together. It answers each turn
	// by itself, in order: nil in Result.Errors means it is durable (now, or
	// since an earlier call with the same bytes); a refused turn (ErrFenced,
	// *ConflictError, ErrStale) left nothing and did not hinder the others. If
	// Commit itself fails, none is known to be durable: calling again with the
	// same turns is safe.
	Commit(ctx context.Context, turns []Turn) (Result, error)

	// Due lists runs of a partition whose wake time w satisfies
	// after < w <= until, earliest first, at most limit (0: all); but runs that
	// share the last wake time listed are listed all, however many, so that
	// reading on after it leaves none out. Runs with work in flight have wake
	// time Hot (0): pass after = -1 to see them.
	Due(ctx context.Context, partition int, after, until int64, limit int) ([]Wake, error)

	// Inbox lists messages of a partition with a sequence number above after,
	// in order, at most limit (0: all). Turns consume them by number.
	Inbox(ctx context.Context, partition int, after int64, limit int) ([]Message, error)

	// Load reads all that is needed to continue a run.
	Load(ctx context.Context, partition int, run string) (*Record, error)
}

// Client holds the verbs of a process that need not own anything.
type Client interface {
	// Create inserts a run that its owner will start, and a message of
	// KindCreated that tells the owner so. If the workflow ID is taken it
	// answers *ConflictError with the run that has it, unless that is this very
	// run. A closed run does not hinder a later one of its own chain.
	Create(ctx context.Context, run Run) error

	// Post inserts a message for the latest run of a workflow ID. A message
	// with the key of one that still waits there is dropped: posting twice is
	// posting once. ErrNotFound and ErrClosed tell that nobody would read it.
	Post(ctx context.Context, message Message) error
}

// Reader holds the verbs that only look. They see everything committed before
// they were called.
type Reader interface {
	// Find reads one run: by run ID if it is given, else the latest run of the
	// workflow ID. ErrNotFound if there is none.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)

	// List reads runs, newest first.
	List(ctx context.Context, filter Filter) ([]Run, error)

	// History reads the turns of a run with numbers above after, in order, at
	// most limit (0: all).
	History(ctx context.Context, partition int, run string, after int64, limit int) ([]TurnRow, error)

	// Calls reads the calls of a run that have a row, by number.
	Calls(ctx context.Context, partition int, run string) ([]Call, error)

	// Attempts reads the ledger of a run (of one call if call > 0), by call and
	// attempt.
	Attempts(ctx context.Context, partition int, run string, call int64) ([]Attempt, error)

	// Owners reads who has owned a partition, by epoch.
	Owners(ctx context.Context, partition int) ([]Ownership, error)

	// Counts reads how many runs and calls are in which state.
	Counts(ctx context.Context) (Counts, error)
}
