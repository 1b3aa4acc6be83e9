package system

import (
	"context"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
)

// System runs workflows durably on databases of one kind.
type System interface {
	Name() string
	Kind() place.Kind
	// Resumes reports whether the next session continues immediately with what an
	// earlier one left, however that ended.
	Resumes() bool
	// Open begins to work on a database.
	Open(ctx context.Context, db place.Database, c Config) (Session, error)
}

// Config is what a session is told.
type Config struct {
	InFlight int                                 // steps that can run at once
	Step     func(n int)                         // body of step n of a chain, from 0
	Try      func(run string, attempt int) error // body of the step of Flaky, attempts from 1
}

// Session is a system at work.
type Session interface {
	// Chain runs a workflow of steps one after the other, each of which gets the
	// number of steps done before it as its input, and answers how many were
	// done. It returns when the end is durable. If the system resumes, a chain that
	// exists under the ID is continued and not begun again.
	Chain(ctx context.Context, id string, steps int) (int, error)

	// Verify compares what is in the database with what should be. It is called
	// when nothing is in flight.
	Verify(ctx context.Context, want Tally) error

	// Commits counts the write transactions of this session; false if only the
	// database can tell.
	Commits() (int64, bool)

	// Close stops the work.
	Close(ctx context.Context) error
}

// Turner is a Session that counts its turns: how often it writes a workflow.
type Turner interface{ Turns() int64 }

// Tally is what the workloads have done to a database.
type Tally struct {
	Runs   int // completed
	PerRun int // attempts of steps each of them made, failed ones too; 0 if they differ
	Asleep int // runs that sleep
}

// What Flaky does.
const (
	Failures = 2                      // attempts that fail before one succeeds
	Backoff  = 100 * time.Millisecond // between the end of one and the start of the next
)

// Retrier is a Session that retries.
type Retrier interface {
	// Flaky runs a workflow of one step whose body is Config.Try, with a constant
	// Backoff without jitter, and answers the number of attempts.
	Flaky(ctx context.Context, id string) (int, error)
}

// FanOuter is a Session whose workflows have parallel steps.
type FanOuter interface {
	// Fan runs a workflow of steps that are all open at once and answers how many
	// were done. Their numbers are those of their order.
	Fan(ctx context.Context, id string, width int) (int, error)
}

// Sleeper is a Session whose workflows can sleep.
type Sleeper interface {
	// Sleep starts a run that sleeps for d and returns when it is durable.
	Sleep(ctx context.Context, id string, d time.Duration) error
}

// Keeper is a Sleeper whose database is looked at and swept.
type Keeper interface {
	Sleeper
	// Newest lists the newest runs, one page, and returns how many it has.
	Newest(ctx context.Context) (int, error)
	// Delete deletes all runs that have ended, in batches, and returns how many.
	Delete(ctx context.Context) (int, error)
}

// Viewer is a Session whose database people look at.
type Viewer interface {
	Sleeper
	Retrier
	// Page returns the size of a page, whose path it is given.
	Page(ctx context.Context, path string) (bytes int, err error)
}

// Starter is a Session that returns from a start before the run has ended.
type Starter interface {
	// Start starts what Chain runs and returns when the start is durable. What it returns
	// waits for the end, as Chain does.
	Start(ctx context.Context, id string, steps int) (wait func(context.Context) (int, error), err error)
}
