package engine

import (
	"context"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/serve"
	"github.com/perdure/perdure/store"
)

// queues serves the queues of this process, and takes back what the workers of queues leave that
// die.
type queues struct {
	engine *Engine
	server *serve.Server // nil if this process serves none
	news   clock.Bell    // of nodes and workers
	gone   serve.Gone    // workers of other processes
}

// open creates the server of the queues, if this process serves any.
func (q *queues) open(attempts attempt.Config) {
	e := q.engine
	q.news, q.gone = clock.NewBell(), serve.Gone{Store: e.db.Store, Patience: e.config.Lease / 3}
	if len(e.config.Queues) == 0 {
		return
	}
	var names []string
	for _, a := range e.config.Activities {
		names = append(names, a.Name())
	}
	q.server = serve.New(e.life.ctx, serve.Config{
		Store: e.db.Store, Group: e.db.group, Name: e.config.Node, Build: e.config.Build, Lease: e.config.Lease, Queues: e.config.Queues, Activities: names,
		Ahead: ahead, Alone: len(e.config.Workflows) == 0, Slots: e.dispatcher.slots,
		Paused:   e.dispatcher.slots.Off,
		Doubted:  e.suspicion.Doubted,
		Survived: func(activity, attemptID string) { e.suspicion.SurvivedInQueue(activity, attemptID, q.server.Wake) },
		Body: func(run string, t *record.Task) seal.Body {
			all := e.registry.Around.Attempts()
			return e.registry.Surrounded(e.registry.Body(&t.Dispatch), &all, func() intercept.Op {
				return intercept.Op{
					Kind: intercept.Attempt, Name: t.Dispatch.Name, WorkflowID: t.WorkflowID, RunID: run, Workflow: t.Workflow,
					Call: t.Dispatch.Call, Attempt: t.Dispatch.Attempt, Headers: history.WithTrace(t.Headers, t.Dispatch.Trace),
				}
			})
		},
		Attempts: attempts,
		Watch:    e.db.reads, Log: e.log.Log,
	})
}

// start starts an engine that serves only queues.
func (q *queues) start(ctx context.Context) error {
	e := q.engine
	if err := q.server.Register(ctx); err != nil {
		return err
	}
	q.server.Start()
	e.mu.Lock()
	e.life.phase = running
	e.suspicion.Begin(time.Now())
	e.mu.Unlock()
	e.log.EngineStarted(e.config.Node, e.config.Group, e.db.Info().Location, 0)
	e.life.work.Go(e.switches.follow)
	e.life.work.Go(e.listen)
	return nil
}

// stop drains the server while the engine drains, and closes the channel when done.
func (q *queues) stop(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if q.server == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		q.server.Stop(ctx)
	}()
	return done
}

// watchWorkers takes back the attempts of workers that are gone.
func (q *queues) watchWorkers() {
	q.gone.Run(q.engine.life.ctx, q.news, q.engine.locations.Partitions, q.takeBack)
}

// takeBack tells runs which of their attempts are lost with their worker.
func (q *queues) takeBack(losses []serve.Loss, died map[string][]store.Task) {
	e := q.engine
	e.mu.Lock()
	for _, p := range e.locations.Open() {
		for _, lost := range losses {
			if p.Partition == lost.Task.Partition { // the run is in one of its places
				p.deliverLocked(lost.Task.Run, post.Mail{Input: lost.Input})
			}
		}
	}
	e.mu.Unlock()
	e.suspicion.WorkersDied(died)
}
