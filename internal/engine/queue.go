package engine

import (
	"context"
	"math"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/serve"
	"github.com/perdure/perdure/store"
)

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
		if r.location.box.IsUnread(ref) { // the owner cannot know what its end was
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
			WorkflowID: start.WorkflowID, Queue: d.Queue, Name: d.Name, Key: start.Key, Weight: start.Weight, Priority: d.Priority, Suspect: d.Probation, Offered: d.Queued, Latest: d.Latest, Data: data,
		})
	}
	return nil
}

// tasksOf returns the tasks of a run.
func (r *activeRun) tasksOf() (refs []store.TaskRef, err error) {
	e := r.engine
	all, err := outage.Read(e.life.ctx, e.db.reads, "reading what is in queues for run "+r.id, func(ctx context.Context) ([]store.Task, error) {
		return e.db.Tasks(ctx, store.TaskFilter{Partitions: []int{r.location.partition}, Run: r.id, Limit: math.MaxInt32})
	})
	for i := range all {
		refs = append(refs, all[i].TaskRef)
	}
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
	r.noteCreated()
	e.mu.Unlock()
	_ = r.location.hearSince(r.run.Began().WorkflowID, e.clock.Now()+1) // a look from now on; what cannot be read comes later
}
