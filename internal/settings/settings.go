package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/program"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/registry"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/internal/sweep"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Engine are the settings of an engine. Zero values mean defaults.
type Engine struct {
	Store      store.Opener
	NoMigrate  bool // the schema of the database is left as it is
	Workflows  []seal.Workflow
	Activities []seal.Activity

	// Group names the set of nodes that serve the same definitions.
	Group string
	// Node names the process for people; default host:process. Supersede says that the name
	// belongs to one process at a time: an earlier process with the name is treated as dead.
	Node      string
	Supersede bool
	// Build identifies the code of this program; default is the version and revision of its
	// module, else a hash of the executable.
	Build string
	// Lease is how long other nodes wait for a renewal before they take over this node's runs;
	// default 10 s.
	Lease time.Duration
	// Policy applies to activities without a policy of their own.
	Policy retry.Policy
	// Concurrency is how many attempts may run at a time; default 128.
	Concurrency int
	// MaxAtWork limits how many runs may have a turn in progress while more messages are read
	// from the inbox; default 2,000. One page of messages may exceed it.
	MaxAtWork int
	// InboxPage is how many messages one query reads; default 500.
	InboxPage int
	// MaxResident is how many idle runs stay in memory; default 1,000, negative for none.
	MaxResident int
	// TurnTimeout is how long workflow code may run without yielding before its run is parked;
	// default 10 s.
	TurnTimeout time.Duration
	// PerKey is how many runs of a key may run at a time, over all nodes; 0 for no limit.
	PerKey int
	// MaxHistory is how many events the history of a run may have before the run fails; default
	// 50,000.
	MaxHistory int
	// MaxPendingCalls limits the open calls of a run; default 10,000.
	MaxPendingCalls int
	// MaxSignalBacklog limits the unread signals of a run; default 10,000.
	MaxSignalBacklog int
	// MaxAbandoned is how many turns of workflow code may be stuck before the process drains,
	// and how many bodies may ignore their timeout before further ones keep their slots;
	// default Concurrency.
	MaxAbandoned int
	// OnPaused, if set, is called for each call that the engine pauses.
	OnPaused func(view.PausedCall)
	// Logger gets the log records; default slog.Default().
	Logger *slog.Logger
	// Faults are mistakes in the options that made these settings, which are then not used.
	Faults []error
	// Draw replaces the draw of jitter, for tests.
	Draw func(run string, call int64, attempt int) float64
	// Around, if set, is called in place of the body of each attempt, for tests.
	Around registry.Around
	// Interceptors wrap attempts, requests and operations of workflow code.
	Interceptors []intercept.Interceptor
	// Watchers are placed among the interceptors.
	Watchers []around.Placed
	// Observers are told of durable turns.
	Observers Observers
	// Closings, if set, reports for which runs observers also learn which calls a turn closes.
	// It is called when a run is loaded, possibly with the engine's lock held.
	Closings func(*history.Start) bool
	// Queues are served beside this node's share of the runs. An engine with queues and no
	// workflows takes no partitions.
	Queues []record.Queue
	// InboxEvery is how often the inbox is read even without news, and ScanAhead how far ahead
	// due times are read; defaults 5 s and 1 min. Tests that let virtual months pass set both
	// high.
	InboxEvery, ScanAhead time.Duration

	// CheckDeterminism replays each run after its turns; see internal/engine.
	CheckDeterminism bool

	// Retention says how long closed runs are kept, and SweepEvery how often this node sweeps;
	// default 10 min.
	Retention  view.Retention
	SweepEvery time.Duration
	// MaxKept is how many closed runs may pile up without a Retention before a warning is
	// logged; default 100,000.
	MaxKept int
}

// Limits and defaults.
const (
	defaultConcurrency = 128
	defaultMaxResident = 1000
	defaultMaxAtWork   = 2000
	defaultTurnTimeout = 10 * time.Second
	defaultMaxHistory  = 50_000
	defaultMaxPending  = 10_000
	defaultMaxBacklog  = 10_000
	defaultLease       = 10 * time.Second
	minLease           = 100 * time.Millisecond
	defaultInboxPage   = 500
	defaultInboxEvery  = 5 * time.Second
	defaultScanAhead   = time.Minute
	defaultSweepEvery  = 10 * time.Minute
	defaultMaxKept     = 100_000
)

// Defaults returns settings with all defaults set, for docs/limits.md.
func Defaults() Engine {
	var c Engine
	_ = c.Normalize() // the error is that Store is missing
	return c
}

// Normalize fills in defaults and returns all errors, joined.
func (c *Engine) Normalize() error {
	var errs []error
	if c.Store == nil {
		errs = append(errs, errors.New("no database was given; pass what sqlite.File, postgres.URL or memory.New returns"))
	}
	c.MaxAtWork, c.InboxPage = cmp.Or(c.MaxAtWork, defaultMaxAtWork), cmp.Or(c.InboxPage, defaultInboxPage)
	c.MaxResident = max(cmp.Or(c.MaxResident, defaultMaxResident), 0)
	for _, limit := range []struct {
		name  string
		value *int
		usual int
	}{
		{"concurrency", &c.Concurrency, defaultConcurrency},
		{"history limit", &c.MaxHistory, defaultMaxHistory},
		{"limit of pending calls", &c.MaxPendingCalls, defaultMaxPending},
		{"limit of unread signals", &c.MaxSignalBacklog, defaultMaxBacklog},
		{"limit of abandoned goroutines", &c.MaxAbandoned, max(cmp.Or(c.Concurrency, defaultConcurrency), 1)},
	} {
		if *limit.value = cmp.Or(*limit.value, limit.usual); *limit.value < 0 {
			errs = append(errs, fmt.Errorf("the %s is %d: it must be at least 1, or 0 for the default (%d)", limit.name, *limit.value, limit.usual))
		}
	}
	for _, span := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"turn timeout", &c.TurnTimeout, defaultTurnTimeout},
		{"time between sweeps", &c.SweepEvery, defaultSweepEvery},
	} {
		if *span.value = cmp.Or(*span.value, span.usual); *span.value < 0 {
			errs = append(errs, fmt.Errorf("the %s is %s: it must be positive, or 0 for the default (%s)", span.name, *span.value, span.usual))
		}
	}
	if c.Lease = cmp.Or(c.Lease, defaultLease); c.Lease < minLease {
		errs = append(errs, fmt.Errorf("the lease is %s: it must be at least %s, or 0 for the default (%s)", c.Lease, minLease, defaultLease))
	}
	c.InboxEvery, c.ScanAhead = cmp.Or(c.InboxEvery, defaultInboxEvery), cmp.Or(c.ScanAhead, defaultScanAhead)
	c.MaxKept = cmp.Or(c.MaxKept, defaultMaxKept)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.PerKey < 0 {
		errs = append(errs, fmt.Errorf("the limit of runs per key is %d: it must be at least 1, or 0 for no limit", c.PerKey))
	}
	return errors.Join(append(errs, c.identify(), sweep.Check(c.Retention), checkPolicy(&c.Policy))...)
}

// checkPolicy returns what is wrong with the policy of calls without one.
func checkPolicy(p *retry.Policy) error {
	switch err := p.Validate(); {
	case err != nil:
		return fmt.Errorf("the engine's retry policy: %w", err)
	case p.Verifies():
		return errors.New("the engine's retry policy: OnUnknown is VerifyUnknown, which needs a function to ask: leave it zero, which means that for activities with a Verify function")
	}
	return nil
}

// identify sets the name and the build of this node where they are missing, and checks names.
func (c *Engine) identify() error {
	if c.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		c.Node = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if c.Build == "" {
		c.Build = program.Build()
	}
	err := history.CheckName("build", c.Build)
	if c.Group != "" {
		err = errors.Join(err, history.CheckName("group", c.Group))
	}
	return err
}

// checkQueues returns what is wrong with the queues to serve.
func (c *Engine) checkQueues() (errs []error) {
	seen := map[string]bool{}
	for _, q := range c.Queues {
		errs = append(errs, history.CheckName("queue", q.Name))
		if q.Limit < 1 {
			errs = append(errs, fmt.Errorf("the queue %q is served with %d attempts at a time: it must be at least 1", q.Name, q.Limit))
		}
		if seen[q.Name] {
			errs = append(errs, fmt.Errorf("the queue %q is served twice; give it once, with one limit", q.Name))
		}
		seen[q.Name] = true
	}
	if len(c.Queues) > 0 && len(c.Activities) == 0 {
		errs = append(errs, fmt.Errorf("the queue %q is served without any activity; register those whose calls wait there %s", c.Queues[0].Name, see.Queues))
	}
	return errs
}

// Registry returns what is registered, or all that is wrong with it and with the queues.
func (c *Engine) Registry() (*registry.Registry, error) {
	r, err := registry.New(registry.Config{
		Workflows: c.Workflows, Activities: c.Activities, Interceptors: c.Interceptors, Watchers: c.Watchers,
		Build: c.Build, Logger: c.Logger, Around: c.Around,
	})
	return r, errors.Join(append(c.checkQueues(), err)...)
}

// OnlyQueues reports whether the process serves queues and takes no partitions.
func (c *Engine) OnlyQueues() bool { return len(c.Queues) > 0 && len(c.Workflows) == 0 }
