package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/serve"
	"github.com/perdure/perdure/store"
)

// Queue is a queue that is served.
type Queue = record.Queue

// checkQueues returns what is wrong with the queues to serve.
func (c *Config) checkQueues() (errs []error) {
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
		errs = append(errs, fmt.Errorf("the queue %q is served without any activity; register those whose calls wait there", c.Queues[0].Name))
	}
	return errs
}

// onlyQueues reports whether the process serves queues and takes no partitions.
func (e *Engine) onlyQueues() bool { return len(e.config.Queues) > 0 && len(e.config.Workflows) == 0 }

// serveQueues creates the server of the queues, if this process serves any.
func (e *Engine) serveQueues() {
	e.goneWorkers.kick = clock.NewBell()
	if len(e.config.Queues) == 0 {
		return
	}
	var names []string
	for _, a := range e.config.Activities {
		names = append(names, a.Name())
	}
	e.server = serve.New(e.ctx, serve.Config{
		Store: e.db, Group: e.group, Name: e.config.Node, Build: e.config.Build, Lease: e.config.Lease, Queues: e.config.Queues, Activities: names,
		Ahead: ahead, Alone: len(e.config.Workflows) == 0, Slots: e.dispatcher.slots,
		Paused:   e.dispatcher.slots.Off,
		Doubted:  e.suspicion.Doubted,
		Survived: func(activity, attemptID string) { e.suspicion.SurvivedInQueue(activity, attemptID, e.server.Wake) },
		Body: func(run string, t *serve.Task) seal.Body {
			body := e.defs.body(&t.Dispatch)
			all := e.around.Attempts()
			if body == nil || !e.surrounds(&all) {
				return body
			}
			return e.surrounded(body, &all, intercept.Op{
				Kind: intercept.Attempt, Name: t.Dispatch.Name, WorkflowID: t.WorkflowID, RunID: run, Workflow: t.Workflow,
				Call: t.Dispatch.Call, Attempt: t.Dispatch.Attempt, Headers: history.WithTrace(t.Headers, t.Dispatch.Trace),
			})
		},
		Free:    func(slot *dispatch.Slot) { e.dispatcher.granted(slot.Free()) },
		Granted: attemptOwner{e}.Granted,
		Attempts: attempt.Config{
			Clock: e.clock, Pool: &e.code, Holds: func() bool { return true }, MaxLate: e.config.MaxAbandoned, Logger: e.config.Logger,
		},
		Token: func(partition int, run string, call int64, number int) string {
			return e.Client.Token(request.Attempt{Partition: partition, Run: run, Call: call, Number: number})
		},
		Away: e.reads.Away, Back: e.reads.Back, Unreadable: e.log.AttemptUnreadable,
		Dropped: func(k attempt.Key, how core.Outcome) {
			if how == core.Completed {
				e.log.ResultRefused(k.Run, k.Call, k.Number)
			} else {
				e.log.InputsLate(k.Run, 1)
			}
		},
	})
}

// startServing starts an engine that serves only queues.
func (e *Engine) startServing(ctx context.Context) error {
	if err := e.server.Register(ctx); err != nil {
		return err
	}
	e.server.Start()
	e.mu.Lock()
	e.phase = running
	e.suspicion.Begin(time.Now())
	e.mu.Unlock()
	e.log.EngineStarted(e.config.Node, e.config.Group, e.db.Info().Location, 0)
	e.work.Go(e.switchLoop)
	e.work.Go(e.inbox.listen)
	return nil
}

// stopServing drains the server while the engine drains, and closes the channel when done.
func (e *Engine) stopServing(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	if e.server == nil {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		e.server.Stop(ctx)
	}()
	return done
}

// leave ends the membership of a node. An engine that serves only queues has none.
func (e *Engine) leave() error {
	if e.onlyQueues() {
		return nil
	}
	return e.member.Leave()
}

func (e *Engine) servingHealth() error {
	if e.server == nil {
		return nil
	}
	return e.server.Health()
}

// storeTasks translates what a turn says about queues for the store.
func (r *activeRun) storeTasks(out *core.Turn, t *store.Turn) error {
	refs := func(all []core.AttemptRef) (list []store.TaskRef) {
		for _, a := range all {
			list = append(list, store.TaskRef{Partition: t.Partition, Run: r.id, Number: a.Call, Attempt: a.Attempt})
		}
		return list
	}
	t.Over, t.Withdrawn, t.Stopped = refs(out.Over), refs(out.Withdrawn), refs(out.Stopped)
	for _, ref := range refs(out.GivenUp) {
		if r.partition.box.IsUnread(ref) { // the owner cannot know what its end was
			t.Over = append(t.Over, ref)
		} else {
			t.GivenUp = append(t.GivenUp, ref)
		}
	}
	if out.Ended && r.run.Damaged() { // a damaged run does not know all of its tasks
		all, err := r.tasksOf()
		if err != nil {
			return err
		}
		t.Over = all
	}
	start := r.run.Start()
	for _, d := range out.Offered {
		data, err := serve.Seal(serve.Task{Workflow: start.Type, WorkflowID: start.WorkflowID, CallID: r.run.CallID(d.Call, d.Name), Headers: start.Headers, Dispatch: d}, r.id)
		if err != nil {
			return err
		}
		t.Offered = append(t.Offered, store.Task{
			TaskRef:    store.TaskRef{Partition: t.Partition, Run: r.id, Number: d.Call, Attempt: d.Attempt},
			WorkflowID: start.WorkflowID, Queue: d.Queue, Name: d.Name, Priority: d.Priority, Suspect: d.Probation, Offered: d.Queued, Latest: d.Latest, Data: data,
		})
	}
	return nil
}

// tasksOf returns the tasks of a run.
func (r *activeRun) tasksOf() (refs []store.TaskRef, err error) {
	e := r.engine
	err = e.reads.Insist(e.ctx, "reading what is in queues for run "+r.id, func() error {
		all, err := e.db.Tasks(e.ctx, store.TaskFilter{Partitions: []int{r.partition.home}, Run: r.id, Limit: math.MaxInt32})
		refs = nil
		for i := range all {
			refs = append(refs, all[i].TaskRef)
		}
		return err
	})
	return refs, err
}

// toldMeanwhile abandons a turn that the store refused with ErrClaimed: it withdraws an
// attempt that a worker has claimed, or gives up an attempt whose worker has reported its end.
// The worker's message is read before the run takes another step. WorkerGone is dropped: it is
// checked again after that.
func (r *activeRun) toldMeanwhile(t *turn) {
	e := r.engine
	r.putBack(slices.DeleteFunc(slices.Clone(t.mail), func(m post.Mail) bool {
		_, gone := m.Input.(core.WorkerGone)
		return gone
	}))
	e.mu.Lock()
	r.created()
	e.mu.Unlock()
	_ = r.partition.hearSince(r.run.Began().WorkflowID, e.clock.Now()+1) // a look from now on; what cannot be read comes later
}

// goneWorkers are workers that this node has seen dead, and since when. A worker counts as
// dead only if that lasts for some time in which the database answers: right after an outage
// no worker has renewed its lease.
type goneWorkers struct {
	kick  clock.Bell
	since map[string]time.Time
}

// workerLoop takes back the attempts of workers that are gone.
func (e *Engine) workerLoop() {
	every := e.config.Lease / 3
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-e.goneWorkers.kick:
		case <-e.ctx.Done():
			return
		}
		_ = e.takeBack(every) // it tries again later; other loops report the outage
		timer.Reset(every)
	}
}

// takeBack tells runs which of their attempts are lost with their worker.
func (e *Engine) takeBack(patience time.Duration) error {
	e.mu.Lock()
	owned := homes(e.locations.open())
	e.mu.Unlock()
	if len(owned) == 0 {
		return nil
	}
	lost, err := e.db.Tasks(e.ctx, store.TaskFilter{Partitions: owned, Lost: true, Limit: 1000})
	if err != nil {
		e.goneWorkers.since = nil
		return err
	}
	if len(lost) == 0 {
		e.goneWorkers.since = nil
		return nil
	}
	workers, err := e.db.Workers(e.ctx)
	if err != nil {
		e.goneWorkers.since = nil
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
		first, known := e.goneWorkers.since[t.Worker]
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
			if p.home == t.Partition { // the run is in one of its places
				p.deliverLocked(t.Run, post.Mail{Input: in})
			}
		}
		e.mu.Unlock()
	}
	e.goneWorkers.since = since
	e.suspicion.WorkersDied(died)
	return nil
}
