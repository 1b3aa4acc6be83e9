package engine

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/commit"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/member"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/steptx"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/internal/sweep"
	"github.com/perdure/perdure/internal/workers"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Engine runs workflows on a database. Until Start it is only a client. It is safe for
// concurrent use.
type Engine struct {
	*request.Client    // starts, controls and awaits runs
	*inspect.Inspector // reads runs

	config  Config
	defs    *definitions
	around  *around.Chain // nil for no interceptors
	db      store.Store
	log     *logs.Log
	group   store.Group
	process string // a random name
	clock   *clock.Clock

	// ctx ends with the engine's own goroutines.
	ctx    context.Context
	cancel context.CancelFunc
	hasten context.CancelCauseFunc // says that Stop waits no longer; see replay.Guard
	guard  replay.Guard            // of workflow code
	work   sync.WaitGroup          // the engine's own loops
	steps  workers.Pool            // turns of residents
	code   workers.Pool            // user code, which may never return
	pools  pools

	committer    *commit.Committer
	member       *member.Member
	nodes        *placement.Nodes // where runs go on
	switches     switches
	suspicion    *suspicion.Room
	dispatcher   *dispatcher
	locations    locations
	recovery     recovery
	attempts     *attempt.Runner
	transactions steptx.Runner
	sweeper      *sweep.Sweeper
	queues       queues
	reads        *outage.Watch // of the database
	writes       *outage.Watch
	loading      chan struct{} // bounds how many runs are loaded at a time
	inbox        *inbox

	life sync.Mutex // one Start or Stop at a time

	mu          sync.Mutex
	phase       phase
	stopping    bool                 // Stop was called
	residents   map[string]*resident // by run ID
	idle        *list.List           // residents that may be evicted, oldest first
	busy        int                  // residents with a turn in progress
	queued      int                  // residents at rest whose calls wait for slots
	quiet       *sync.Cond           // busy or the number of attempts went down
	conflicts   map[string]bool      // gates that calls declare differently, as already logged
	overwhelmed bool                 // too many turns of workflow code never returned; the engine drains
}

// phase is a phase in the life of an engine.
type phase int

const (
	client   phase = iota // opened: serves no runs
	running               // started
	draining              // finishes what runs, starts nothing
	stopped
)

// maxLoading limits how many runs are loaded at a time, for example after a crash.
const maxLoading = 64

// Errors of an engine's life.
var (
	ErrStopped = request.ErrStopped
	ErrStarted = errors.New("the engine is already started; call Start once")
)

// Open opens the database. Until Start the engine is a client: it can start runs, send
// messages and read. A started engine, here or elsewhere, runs them.
func Open(ctx context.Context, config Config) (*Engine, error) {
	if err := history.CheckContext(ctx); err != nil {
		return nil, err
	}
	if err := config.normalize(); err != nil {
		return nil, err
	}
	defs, err := config.definitions()
	if err != nil {
		return nil, err
	}
	opener := config.Store
	if config.NoMigrate {
		opener = store.AsIs(opener)
	}
	db, err := opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	group, err := db.Group(ctx, config.Group)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	secret, err := db.Secret(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	e := &Engine{
		config: config, defs: defs, around: defs.around,
		db:        db,
		log:       logs.New(config.Logger, db.Info().Private),
		group:     group,
		process:   ident.NewToken(),
		clock:     clock.New(time.Now().UnixNano()),
		loading:   make(chan struct{}, maxLoading),
		residents: map[string]*resident{},
		idle:      list.New(),
		conflicts: map[string]bool{},
	}
	e.assemble(secret)
	return e, nil
}

// assemble makes the rooms of a new engine, the lowest first.
func (e *Engine) assemble(secret []byte) {
	config, db, group, defs := &e.config, e.db, e.group, e.defs
	e.quiet = sync.NewCond(&e.mu)
	e.inbox = newInbox(e)
	e.queues.engine = e
	e.switches = switches{engine: e, kick: clock.NewBell()}
	e.locations = locations{engine: e, all: map[int]*partition{}}
	e.recovery.engine = e
	ctx, cancel := context.WithCancelCause(context.Background())
	e.ctx, e.cancel = ctx, func() { cancel(ErrStopped) }
	hurry, hasten := context.WithCancelCause(ctx)
	e.hasten = hasten
	e.guard = replay.Guard{Pool: &e.code, Limit: config.TurnTimeout, Hurry: hurry, Grace: stopGrace, Abandoned: e.abandoned}
	e.reads, e.writes = outage.New(e.log), outage.New(e.log)
	e.nodes = placement.New(placement.Config{
		Context: e.ctx, Store: db, Name: config.Group, Group: group, Build: config.Build, Watch: e.reads,
	})
	e.transactions = steptx.Runner{Life: e.ctx, Pool: &e.code}
	e.Inspector = inspect.New(db, inspect.Config{
		Draw:  config.Draw,
		Group: group, Now: e.clock.Now, Usable: e.notStopped, Paused: e.switches.paused,
		Limits: inspect.Limits{Events: config.MaxHistory, PendingCalls: config.MaxPendingCalls, Signals: config.MaxSignalBacklog},
	})
	e.Client = request.New(request.Config{
		DB: db, Read: e.Inspector, Group: group, Lacks: group.Lacks(db.Info().Location), Secret: secret, Node: config.Node, Now: e.clock.Now,
		Runner: &e.transactions, Local: local{e}, Fits: defs.fits, Around: defs.around, Moves: db.Info().Wards,
	})
	e.committer = commit.New(e.ctx, commit.Config{
		Store: db, Info: db.Info(), Log: e.log, Clock: e.clock, Watch: e.writes, Committed: config.committed(),
	})
	e.member = member.New(e.ctx, member.Config{
		Store: db, Shared: db.Info().Shared, Name: config.Node, Group: config.Group, Lease: config.Lease, Supersede: config.Supersede,
		Build: config.Build, Definitions: defs.declared().Encode(),
		Clock: e.clock, Watch: e.reads, Holder: holder{e}, Log: e.log,
	})
	holds := e.member.Holds
	if e.config.onlyQueues() {
		holds = func() bool { return true } // it has no lease
	}
	e.dispatcher = newDispatcher(e, holds)
	e.attempts = attempt.NewRunner(attempt.Config{
		Owner: attemptOwner{e}, Clock: e.clock, Pool: &e.code, Holds: e.member.Holds, MaxLate: config.MaxAbandoned, Logger: config.Logger,
	})
	e.suspicion = e.newSuspicion()
	e.sweeper = sweep.New(sweep.Config{
		Context: e.ctx, Store: db, Name: config.Group, Group: group, Clock: e.clock, Log: e.log, Retention: config.Retention,
		Every: config.SweepEvery, MaxKept: config.MaxKept, Owned: e.locations.owned, Awaits: e.Awaits,
	})
	e.queues.open()
}

// None stands for a missing engine. Methods of a nil engine or an empty handle use it, and all
// of them fail.
var None = &Engine{Client: request.Refusing(errNone), Inspector: inspect.Refusing(errNone), phase: stopped}

var errNone = errors.New("there is no engine: it is nil, or the handle is empty; perdure.Open makes engines, perdure.Start and perdure.Attach make handles")

// Of returns the engine inside a *perdure.Engine.
func Of(public seal.Holder[*Engine]) *Engine {
	if e := *seal.Of(public); e != nil {
		return e
	}
	return None
}

// Start makes the engine a node: it takes its share of the group's partitions and resumes
// what was interrupted in them. An engine that serves only queues takes no partitions.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.Check(ctx); err != nil {
		return err
	}
	e.life.Lock()
	defer e.life.Unlock()
	switch e.currentPhase() {
	case running:
		return ErrStarted
	case draining, stopped:
		return ErrStopped
	}
	if err := e.switches.read(ctx); err != nil { // before anything can start
		return err
	}
	if e.config.onlyQueues() {
		group, err := e.db.Group(ctx, e.config.Group) // reads the mark again; nodes check it in Join
		if err := errors.Join(err, group.Lacks(e.db.Info().Location)); err != nil {
			return err
		}
		return e.queues.start(ctx)
	}
	if err := e.member.Join(ctx); err != nil {
		return err
	}
	taken, err := e.locations.takeFirst(ctx)
	if err == nil && e.queues.server != nil {
		err = e.queues.server.Register(ctx)
	}
	if err != nil {
		return errors.Join(err, e.locations.backOut(context.WithoutCancel(ctx)))
	}
	e.mu.Lock()
	e.phase = running
	e.suspicion.Begin(time.Now())
	e.recovery.keepSlotsBack()
	e.mu.Unlock()
	e.log.EngineStarted(e.config.Node, e.config.Group, e.db.Info().Location, len(taken.partitions))
	e.defs.warn(e.log, &e.config.Policy)
	e.recovery.begin(taken)
	for _, loop := range []func(){e.committer.Run, e.dispatcher.stepDue, e.inbox.loop, e.dispatcher.keepLineMoving, e.switches.follow, e.inbox.listen, e.locations.watchWards, e.member.Run, e.queues.watchWorkers} {
		e.work.Go(loop)
	}
	e.work.Go(e.sweeper.Run)
	if e.queues.server != nil {
		e.queues.server.Start()
	}
	return nil
}

// leave ends the membership of a node. An engine that serves only queues has none.
func (e *Engine) leave() error {
	if e.config.onlyQueues() {
		return nil
	}
	return e.member.Leave()
}

func (e *Engine) currentPhase() phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.phase
}

// stopGrace is how long code may take to return once Stop waits no longer.
const stopGrace = time.Second

// Stop ends the engine and closes the database. Running attempts may finish until ctx ends.
// Then Stop cancels their contexts, and gives up those that do not return within a second, and
// workflow code that blocks for a second. No attempt is charged and no run parked: another node,
// or a later engine, runs it again. Calling Stop again is harmless.
func (e *Engine) Stop(ctx context.Context) error {
	if e == None {
		return errNone
	}
	if err := history.CheckContext(ctx); err != nil {
		return err
	}
	e.life.Lock()
	was := e.beginStop()
	e.life.Unlock()
	switch was {
	case stopped, draining:
		return nil
	case client:
		e.cancel()
		e.Client.Close()
		e.code.Stop() // user code in transactions
		return e.db.Close()
	}
	e.mu.Lock()
	running := e.attempts.Running()
	e.mu.Unlock()
	e.log.EngineDrains(e.config.Node, running)
	served := e.queues.stop(ctx)
	ended := func() bool { return e.attempts.Running() == 0 && e.busy == 0 }
	clock.Await(ctx, e.quiet, ended)
	e.attempts.Interrupt()
	e.hasten(ErrStopped)
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	clock.Await(grace, e.quiet, ended)
	cancel()
	e.attempts.GiveUp()
	settle, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	clock.Await(settle, e.quiet, func() bool { return e.busy == 0 })
	cancel()
	<-served
	e.end()
	err := errors.Join(e.leave(), e.db.Close())
	e.log.EngineStopped(e.config.Node)
	e.log.Close()
	return err
}

// beginStop enters the next phase and returns the previous one. If attempts still run, a node
// of a group hands over its partitions as they become quiet; otherwise it leaves immediately.
func (e *Engine) beginStop() phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.phase
	if was == draining && e.overwhelmed && !e.stopping {
		was = running
	}
	e.stopping = true
	switch was {
	case client:
		e.phase = stopped
	case running:
		e.drain()
		if e.attempts.Running() > 0 {
			e.member.Kick()
		}
	}
	return was
}

// drain begins the draining phase: nothing new starts, and other nodes take over. The engine's
// mu is held.
func (e *Engine) drain() {
	e.phase = draining
	e.member.Drain()
	e.dispatcher.slots.Close()
	e.suspicion.End()
}

// Kill ends the engine as a crash would: it writes nothing more and leaves the database open.
// It is for tests.
func (e *Engine) Kill() {
	e.end()
}

// end stops the engine's goroutines and evicts all residents.
func (e *Engine) end() {
	e.mu.Lock()
	e.phase = stopped
	e.mu.Unlock()
	e.member.Drain()
	e.dispatcher.slots.Close()
	e.suspicion.End()
	e.cancel()
	e.attempts.Interrupt()
	if e.queues.server != nil {
		e.queues.server.Kill()
	}
	e.Client.Close()
	e.work.Wait()
	e.steps.Stop()
	e.code.Stop()
	e.steps.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.residents {
		r.unload()
	}
}

// Sweep deletes from all partitions of the group what the retention does not keep, or with dry
// only counts it. See sweep.Sweeper.Sweep.
func (e *Engine) Sweep(ctx context.Context, keep view.Retention, dry bool) (view.SweepResult, error) {
	if err := e.Check(ctx); err != nil {
		return view.SweepResult{DryRun: dry}, err
	}
	return e.sweeper.Sweep(ctx, keep, e.group.All(), dry)
}

// owned returns the partitions that this node looks after. It is never nil, which would mean
// all.
func (l *locations) owned() []int {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	return homes(l.open())
}

// Info describes the database.
func (e *Engine) Info() store.Info {
	if e == None {
		return store.Info{}
	}
	return e.db.Info()
}

// notStopped returns ErrStopped if the engine is stopped.
func (e *Engine) notStopped() error {
	if e.currentPhase() == stopped {
		return ErrStopped
	}
	return nil
}
