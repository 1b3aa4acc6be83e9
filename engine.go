package perdure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Engine is a client of an open database and, after Start, a worker that runs workflows
// and activities. It is safe for concurrent use.
type Engine struct {
	inner
}

// inner is the engine inside, which other packages of this module reach, too.
type inner = seal.Hidden[*engine.Engine]

// Definition is a workflow or an activity, made by package workflow or package activity.
// No other type implements it.
type Definition interface {
	Name() string
	sealed
}

type sealed = seal.Sealed

// Option is a setting of Open.
type Option interface{ setting }

type setting = seal.Option[settings.Engine]

// Register registers the workflows and activities that the engine can run.
func Register(definitions ...Definition) Option {
	return seal.With(func(c *settings.Engine) {
		for _, d := range definitions {
			switch d := d.(type) {
			case seal.Workflow:
				c.Workflows = append(c.Workflows, d)
			case seal.Activity:
				c.Activities = append(c.Activities, d)
			default:
				c.Faults = append(c.Faults, errors.New("perdure.Register: a definition is nil; pass what workflow.New and activity.New return"))
			}
		}
	})
}

// Retry sets the policy of activities and steps that have none. The default is
// retry.Policy{}.
func Retry(p retry.Policy) Option { return seal.With(func(c *settings.Engine) { c.Policy = p }) }

// Concurrency sets how many attempts may run at a time in this process; further ones are
// queued. The default is 128.
func Concurrency(n int) Option {
	return seal.With(func(c *settings.Engine) { c.Concurrency = n })
}

// MaxResident sets how many idle runs stay in memory, so that they need no replay when
// their next event arrives. The default is 1,000; a negative number keeps none.
func MaxResident(n int) Option {
	return seal.With(func(c *settings.Engine) { c.MaxResident = n })
}

// CheckDeterminism replays the history of a run after its turns and parks the run, with
// the first difference as its reason, if its code asks for something else the second
// time. Without it, code that depends on chance, the clock, a map's order or a global
// variable stays unnoticed until its run leaves memory, perhaps on the day of a deploy.
// It is for development and staging: it reads and replays the history after every turn,
// of a run of more than 64 turns after each 64th part of it. Package perduretest does it
// unless runs are Resident.
func CheckDeterminism() Option {
	return seal.With(func(c *settings.Engine) { c.CheckDeterminism = true })
}

// TurnTimeout sets how long workflow code may run without waiting for anything durable
// before its run is parked. The default is 10 s.
func TurnTimeout(d time.Duration) Option {
	return seal.With(func(c *settings.Engine) { c.TurnTimeout = d })
}

// PerKey sets how many runs of a key (workflow.Key) run at a time, over all nodes. Further ones
// wait, by priority and age, before their code begins; those of other keys pass them. A run counts
// until it has ended, also while it sleeps, waits or is paused; runs that continue it, by
// continue-as-new, retry or reset, count with it. Runs without a key, runs that another run
// started, forks, and resets of runs that had ended neither wait nor count. Give all nodes of a
// group the same number: a run that began on a node without one does not count. An operator changes
// the number with "perdure gates edit perdure.runs --per-key-limit". The default is 0, no limit.
func PerKey(runs int) Option {
	return seal.With(func(c *settings.Engine) { c.PerKey = runs })
}

// MaxHistory sets how many events a run may have on record. At four fifths of it the
// engine logs a warning, which Describe also returns; at the limit the run fails with a
// *view.LimitError and is not retried. Runs that may grow so long should continue as new:
// workflow.GetInfo returns the length of the history. The default is 50,000.
func MaxHistory(events int) Option {
	return seal.With(func(c *settings.Engine) { c.MaxHistory = events })
}

// MaxPendingCalls sets how many calls (of activities, steps, timers, signals and child
// workflows) a run may have open at a time. A further call returns a *view.LimitError
// immediately, which is recorded in the history. The default is 10,000.
func MaxPendingCalls(n int) Option {
	return seal.With(func(c *settings.Engine) { c.MaxPendingCalls = n })
}

// MaxSignalBacklog sets how many unread signals a run may have on record, even while it
// is paused, parked or waits for code. At four fifths of it the engine logs a warning,
// which Describe also returns; at the limit Signal returns a *view.LimitError until the
// code has read a fifth of them. A signal that the run waits for is always accepted, so
// signals of other names cannot keep the run from continuing. Signals that were under way,
// and signals from workflows, are accepted beyond the limit, too. Signals that are sent
// while no node serves the run wait in the database and count when a node does. The
// default is 10,000.
func MaxSignalBacklog(n int) Option {
	return seal.With(func(c *settings.Engine) { c.MaxSignalBacklog = n })
}

// MaxAbandoned sets how many goroutines may be lost to code that does not return. When
// more turns of workflow code than that never end (see TurnTimeout), the engine starts
// nothing new and hands its work to other nodes, and Health says that the process should
// be restarted. Activities that ignore their timeout free their slot immediately while
// there are no more than that; further ones keep it until they return. The default is
// Concurrency.
func MaxAbandoned(n int) Option {
	return seal.With(func(c *settings.Engine) { c.MaxAbandoned = n })
}

// NodeName names this process in the ledger, the history and listings. The default is the
// host and process ID. A given name belongs to one process at a time: when a process
// starts under it, an earlier one of that name counts as dead, and its work continues
// immediately instead of after its lease. That suits a service that a supervisor
// restarts; processes that run side by side need different names.
func NodeName(name string) Option {
	return seal.With(func(c *settings.Engine) { c.Node, c.Supersede = name, true })
}

// Build names the code of this program. Listings of nodes show the name, and another
// build tries parked runs again, unless their workflow declares a Version. Two programs
// with the same build name must have the same code. The default is the version of the
// main module and the revision it was built from, or a hash of the executable if these
// are unknown or files were changed.
func Build(name string) Option { return seal.With(func(c *settings.Engine) { c.Build = name }) }

// Group sets the group of nodes that this one belongs to. Nodes of a group share their
// workflows: each must have the code of all. Workflow IDs are separate in each group. The
// default is the group "".
func Group(name string) Option { return seal.With(func(c *settings.Engine) { c.Group = name }) }

// Lease sets how long other nodes wait for a sign of life from this one before they take
// over its work. It applies where several nodes share a database. The default is 10 s,
// the minimum 100 ms. A process that stands still for longer (on a suspended or
// overloaded machine) loses its work to others.
func Lease(d time.Duration) Option {
	return seal.With(func(c *settings.Engine) { c.Lease = d })
}

// Logger sets the logger for everything that an operator should know. The default is
// slog.Default(). Its handler must not call the engine.
func Logger(l *slog.Logger) Option {
	return seal.With(func(c *settings.Engine) { c.Logger = l })
}

// OnPaused sets a function that the engine calls when it pauses a call until a person
// decides: because attempts, time or budget are used up and the policy says retry.Pause,
// or because the attempts crash their processes. The node that serves the run calls it
// once for each pause, when the pause is durable; if the process dies meanwhile, the next
// owner calls it again. The function may block and may call the engine. A panic is
// logged.
func OnPaused(f func(view.PausedCall)) Option {
	return seal.With(func(c *settings.Engine) { c.OnPaused = f })
}

// Retain deletes records that are older than keep: closed runs with their histories,
// attempts, audits and signal keys, counters, and the log of paused activities. Without
// it they are kept for ever.
//
// Every node deletes from the partitions that it owns, half a minute after its start and
// then every ten minutes, in small batches with pauses. The metric
// perdure_swept_timestamp_seconds tells when it last did. An open run is never deleted; earlier runs of its chain are
// deleted only if Retention.Continued says so. When the last run of a workflow ID is
// deleted, the ID can be used again, and a repeated start does not find its run: keep
// runs for longer than callers may repeat a start. ops.Sweep deletes immediately.
func Retain(keep view.Retention) Option {
	return seal.With(func(c *settings.Engine) { c.Retention = keep })
}

// NoMigrate makes Open leave the schema of the database as it is. If the schema is
// missing or older than this program needs, Open returns a *store.SchemaError (errors.Is
// finds ErrOlder) that says what to type. Use it if the database user may not change
// tables, or if perdure migrate is a step of your deploy. Without it Open brings the
// schema up to date. The memory store has no schema.
func NoMigrate() Option { return seal.With(func(c *settings.Engine) { c.NoMigrate = true }) }

// Intercept adds interceptors around attempts, operations of workflow code and calls of
// this engine as a client: see package intercept. The first is the outermost; further
// Intercept options add inner ones.
func Intercept(interceptors ...intercept.Interceptor) Option {
	return seal.With(func(c *settings.Engine) { c.Interceptors = append(c.Interceptors, interceptors...) })
}

// Open opens a database: sqlite.File(path), postgres.URL(url), or memory.New() for tests.
// The engine is then a client: it can start runs, send signals, wait for results and
// read, while another engine does the work. After Start it is a worker, too. On
// PostgreSQL any number of processes can open one database and start.
//
// The error reports all mistakes in the options.
func Open(ctx context.Context, db store.Opener, options ...Option) (*Engine, error) {
	config := settings.Engine{Store: db}
	if err := seal.Apply(&config, options); err != nil {
		config.Faults = append(config.Faults, fmt.Errorf("perdure.Open: %w", err))
	}
	if len(config.Faults) > 0 {
		return nil, errors.Join(config.Faults...)
	}
	inside, err := engine.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("perdure.Open: %w", err)
	}
	return &Engine{seal.Hide(inside)}, nil
}

// OpenURL is Open with the name or URL of a database, such as one from the environment:
//
//	eng, err := perdure.OpenURL(ctx, os.Getenv("PERDURE_DB"), perdure.Register(Checkout, Charge))
//
// A name is the path of an SQLite file, with or without "sqlite:" before it, the URL of a
// PostgreSQL database (postgres://USER@HOST/DATABASE, to which ?schema=NAME may be
// added), or PostgreSQL's keywords. The program imports the stores that OpenURL may open:
//
//	import _ "github.com/perdure/perdure/store/sqlite"
//	import _ "github.com/perdure/perdure/store/postgres"
func OpenURL(ctx context.Context, name string, options ...Option) (*Engine, error) {
	if strings.TrimSpace(name) == "" {
		return nil, errors.New("perdure.OpenURL: the name of the database is empty; give it a file, or postgres://USER@HOST/DATABASE")
	}
	db, err := store.Named(name)
	if err != nil {
		if advice := store.Advice(err); advice != "" {
			return nil, fmt.Errorf("perdure.OpenURL: %w %s", err, advice)
		}
		return nil, fmt.Errorf("perdure.OpenURL: %w", err)
	}
	return Open(ctx, db, options...)
}

// in returns the engine inside, or one all of whose verbs fail if there is none.
func (e *Engine) in() *engine.Engine {
	if e == nil {
		return engine.None
	}
	return engine.Of(e)
}

// Start makes the engine a worker, which continues runs that were interrupted. It returns when
// the engine serves; the work continues until Stop or Close.
//
// On PostgreSQL several processes share the work: each owns an even share of its group's
// partitions, and partitions move when a process joins, leaves or dies. After a crash the
// others take over when the lease expires; see Lease and NodeName. An SQLite file can be
// served by one engine at a time: for a second one Start returns a *store.InUseError that
// names the first.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.in().Start(ctx); err != nil {
		return fmt.Errorf("perdure: start: %w", err)
	}
	return nil
}

// Stop ends the engine gracefully: nothing new begins, and running attempts may finish
// until ctx ends; then their contexts are canceled, and code that does not return within a
// second is left behind. No attempt is charged for that; a later engine continues where this
// one stopped. Stop closes the database. Stopping again
// does nothing.
func (e *Engine) Stop(ctx context.Context) error { return e.in().Stop(ctx) }

// Close is Stop without waiting for running attempts to finish: their contexts are
// canceled first.
func (e *Engine) Close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return e.in().Stop(now)
}

// Location returns the path or URL of the database, without credentials.
func (e *Engine) Location() string { return e.in().Info().Location }

// List returns the runs that match the filter, newest first. To read the next page, set
// Before to the run ID of the last run: pages neither repeat nor omit a run that exists
// all the time, whatever starts and ends meanwhile.
func (e *Engine) List(ctx context.Context, filter view.Filter) ([]view.Run, error) {
	return e.in().List(ctx, filter)
}

// Health returns everything that keeps the engine from doing its work right now, or nil.
// An engine that cannot reach its database waits for it; it does not stop.
func (e *Engine) Health() error { return e.in().Health() }

// Live returns an error if only a restart of the process can help: the engine has
// stopped, another process has taken its NodeName, or too much code has ignored its time
// limits. An unavailable database is not such an error, because a restart does not bring
// it back. Live is for liveness probes: it reads memory only.
func (e *Engine) Live() error { return e.in().Live() }

// Ready returns an error while requests should go to another process: an error of Live,
// an engine that drains, or a database that does not answer. It is for readiness probes:
// it reads memory only, and learns of an outage from the engine's own traffic, after a
// few seconds. An engine that was opened and not started has no traffic between requests:
// it is ready until it is closed.
func (e *Engine) Ready() error { return e.in().Ready() }
