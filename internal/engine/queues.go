package engine

import (
	"context"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
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
	gone   goneWorkers
}

// open creates the server of the queues, if this process serves any.
func (q *queues) open(attempts attempt.Config) {
	e := q.engine
	q.gone.kick = clock.NewBell()
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
		Body: func(run string, t *serve.Task) seal.Body {
			body := e.defs.body(&t.Dispatch)
			all := e.defs.around.Attempts()
			if body == nil || !e.surrounds(&all) {
				return body
			}
			return e.surrounded(body, &all, intercept.Op{
				Kind: intercept.Attempt, Name: t.Dispatch.Name, WorkflowID: t.WorkflowID, RunID: run, Workflow: t.Workflow,
				Call: t.Dispatch.Call, Attempt: t.Dispatch.Attempt, Headers: history.WithTrace(t.Headers, t.Dispatch.Trace),
			})
		},
		Attempts: attempts,
		Watch:    e.db.reads, Log: e.log,
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
	e.life.work.Go(e.inbox.listen)
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

func (q *queues) health() error {
	if q.server == nil {
		return nil
	}
	return q.server.Health()
}

// goneWorkers are workers that this node has seen dead, and since when. A worker counts as
// dead only if that lasts for some time in which the database answers: right after an outage
// no worker has renewed its lease.
type goneWorkers struct {
	kick  clock.Bell
	since map[string]time.Time
}

// watchWorkers takes back the attempts of workers that are gone.
func (q *queues) watchWorkers() {
	every := q.engine.config.Lease / 3
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-q.gone.kick:
		case <-q.engine.life.ctx.Done():
			return
		}
		_ = q.takeBack(every) // it tries again later; other loops report the outage
		timer.Reset(every)
	}
}

// takeBack tells runs which of their attempts are lost with their worker.
func (q *queues) takeBack(patience time.Duration) error {
	e := q.engine
	e.mu.Lock()
	owned := partitionsOf(e.locations.open())
	e.mu.Unlock()
	if len(owned) == 0 {
		return nil
	}
	lost, err := e.db.Tasks(e.life.ctx, store.TaskFilter{Partitions: owned, Lost: true, Limit: 1000})
	if err != nil {
		q.gone.since = nil
		return err
	}
	if len(lost) == 0 {
		q.gone.since = nil
		return nil
	}
	workers, err := e.db.Workers(e.life.ctx)
	if err != nil {
		q.gone.since = nil
		return err
	}
	left := map[string]bool{}
	var survivors []string
	for _, w := range workers {
		left[w.ID] = w.Left
		if w.Left || w.Live {
			survivors = append(survivors, w.ID)
		}
	}
	since, died := map[string]time.Time{}, map[string][]store.Task{}
	for _, t := range lost {
		first, known := q.gone.since[t.Worker]
		if !known {
			first = time.Now()
		}
		since[t.Worker] = first
		if !left[t.Worker] && time.Since(first) < patience {
			continue
		}
		if !left[t.Worker] {
			died[t.Worker] = append(died[t.Worker], t)
		}
		in := core.WorkerGone{
			AttemptRef: core.AttemptRef{Call: t.Number, Attempt: t.Attempt}, Worker: t.Worker, Survived: left[t.Worker], Survivors: survivors,
		}
		e.mu.Lock()
		for _, p := range e.locations.open() {
			if p.partition == t.Partition { // the run is in one of its places
				p.deliverLocked(t.Run, post.Mail{Input: in})
			}
		}
		e.mu.Unlock()
	}
	q.gone.since = since
	e.suspicion.WorkersDied(died)
	return nil
}

// Queue is a queue that is served.
type Queue = record.Queue
