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

	// Listen calls notify once when it begins (with everything) and then, until
	// ctx ends or the store is closed, soon (within 100 ms) after something of
	// the kind came about: through this Store, another one, or another process.
	// Calls may be spurious and may coalesce; notify must return quickly. Listen
	// blocks; it returns the error of ctx, ErrStoreClosed, or an
	// *UnavailableError, after which it may be called again.
	Listen(ctx context.Context, notify func(News)) error

	// Close releases everything. A node that joined through this Store and has
	// not left is then one that died: if the store is shared, its lease has to
	// run out. Close does not wait for calls in progress longer than they take by
	// themselves.
	Close() error
}

// Owner holds the verbs of a node: a process that serves partitions.
//
// A node is there for the time of its lease, counted from its last sign of life
// (Join or Renew) on the database's clock. It owns the partitions it claimed
// until it gives them back or another node claims them, which is possible once
// the lease has run out. A store that only one process can serve (Info.Shared is
// false) needs no lease: there a node is dead when the store says so.
type Owner interface {
	// Join registers a node. Joining again with the same ID changes nothing;
	// ErrReplaced says that the node of this ID is no member any more. A store
	// that only one process can serve refuses a second one with an *InUseError.
	Join(ctx context.Context, node Node) error

	// Renew is a node's sign of life and returns who else is there and who owns
	// what. A renewal whose answer was lost may be asked for again with the same
	// numbers. ErrReplaced says that the node is no member any more: it left, or
	// another of its name superseded it, or another process renews the same ID,
	// which the numbers give away.
	//
	// A lease that ran out can be renewed: the node then still owns what nobody
	// claimed meanwhile.
	Renew(ctx context.Context, renewal Renewal) (*Membership, error)

	// Leave ends a node's membership and frees its partitions.
	Leave(ctx context.Context, node string) error

	// Claim makes node the owner of those of the partitions that are free, its
	// own, or owned by a node whose lease has run out, and returns these, by
	// partition. It raises the epoch of each, so that every Commit under an older
	// epoch is refused; it waits for commits that are under way. ErrReplaced says
	// that the node is no member. If a partition does not exist, none is claimed.
	Claim(ctx context.Context, node string, partitions []int) ([]Ownership, error)

	// Release frees those of the partitions that node owns, if any. Like Claim it waits
	// for commits that are under way.
	Release(ctx context.Context, node string, partitions []int) error

	// Commit makes the turns of a batch durable together. It returns each turn
	// by itself, in order: nil in Result.Errors means it is durable (now, or
	// since an earlier call with the same bytes); a refused turn (ErrFenced,
	// *ConflictError, ErrStale) left nothing and did not hinder the others. If
	// Commit itself fails, none is known to be durable: calling again with the
	// same turns is safe. A turn that would have to wait for a transaction which is not
	// the store's (see Transaction) is answered with an *UnavailableError.
	Commit(ctx context.Context, turns []Turn) (Result, error)

	// Due lists runs of the partitions whose wake time w satisfies
	// after < w <= until, earliest first, at most limit (0: all); but runs that
	// share the last wake time listed are listed all, however many, so that
	// reading on after it leaves none out; these are in any order. Runs with work
	// in flight have wake time Hot (0): pass after = -1 to see them.
	Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]Wake, error)

	// Inbox lists messages of the partitions with a sequence number above after,
	// by number, at most limit (0: all). Turns consume them by number. Of
	// messages that are posted at one time, that with the lower number may
	// appear later: who wants all begins at 0 again.
	Inbox(ctx context.Context, partitions []int, after int64, limit int) ([]Message, error)
}

// Client holds the verbs of a process that need not own anything.
type Client interface {
	// Group returns which partitions hold the runs of a group of nodes, and
	// makes them if the group is new. Every group has Info.Partitions of its
	// own, numbered in a row; the group "" has those from 0.
	Group(ctx context.Context, name string) (Group, error)

	// Secret returns the random bytes, at least 32, that were made with the
	// database and never change. Tokens are signed with them.
	Secret(ctx context.Context) ([]byte, error)

	// Create inserts a run that its owner will start, and a message of
	// KindCreated that tells the owner so. If the workflow ID is taken it
	// returns a *ConflictError with the run that has it, unless that is this very
	// run. A closed run does not hinder a later one of its own chain, nor one that
	// comes after it (Run.After).
	Create(ctx context.Context, run Run) error

	// Post inserts a message for the latest run of a workflow ID. A message
	// with the key of one that still waits there is dropped, or if it says so replaces
	// it: posting twice is posting once. ErrNotFound and ErrClosed tell that nobody would read it, unless
	// it is ForOwner, and ErrFull that it is IfRoom and there is none.
	Post(ctx context.Context, message Message) error

	// Take reads the messages that wait for a workflow ID, by number, and removes
	// them. It is for who is no run and gets answers. What was taken when the answer
	// of the call was lost is gone.
	Take(ctx context.Context, partition int, workflowID string) ([]Message, error)

	// Switch appends to the log of a group's switches and returns the entry. A
	// request that is in the log already is not written again; its entry is
	// answered.
	Switch(ctx context.Context, s Switch) (Switch, error)

	// Delete removes what is over, and returns how many runs it removed. It is one
	// transaction: whoever has much to remove asks for little at a time. A run after
	// which somebody is just creating another one may be left for the next time.
	Delete(ctx context.Context, d Deletion) (int, error)

	// Within returns the verbs of a client inside tx, a transaction in this database
	// that somebody else began and will end. What tx may be the store documents;
	// anything else is refused with ErrTx, here or by the verbs.
	Within(tx any) (Transaction, error)

	// Transact runs f inside a transaction of the store's own, which is committed if
	// f returns nil and undone otherwise: the error is then f's, as a *HookError. tx
	// is what the Hook of a Turn gets, and what is said there holds here: f has
	// HookLimit, is run again where the transaction has to be begun again, must not
	// call the store, but within tx, and may be left behind. A store without
	// transactions that others can write in returns ErrTx.
	Transact(ctx context.Context, f func(tx any) error) error
}

// Reader holds the verbs that only look. They see everything committed before
// they were called. A partition that does not exist holds nothing.
type Reader interface {
	// Find reads one run: by run ID if it is given, else the latest run of the
	// workflow ID. ErrNotFound if there is none.
	Find(ctx context.Context, partition int, workflowID, run string) (*Run, error)

	// Ended reads those of the runs that have ended, in no particular order.
	Ended(ctx context.Context, runs []RunRef) ([]Run, error)

	// Load reads all that is needed to continue a run.
	Load(ctx context.Context, partition int, run string) (*Record, error)

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

	// Ledger reads attempts of all runs, the latest first: by Ended, then by Run,
	// Call and Number, all downwards. What it costs does not depend on how many
	// runs or first-try successes there are.
	Ledger(ctx context.Context, filter LedgerFilter) ([]LedgerEntry, error)

	// Errors groups the attempts of the ledger that ended with an error, by name
	// and type of the error, and reads the groups in this order. Before, Latest,
	// Above and Limit of the filter mean nothing here.
	Errors(ctx context.Context, filter LedgerFilter) ([]ErrorGroup, error)

	// Tallies reads the counters, those of one type and name added up, by type and
	// name.
	Tallies(ctx context.Context, filter TallyFilter) ([]Tally, error)

	// Owners reads who has owned a partition, by epoch.
	Owners(ctx context.Context, partition int) ([]Ownership, error)

	// Nodes reads which nodes there are, and which were there of late, by the
	// time they joined.
	Nodes(ctx context.Context) ([]Member, error)

	// Switches reads the log of a group's switches with numbers above after, by
	// number. Who reads on from the last number misses none.
	Switches(ctx context.Context, group string, after int64) ([]Switch, error)

	// Counts reads how many runs and calls of the partitions (nil: of all) are
	// in which state.
	Counts(ctx context.Context, partitions []int) (Counts, error)
}
