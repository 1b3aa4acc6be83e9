package engine

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/commit"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/feed"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/member"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/registry"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/report"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
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

	config   settings.Engine
	registry *registry.Registry // of workflows and activities
	db       database
	log      *report.Log
	clock    *clock.Clock
	life     life
	code     code
	steps    workers.Pool // turns of residents
	pools    pools

	member     *member.Member
	nodes      *placement.Nodes // where runs go on
	switches   switches
	suspicion  *suspicion.Room
	holds      hold.Reasons // why runs have no code
	inbox      *inbox
	dispatcher *dispatcher
	attempts   *attempt.Runner
	queues     queues
	sweeper    *sweep.Sweeper

	mu        sync.Mutex
	locations locations
	recovery  recovery
	residents residents
}

// database is the engine's access to the database.
type database struct {
	store.Store
	group         store.Group
	copied        int64 // attempts that began earlier began in another database; see store.Seal
	committer     *commit.Committer
	reads, writes *outage.Watch
	ahead         feed.Source // what is read for all locations
}

// code runs user code, which may never return.
type code struct {
	pool         workers.Pool
	guard        replay.Guard // of workflow code
	transactions steptx.Runner
}

// life is how far the engine has come. Its fields below work are guarded by the engine's mu.
type life struct {
	once   sync.Mutex              // one Start or Stop at a time
	ctx    context.Context         // ends with the engine's own goroutines
	cancel context.CancelFunc      // ends ctx
	hasten context.CancelCauseFunc // says that Stop waits no longer; see replay.Guard
	work   sync.WaitGroup          // the engine's own loops

	phase       phase
	stopping    bool // Stop was called
	overwhelmed bool // too many turns of workflow code never returned; the engine drains
}

// residents are what is in memory. All but loading is guarded by the engine's mu.
type residents struct {
	loading chan struct{}        // bounds how many runs are loaded at a time
	all     map[string]*resident // by run ID
	idle    *list.List           // those that may be evicted, oldest first
	busy    int                  // those with a turn in progress
	queued  int                  // those at rest whose calls wait for slots
	quiet   *sync.Cond           // busy or the number of attempts went down
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
func Open(ctx context.Context, config settings.Engine) (*Engine, error) {
	if err := history.CheckContext(ctx); err != nil {
		return nil, err
	}
	if err := config.Normalize(); err != nil {
		return nil, err
	}
	registered, err := config.Registry()
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
	var secret []byte
	if err == nil {
		secret, err = db.Secret(ctx)
	}
	var seal store.Seal
	if err == nil {
		seal, err = db.Sealed(ctx)
	}
	if err == nil && seal.Closed() {
		err = &store.SealedError{Location: db.Info().Location, Seal: seal}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	e := &Engine{
		config: config, registry: registered,
		db:    database{Store: db, group: group, copied: seal.Clock},
		log:   report.To(logs.New(config.Logger, db.Info().Private)),
		clock: clock.New(time.Now().UnixNano()),
		residents: residents{
			loading: make(chan struct{}, maxLoading), all: map[string]*resident{}, idle: list.New(),
		},
	}
	e.assemble(secret)
	return e, nil
}

// assemble makes the rooms of a new engine, the lowest first.
func (e *Engine) assemble(secret []byte) {
	config, db, group := &e.config, e.db.Store, e.db.group
	e.residents.quiet = sync.NewCond(&e.mu)
	e.inbox = &inbox{engine: e}
	e.queues.engine = e
	e.switches = switches{engine: e, kick: clock.NewBell()}
	e.locations.engine = e
	e.recovery.engine = e
	ctx, cancel := context.WithCancelCause(context.Background())
	e.life.ctx, e.life.cancel = ctx, func() { cancel(ErrStopped) }
	hurry, hasten := context.WithCancelCause(ctx)
	e.life.hasten = hasten
	e.code.guard = replay.Guard{Pool: &e.code.pool, Limit: config.TurnTimeout, Hurry: hurry, Grace: stopGrace, Abandoned: e.abandoned}
	e.db.reads, e.db.writes = outage.New(e.log.Log), outage.New(e.log.Log)
	e.db.ahead = feed.Source{Context: e.life.ctx, Store: db, Watch: e.db.reads, Clock: e.clock}
	e.inbox.open()
	here := placement.Config{Context: e.life.ctx, Store: db, Name: config.Group, Group: group, Build: config.Build, Watch: e.db.reads}
	e.nodes = placement.New(here)
	e.code.transactions = steptx.Runner{Life: e.life.ctx, Pool: &e.code.pool}
	e.Inspector = inspect.New(db, inspect.Config{
		Draw: config.Draw,
		Usable: func() error {
			if e.currentPhase() == stopped {
				return ErrStopped
			}
			return nil
		},
		Group: group, Now: e.clock.Now, Paused: e.switches.paused,
		Limits: inspect.Limits{Events: config.MaxHistory, PendingCalls: config.MaxPendingCalls, Signals: config.MaxSignalBacklog},
	})
	e.Client = request.New(request.Config{
		DB: db, Read: e.Inspector, Group: group, Lacks: group.Lacks(db.Info().Location), Secret: secret, Node: config.Node, Now: e.clock.Now,
		Runner: &e.code.transactions, Local: local{e}, Fits: e.registry.Fits, Around: e.registry.Around, Moves: db.Info().Wards,
	})
	e.db.committer = commit.New(e.life.ctx, commit.Config{
		Store: db, Info: db.Info(), Log: e.log.Log, Clock: e.clock, Watch: e.db.writes, Committed: config.Observers.Committed(e.log.Log),
	})
	e.member = member.New(e.life.ctx, member.Config{
		Store: db, Shared: db.Info().Shared, Name: config.Node, Group: config.Group, Lease: config.Lease, Supersede: config.Supersede,
		Build: config.Build, Definitions: e.registry.Declared().Encode(),
		Clock: e.clock, Watch: e.db.reads, Holder: holder{e}, Log: e.log.Log,
	})
	holds := e.member.Holds
	if e.config.OnlyQueues() {
		holds = func() bool { return true } // it has no lease
	}
	slots := dispatch.NewSlots(config.Concurrency, holds)
	e.dispatcher = &dispatcher{engine: e, slots: slots, line: dispatch.NewLine(slots, config.InboxEvery), due: dispatch.NewDue(store.Hot), recovery: dispatch.NewRecovery(slots)}
	e.dispatcher.dueFeed = feed.Due{
		Source: e.db.ahead, Times: e.dispatcher.due, Ahead: config.ScanAhead, Locations: e.locations.Numbers, Found: e.dispatcher.addFound, Step: e.dispatcher.stepDue,
	}
	e.dispatcher.lineFeed = feed.Line{
		Source: e.db.ahead, Line: e.dispatcher.line, Every: config.InboxEvery, Locations: e.locations.Tenures, AtWork: e.atWork, Found: e.dispatcher.addInLine, Move: e.dispatcher.moveLine,
	}
	attempts := attempt.Config{
		Owner: attemptOwner{e}, Clock: e.clock, Pool: &e.code.pool, Left: e.member.Left, MaxLate: config.MaxAbandoned, Logger: config.Logger, Granted: e.dispatcher.grant,
		Token: func(x *attempt.Attempt) string {
			return e.Client.Token(request.Attempt{Partition: placement.Home(x.Partition), Run: x.Run, Call: x.Call, Number: x.Number})
		},
	}
	e.attempts = attempt.NewRunner(attempts)
	e.suspicion = suspicion.New(suspicion.Config{
		Config: here, Node: config.Node, Clock: e.clock, Log: e.log.Log, Slots: e.dispatcher.slots, OnProbation: e.attempts.OnProbation,
		Commit: e.db.committer.Commit, Go: e.life.work.Go, Granted: e.dispatcher.grant, Reread: e.switches.read,
	})
	e.holds = hold.Reasons{
		Node: config.Node, Build: config.Build, Process: ident.NewToken(), Clock: e.clock,
		Registry: e.registry, Nodes: e.nodes, Suspicion: e.suspicion,
	}
	e.sweeper = sweep.New(sweep.Config{
		Context: e.life.ctx, Store: db, Name: config.Group, Group: group, Clock: e.clock, Log: e.log.Log, Retention: config.Retention,
		Every: config.SweepEvery, MaxKept: config.MaxKept, Owned: e.locations.Partitions, Awaits: e.Awaits,
	})
	e.queues.open(attempts)
}

// None stands for a missing engine. Methods of a nil engine or an empty handle use it, and all
// of them fail.
var None = &Engine{Client: request.Refusing(errNone), Inspector: inspect.Refusing(errNone), life: life{phase: stopped}}

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
	e.life.once.Lock()
	defer e.life.once.Unlock()
	switch e.currentPhase() {
	case running:
		return ErrStarted
	case draining, stopped:
		return ErrStopped
	}
	if err := e.switches.read(ctx); err != nil { // before anything can start
		return err
	}
	if e.config.OnlyQueues() {
		group, err := e.db.Group(ctx, e.config.Group) // reads the mark again; nodes check it in Join
		if err := errors.Join(err, group.Lacks(e.db.Info().Location)); err != nil {
			return err
		}
		return e.queues.start(ctx)
	}
	if err := e.member.Join(ctx); err != nil {
		return err
	}
	node, owned, err := e.member.TakeShare(ctx)
	var taken *takeover
	if err == nil {
		taken = e.locations.takeOver(node, owned)
		err = e.locations.readWakes(ctx, taken)
	}
	if err == nil && e.queues.server != nil {
		err = e.queues.server.Register(ctx)
	}
	if err != nil {
		return errors.Join(err, e.locations.backOut(context.WithoutCancel(ctx)))
	}
	e.mu.Lock()
	e.life.phase = running
	e.suspicion.Begin(time.Now())
	e.dispatcher.recovery.KeepBack(e.dispatcher.grant)
	e.mu.Unlock()
	e.log.EngineStarted(e.config.Node, e.config.Group, e.db.Info().Location, len(taken.locations))
	e.registry.Warn(e.log.Log, &e.config.Policy)
	e.recovery.begin(taken)
	for _, loop := range []func(){e.db.committer.Run, e.dispatcher.dueFeed.Run, e.inbox.Run, e.dispatcher.lineFeed.Run, e.switches.follow, e.listen, e.locations.watchWards, e.member.Run, e.queues.watchWorkers} {
		e.life.work.Go(loop)
	}
	e.life.work.Go(e.sweeper.Run)
	if e.queues.server != nil {
		e.queues.server.Start()
	}
	return nil
}

func (e *Engine) currentPhase() phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.life.phase
}

// listen hears the notifications of the database until the engine ends.
func (e *Engine) listen() { e.db.ahead.Listen(e.log.Log, e.hear) }

// hear handles notifications of the database.
func (e *Engine) hear(news store.News) {
	if news&store.NewsMessage != 0 {
		e.inbox.Kick()
		e.mu.Lock()
		e.dispatcher.line.News()
		e.mu.Unlock()
	}
	if news&store.NewsClaims != 0 {
		e.inbox.Later()
	}
	if news&store.NewsTasks != 0 && e.queues.server != nil {
		e.queues.server.Kick()
	}
	if news&store.NewsSwitches != 0 {
		e.switches.kick.Ring()
	}
	if news&store.NewsNodes != 0 {
		e.member.Kick()
		e.queues.news.Ring()
	}
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
	e.life.once.Lock()
	was := e.beginStop()
	e.life.once.Unlock()
	switch was {
	case stopped, draining:
		return nil
	case client:
		e.life.cancel()
		e.Client.Close()
		e.code.pool.Stop() // user code in transactions
		return e.db.Close()
	}
	e.mu.Lock()
	running := e.attempts.Running()
	e.mu.Unlock()
	e.log.EngineDrains(e.config.Node, running)
	served := e.queues.stop(ctx)
	ended := func() bool { return e.attempts.Running() == 0 && e.residents.busy == 0 }
	clock.Await(ctx, e.residents.quiet, ended)
	e.attempts.Interrupt()
	e.life.hasten(ErrStopped)
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	clock.Await(grace, e.residents.quiet, ended)
	cancel()
	e.attempts.GiveUp()
	settle, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	clock.Await(settle, e.residents.quiet, func() bool { return e.residents.busy == 0 })
	cancel()
	<-served
	e.Kill()
	var left error
	if !e.config.OnlyQueues() { // else it is no member
		left = e.member.Leave()
	}
	err := errors.Join(left, e.db.Close())
	e.log.EngineStopped(e.config.Node)
	e.log.Close()
	return err
}

// beginStop enters the next phase and returns the previous one. If attempts still run, a node
// of a group hands over its partitions as they become quiet; otherwise it leaves immediately.
func (e *Engine) beginStop() phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.life.phase
	if was == draining && e.life.overwhelmed && !e.life.stopping {
		was = running
	}
	e.life.stopping = true
	switch was {
	case client:
		e.life.phase = stopped
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
	e.life.phase = draining
	e.member.Drain()
	e.dispatcher.slots.Close()
}

// Kill stops the engine's goroutines and evicts all residents. Without Stop it ends the engine as a
// crash would: it writes nothing more and leaves the database open, for tests.
func (e *Engine) Kill() {
	e.mu.Lock()
	e.life.phase = stopped
	e.mu.Unlock()
	e.member.Drain()
	e.dispatcher.slots.Close()
	e.suspicion.End()
	e.life.cancel()
	e.attempts.Interrupt()
	if e.queues.server != nil {
		e.queues.server.Kill()
	}
	e.Client.Close()
	e.life.work.Wait()
	e.steps.Stop()
	e.code.pool.Stop()
	e.steps.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.residents.all {
		r.evict()
	}
}

// Sweep deletes from all partitions of the group what the retention does not keep, or with dry
// only counts it. See sweep.Sweeper.Sweep.
func (e *Engine) Sweep(ctx context.Context, keep view.Retention, dry bool) (view.SweepResult, error) {
	if err := e.Check(ctx); err != nil {
		return view.SweepResult{DryRun: dry}, err
	}
	return e.sweeper.Sweep(ctx, keep, e.db.group.All(), dry)
}

// Info describes the database.
func (e *Engine) Info() store.Info {
	if e == None {
		return store.Info{}
	}
	return e.db.Info()
}
