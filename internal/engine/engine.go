package engine

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// Engine runs workflows on a database, or is a client of one until Start. It is
// safe for concurrent use.
type Engine struct {
	config Config
	defs   *definitions
	db     store.Store
	log    *slog.Logger
	node   store.Node
	clock  *clock

	// ctx ends with the engine's own goroutines, bodies with the attempts'.
	ctx    context.Context
	cancel context.CancelFunc
	bodies context.Context
	// interrupt asks all running attempts to end.
	interrupt context.CancelCauseFunc
	work      sync.WaitGroup // the engine's own loops
	steps     workers        // work on residents
	code      workers        // run what users wrote, and may never come back

	committer *committer
	loading   chan struct{} // as many runs are loaded at once as it holds
	inboxKick chan struct{}
	wakeKick  chan struct{}

	mu         sync.Mutex
	phase      phase
	partitions map[int]*partition
	residents  map[string]*resident // by run ID
	idle       *list.List           // of residents that could be dropped, oldest first
	wakes      wakeHeap
	slots      slots
	executions map[attemptKey]*execution
	waiters    map[string][]chan core.State // by run ID
	busy       int                          // residents that somebody works on
	recovering int                          // parts of recovery that are not done
	quiet      *sync.Cond                   // busy or the executions became fewer
	health     health
}

// phase of an engine's life.
type phase int

const (
	client   phase = iota // opened: no runs of its own
	running               // started
	draining              // finishes what runs, starts nothing
	stopped
)

// partition is one that this node owns.
type partition struct {
	number  int
	epoch   int64
	owners  map[int64]string // node names by epoch
	scanned int64            // wake times up to here are known
	hot     []store.Wake     // runs with work in flight when it was taken over
	// pending are inbox messages that were delivered to a resident; true once they
	// are consumed, until a later look at the inbox cannot show them any more.
	pending map[int64]bool
}

// maxLoading bounds how many runs are loaded at once, after a crash for instance.
const maxLoading = 64

// Errors of an engine's life.
var (
	ErrStopped  = errors.New("the engine is stopped")
	ErrStarted  = errors.New("the engine is already started")
	errShutdown = errors.New("the engine is shutting down")
)

// Open opens the database. Until Start the engine is a client: it can start runs,
// send messages and read, and a started engine, here or elsewhere, does the work.
func Open(ctx context.Context, config Config) (*Engine, error) {
	if err := config.normalize(); err != nil {
		return nil, err
	}
	defs, err := config.definitions()
	if err != nil {
		return nil, err
	}
	db, err := config.Store.Open(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		config:     config,
		defs:       defs,
		db:         db,
		log:        config.Logger,
		node:       store.Node{ID: config.Node + "/" + newToken()[:8], Name: config.Node},
		clock:      newClock(time.Now().UnixNano()),
		loading:    make(chan struct{}, maxLoading),
		inboxKick:  make(chan struct{}, 1),
		wakeKick:   make(chan struct{}, 1),
		partitions: map[int]*partition{},
		residents:  map[string]*resident{},
		idle:       list.New(),
		executions: map[attemptKey]*execution{},
		waiters:    map[string][]chan core.State{},
	}
	e.slots.limit = config.Concurrency
	e.quiet = sync.NewCond(&e.mu)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.bodies, e.interrupt = context.WithCancelCause(context.Background())
	e.committer = newCommitter(e)
	return e, nil
}

// Start makes the engine a worker: it takes the database's partitions over and
// resumes what was interrupted.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch e.phase {
	case running:
		return ErrStarted
	case draining, stopped:
		return ErrStopped
	}
	if err := e.db.Join(ctx, e.node); err != nil {
		return err
	}
	all := make([]int, e.db.Info().Partitions)
	for i := range all {
		all[i] = i
	}
	leave := func() error { return e.db.Leave(context.WithoutCancel(ctx), e.node.ID) }
	owned, err := e.db.Claim(ctx, e.node.ID, all)
	if err != nil {
		return errors.Join(err, leave())
	}
	for _, o := range owned {
		e.clock.observe(o.Clock)
		if err := e.own(ctx, o); err != nil {
			return errors.Join(err, leave())
		}
	}
	e.phase = running
	e.recovering, e.slots.inLane = 1, true // see recover
	for _, loop := range []func(){e.committer.loop, e.wakeLoop, e.inboxLoop, e.listen, e.recover} {
		e.work.Go(loop)
	}
	return nil
}

// own begins to serve a partition.
func (e *Engine) own(ctx context.Context, o store.Ownership) error {
	history, err := e.db.Owners(ctx, o.Partition)
	if err != nil {
		return err
	}
	p := &partition{number: o.Partition, epoch: o.Epoch, owners: map[int64]string{}, scanned: store.Hot, pending: map[int64]bool{}}
	for _, h := range history {
		p.owners[h.Epoch] = h.Node
	}
	if p.hot, err = e.db.Due(ctx, o.Partition, store.Hot-1, store.Hot, 0); err != nil {
		return err
	}
	e.partitions[o.Partition] = p
	return nil
}

// recover takes up what the partitions' previous owner left: runs with work in
// flight, and runs that did not go on for want of fitting code.
//
// Until all runs with work in flight have taken a step, the probation lane is
// closed: only then is it known who belongs there, and who was blamed least often
// and goes first. Otherwise a process that is killed again and again, for whatever
// reason, would blame the run it happens to load first.
func (e *Engine) recover() {
	e.mu.Lock()
	owned := make([]*partition, 0, len(e.partitions))
	for _, p := range e.partitions {
		owned = append(owned, p)
		e.recoverHot(p)
	}
	e.recovered()
	e.mu.Unlock()
	for _, p := range owned {
		if e.reviewHeld(p) != nil {
			return
		}
	}
	e.kickInbox()
}

// recoverHot makes the runs of a partition that had work in flight take a step.
// The engine's mu is held.
func (e *Engine) recoverHot(p *partition) {
	for _, w := range p.hot {
		r := e.resident(p, w.Run)
		if !r.recovering {
			r.recovering = true
			e.recovering++
		}
		r.poked = true
		e.rouse(r)
	}
	p.hot = nil
}

// recovered notes that one more part of recovery is done; the last one opens the
// probation lane. The engine's mu is held.
func (e *Engine) recovered() {
	if e.recovering--; e.recovering == 0 {
		e.slots.release(e, probation)
	}
}

// reviewHeld loads the runs that are parked or wait for code: loading tries
// their code again if it is another one.
func (e *Engine) reviewHeld(p *partition) error {
	filter := store.Filter{Status: []store.Status{store.Parked, store.WaitingForCode}, Limit: 500}
	for {
		var held []store.Run
		err := e.persist("reviewing parked runs", func() (err error) {
			held, err = e.db.List(e.ctx, filter)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range held {
			if r.Partition == p.number && e.worthTrying(r) {
				e.poke(p, r.ID)
			}
			filter.Before = r.ID
		}
		if len(held) < filter.Limit {
			return nil
		}
	}
}

// insist repeats a read about one run until the database answers or the engine
// ends. An error that would come again is returned.
func (e *Engine) insist(what string, read func() error) error {
	var definite error
	err := e.persist(what, func() error {
		err := read()
		if err != nil && !store.Unavailable(err) {
			definite, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return definite
}

// persist repeats a read without which the engine cannot work, whatever its error
// is, until it succeeds or the engine ends.
func (e *Engine) persist(what string, read func() error) error {
	backoff := retry.Exponential(20*time.Millisecond, 2, 2*time.Second)
	for k := 1; ; k++ {
		err := read()
		if e.ctx.Err() != nil {
			return ErrStopped
		}
		if err == nil {
			e.answered(reading)
			return nil
		}
		e.unanswered(reading, what, err)
		if !e.pause(backoff.Delay(k)) {
			return ErrStopped
		}
	}
}

// pause waits unless the engine ends.
func (e *Engine) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.ctx.Done():
		return false
	}
}

// Stop ends the engine. Attempts that run may finish until ctx ends; then they
// are asked to end, and one that does not within a second is given up. None of
// them is charged for that: a later engine runs them again. The database is
// closed. Stopping twice is harmless.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	was := e.phase
	switch was {
	case stopped, draining:
		e.mu.Unlock()
		return nil
	case client:
		e.phase = stopped
		e.mu.Unlock()
		e.cancel()
		return e.db.Close()
	}
	e.phase = draining
	e.mu.Unlock()

	ended := func() bool { return len(e.executions) == 0 && e.busy == 0 }
	e.waitFor(ctx, ended)
	e.interrupt(errShutdown)
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	e.waitFor(grace, ended)
	cancel()
	e.giveUpAttempts()
	settle, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	e.waitFor(settle, func() bool { return e.busy == 0 })
	cancel()
	e.end()
	err := e.db.Leave(context.Background(), e.node.ID)
	return errors.Join(err, e.db.Close())
}

// Kill ends the engine as a crash would: nothing more is written. It is for
// tests. The database is left open.
func (e *Engine) Kill() {
	e.end()
}

// end stops all of the engine's goroutines and drops what is in memory.
func (e *Engine) end() {
	e.mu.Lock()
	e.phase = stopped
	e.mu.Unlock()
	e.cancel()
	e.interrupt(errShutdown)
	e.work.Wait()
	e.steps.stop()
	e.code.stop()
	e.steps.wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.residents {
		e.unload(r)
	}
	for run := range e.waiters {
		e.dismissWaiters(run)
	}
}

// waitFor waits until a condition over the engine's state holds or ctx ends.
func (e *Engine) waitFor(ctx context.Context, holds func() bool) {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.quiet.Broadcast()
	})
	defer stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for !holds() && ctx.Err() == nil {
		e.quiet.Wait()
	}
}

// usable refuses a stopped engine and an impossible workflow ID.
func (e *Engine) usable(workflowID string) error {
	e.mu.Lock()
	over := e.phase == stopped
	e.mu.Unlock()
	if over {
		return ErrStopped
	}
	return history.CheckID("workflow ID", workflowID)
}

// owns returns the partition if this node serves it.
func (e *Engine) owns(number int) *partition {
	if e.phase != running && e.phase != draining {
		return nil
	}
	return e.partitions[number]
}

// lose drops a partition that another node took over.
func (e *Engine) lose(p *partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.partitions[p.number] != p {
		return
	}
	delete(e.partitions, p.number)
	e.log.Error("perdure: another engine took a partition over", "partition", p.number, "epoch", p.epoch)
	e.slots.forget(p)
	for _, r := range e.residents {
		if r.partition == p {
			e.unload(r)
		}
	}
	for _, x := range e.executions {
		if x.resident.partition == p {
			x.cancel(store.ErrFenced)
		}
	}
	for run := range e.waiters {
		e.dismissWaiters(run)
	}
}

// dismissWaiters makes those who wait for a run's result look for themselves
// again.
func (e *Engine) dismissWaiters(run string) {
	for _, w := range e.waiters[run] {
		close(w)
	}
	delete(e.waiters, run)
}
