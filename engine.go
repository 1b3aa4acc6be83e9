package perdure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/body"
	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Engine is an open database with, after Start, a worker on it. It is safe for
// concurrent use.
type Engine struct {
	door
	inner *engine.Engine
}

// door lets other packages of this module reach the inner engine.
type door = bridge.Door

// Definition is a workflow or an activity, as package workflow and package
// activity make them. No other type can be one.
type Definition interface {
	Name() string
	sealed
}

type sealed = seal.Sealed

// Option is a setting of Open.
type Option interface{ setting }

type setting = bridge.Option

// Register gives the engine the workflows and activities it can run.
func Register(definitions ...Definition) Option {
	return bridge.Set(func(s *bridge.Settings) {
		for _, d := range definitions {
			switch d := d.(type) {
			case code.Workflow:
				s.Workflows = append(s.Workflows, d)
			case body.Activity:
				s.Activities = append(s.Activities, d)
			default:
				s.Faults = append(s.Faults, errors.New("perdure.Register: a definition is nil; pass what workflow.New and activity.New return"))
			}
		}
	})
}

// Retry sets the policy of activities and steps that have none. Without it that
// is retry.Policy{}.
func Retry(p retry.Policy) Option { return bridge.Set(func(s *bridge.Settings) { s.Policy = p }) }

// Concurrency sets how many attempts may run at a time in this process; further
// ones queue. Default 128.
func Concurrency(n int) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.Concurrency = n })
}

// MaxResident sets how many idle runs stay in memory, so that they need no
// replay when something happens to them. Default 1,000; negative: none.
func MaxResident(n int) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.MaxResident = n })
}

// TurnTimeout sets how long workflow code may run without waiting for anything
// durable before its run is parked. Default 10 s.
func TurnTimeout(d time.Duration) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.TurnTimeout = d })
}

// MaxHistory sets how many events a run may have on record. With four fifths of that
// a warning is logged, and Describe has it; at the limit the run fails with a
// *view.LimitError, which no retry of the run repeats. Runs that may grow so long continue
// as new before: workflow.GetInfo tells how long the history is. Default 50,000.
func MaxHistory(events int) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.MaxHistory = events })
}

// MaxPendingCalls sets how many calls (of activities, steps, timers, signals and
// child workflows) a run may have open at a time. One more returns a *view.LimitError
// immediately, which is on record. Default 10,000.
func MaxPendingCalls(n int) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.MaxPendingCalls = n })
}

// MaxSignalBacklog sets how many signals a run may have on record that its code has not
// read, even while it is paused, parked or waits for code. With four fifths of that a
// warning is logged, and Describe has it; from the limit on, Signal returns a
// *view.LimitError, until the code has read a fifth of them. Signals that were under way, and
// those that workflows send, are not lost: they come on top. What is sent while no node
// serves the run waits in the database and is counted when one does. Default 10,000.
func MaxSignalBacklog(n int) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.MaxSignalBacklog = n })
}

// MaxAbandoned sets how many goroutines may be lost to code that does not come back.
// With more turns of workflow code that never end (see TurnTimeout) than that, the
// engine starts nothing new, gives its work to other nodes, and Health says that its
// process should be restarted. Bodies of activities that ignore their timeout give
// their slot back immediately while there are no more of them; further ones keep it
// until they return. Default is Concurrency.
func MaxAbandoned(n int) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.MaxAbandoned = n })
}

// NodeName names this process in ledger, history and listings. Default is host and
// process ID. A name that is given belongs to one process at a time: when a
// process starts under it, an earlier one of that name counts as dead, and its
// work goes on immediately instead of after its lease. That suits a service that is
// restarted by a supervisor; two that run side by side need two names.
func NodeName(name string) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Node, s.Supersede = name, true })
}

// Build names the code of this program in listings of nodes, and tells it from other code
// of the same workflows: a run that was parked is tried again by another build, unless its
// workflow declares a Version. Two programs with one name must have the same code. Default
// is the version of the main module and the revision from which it was built; a hash of
// the executable if that is not known, or files were changed.
func Build(name string) Option { return bridge.Set(func(s *bridge.Settings) { s.Build = name }) }

// Group sets which nodes this one works with. Nodes of a group share their
// workflows: each must have the code of all. A workflow ID means another run in
// another group. Default is the group "".
func Group(name string) Option { return bridge.Set(func(s *bridge.Settings) { s.Config.Group = name }) }

// Lease sets how long other nodes wait for a sign of life of this one before they
// take its work over, where several can share a database. Default 10 s; at least
// 100 ms. A process that stands still for longer than that (a suspended machine,
// an overloaded one) loses its work to others.
func Lease(d time.Duration) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.Lease = d })
}

// Logger sets where the engine reports what an operator should know. Default is
// slog.Default(). Its handler must not call the engine.
func Logger(l *slog.Logger) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Config.Logger = l })
}

// OnPaused sets a function that is called when the engine makes a call wait until a
// person decides: because its attempts, time or budget are used up and its policy says
// retry.Pause, or because its attempts crash their processes. It is called on the node
// that serves the run, once the pause is durable, once for each pause; if the process
// dies meanwhile, the next owner calls it again. It may block and may call the engine. If
// it panics, that is logged.
func OnPaused(f func(view.PausedCall)) Option {
	return bridge.Set(func(s *bridge.Settings) { s.OnPaused = f })
}

// Retain deletes what is older than keep says: closed runs with their histories,
// attempts, audits and the keys of signals they have seen, counters, and entries of the
// log of paused activities. Without it all of that is kept for ever.
//
// Every node deletes from the partitions that it owns, every ten minutes, a few runs at a
// time and with pauses, so that others notice little of it. An open run is never deleted;
// the runs before it in its chain are only if Retention.Continued says so. When the last
// run of a workflow ID is deleted, the ID can be used again, and a repeated start does not
// find its run: keep runs for longer than any start is repeated. ops.Sweep deletes
// immediately.
func Retain(keep view.Retention) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Retention = keep })
}

// NoMigrate makes Open leave the schema of the database as it is: where it is missing or
// older than this program needs, Open returns a *store.SchemaError (errors.Is finds
// ErrOlder), which says what to type. It suits programs whose user of the database has no
// right to change tables, or whose deploy runs perdure migrate as a step of its own.
// Without it Open brings the schema up to date. The memory store has no schema.
func NoMigrate() Option { return bridge.Set(func(s *bridge.Settings) { s.Config.NoMigrate = true }) }

// Intercept gives the engine interceptors, which stand around attempts, what workflow code
// does and the verbs of this engine as a client: see package intercept. The first is the
// outermost; further Intercept options add to the inside.
func Intercept(interceptors ...intercept.Interceptor) Option {
	return bridge.Set(func(s *bridge.Settings) { s.Interceptors = append(s.Interceptors, interceptors...) })
}

// Open opens a database: sqlite.File(path), postgres.URL(url), or memory.New()
// for tests. The engine is then a client: it can start runs, send signals, wait
// for results and read, while another engine does the work. After Start it works
// itself. On PostgreSQL any number of processes can open one database and start.
//
// All mistakes in the options are reported together.
func Open(ctx context.Context, db store.Opener, options ...Option) (*Engine, error) {
	s := bridge.Settings{Config: engine.Config{Store: db}}
	bridge.Apply(&s, options)
	if len(s.Faults) > 0 {
		return nil, errors.Join(s.Faults...)
	}
	inner, err := engine.Open(ctx, s.Config)
	if err != nil {
		return nil, fmt.Errorf("perdure.Open: %w", err)
	}
	return &Engine{door: bridge.NewDoor(inner), inner: inner}, nil
}

// OpenURL is Open for a database by its name, as a program finds it in its environment:
//
//	eng, err := perdure.OpenURL(ctx, os.Getenv("PERDURE_DB"), perdure.Register(Checkout, Charge))
//
// A name is the path of an SQLite file, with or without "sqlite:" before it, the URL of a
// PostgreSQL database (postgres://USER@HOST/DATABASE, to which ?schema=NAME may be added),
// or PostgreSQL's keywords. The program imports the stores that it is to open:
//
//	import _ "github.com/perdure/perdure/store/sqlite"
//	import _ "github.com/perdure/perdure/store/postgres"
func OpenURL(ctx context.Context, name string, options ...Option) (*Engine, error) {
	if name == "" {
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
	if e == nil || e.inner == nil {
		return engine.None
	}
	return e.inner
}

// Start makes the engine a worker. Runs that were interrupted go on.
//
// On PostgreSQL several processes share the work: each takes an even share of its
// group's partitions, which moves by itself when one joins, leaves or dies. Of one
// that died without a word the others take over when its lease has run out; see
// Lease and NodeName. An SQLite file can be served by one engine at a time: a
// second one is refused with a *store.InUseError that says who serves it.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.in().Start(ctx); err != nil {
		return fmt.Errorf("perdure: start: %w", err)
	}
	return nil
}

// Stop ends the engine gracefully: nothing new begins, attempts that run may
// finish until ctx ends, and are then asked to end by their context. No attempt
// is charged for that; a later engine goes on where this one stopped. The
// database is closed. Stopping again does nothing.
func (e *Engine) Stop(ctx context.Context) error { return e.in().Stop(ctx) }

// Close is Stop without waiting for running attempts to finish by themselves.
func (e *Engine) Close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	return e.in().Stop(now)
}

// Location returns where the database is, without credentials.
func (e *Engine) Location() string { return e.in().Info().Location }

// List returns runs, newest first. The filter of the next page has the run ID of the last
// run as Before: pages neither repeat nor leave out a run that exists all the time,
// whatever starts and ends meanwhile.
func (e *Engine) List(ctx context.Context, filter view.Filter) ([]view.Run, error) {
	return e.in().List(ctx, filter)
}

// Health returns everything that keeps the engine from doing its work right now, nil
// if nothing does. An engine that cannot reach its database waits for it; it does
// not stop.
func (e *Engine) Health() error { return e.in().Health() }

// Live returns what only a restart of the process can mend, nil if there is nothing
// of the kind: the engine has stopped, another process has taken its NodeName, or too
// much code has ignored its time limits. A database that is away is not among it, as a
// restart does not bring it back. It is for liveness probes: it reads memory only.
func (e *Engine) Live() error { return e.in().Live() }

// Ready returns why requests should go to another process at the moment, nil if they
// need not: what Live returns, an engine that drains, and a database that does not
// answer. It is for readiness probes: it reads memory only, and hears of an outage by
// the engine's own traffic, after a few seconds. An engine that was opened and not
// started has none between requests: it is ready until it is closed.
func (e *Engine) Ready() error { return e.in().Ready() }
