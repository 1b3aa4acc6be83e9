package engine

import (
	"context"
	"math"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// settleTasks corrects what a turn says about tasks by what the machine cannot know: ends that could
// not be read, and which tasks a damaged run has.
func (r *activeRun) settleTasks(out *core.Turn, t *store.Turn) (err error) {
	if len(t.GivenUp) > 0 {
		t.GivenUp = slices.DeleteFunc(t.GivenUp, func(ref store.TaskRef) bool {
			unread := r.location.box.IsUnread(ref)
			if unread { // the owner cannot know what its end was
				t.Over = append(t.Over, ref)
			}
			return unread
		})
	}
	if out.Ended && r.run.Damaged() { // it does not know all of its tasks
		t.Over, err = r.tasksOf()
	}
	return err
}

// tasksOf returns the tasks of a run.
func (r *activeRun) tasksOf() (refs []store.TaskRef, err error) {
	e := r.engine
	all, err := outage.Read(e.life.ctx, e.db.reads, "reading what is in queues for run "+r.id, func(ctx context.Context) ([]store.Task, error) {
		return e.db.Tasks(ctx, store.TaskFilter{Partitions: []int{r.location.Partition}, Run: r.id, Limit: math.MaxInt32})
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
