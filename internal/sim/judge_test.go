package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// judge says whether everything has come to its right end.
func (w *world) judge() {
	for i := range w.programs {
		o := &w.programs[i]
		want := o.job.expect()
		w.judgeEnd(o.id, want.value, w.marred[o.id])
		for _, seed := range want.apart {
			w.judgeEnd(apartID(seed), expect(sub(seed), seed, 0).value, w.marred[o.id])
		}
	}
	for waited := 0; (w.model.tickets() > 0 || w.open() > 0) && waited < 20; waited++ {
		time.Sleep(30 * time.Second) // the gates ask who holds them
	}
	if n := w.model.tickets(); n > 0 {
		w.complain("%d tickets are left at gates", n)
	}
	ids := make([]string, 0, len(w.model.runs))
	for id, r := range w.model.runs {
		if entity.KindOf(id) != entity.Run {
			continue
		}
		if !r.closed {
			w.complain("I6: run %s of %s is open: %s", id, r.workflowID, w.describe(r.workflowID))
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if r := w.model.runs[id]; r != nil { // else it was deleted meanwhile
			w.judgeRun(r.workflowID, id)
		}
	}
	for waited := 0; w.left() != "" && waited < 4; waited++ {
		time.Sleep(20 * time.Second) // slow answers may be older than the calm
	}
	if left := w.left(); left != "" {
		w.complain("I10: in the end there is %s", left)
	}
	if w.ill() != "" {
		time.Sleep(20 * time.Second)
	}
	if ill := w.ill(); ill != "" {
		w.complain("after all, %s", ill)
	}
}

// left says what is left in queues and inboxes, "" for nothing.
func (w *world) left() string {
	ctx := context.Background()
	db, err := w.database().Open(ctx)
	if err != nil {
		return err.Error()
	}
	defer db.Close()
	group, err := db.Group(ctx, "")
	if err != nil {
		return err.Error()
	}
	tasks, err := db.Tasks(ctx, store.TaskFilter{})
	if err != nil || len(tasks) > 0 {
		return fmt.Sprintf("in queues %+v, %v", tasks, err)
	}
	mail, err := db.Inbox(ctx, group.All(), store.InboxRead{})
	mail = slices.DeleteFunc(mail, func(m store.Message) bool { return m.Kind == message.KindAnswer }) // whose client has died: swept later
	if err != nil || len(mail) > 0 {
		return fmt.Sprintf("in inboxes %+v, %v", mail, err)
	}
	return ""
}

// ill names a process that says that it is not well, "" if all are.
func (w *world) ill() string {
	for _, n := range w.alive {
		if n.engine != nil && !n.isDead() && !w.isReplaced(n) {
			if err := n.engine.Health(); err != nil {
				return fmt.Sprintf("%s is not well: %v", n, err)
			}
		}
	}
	return ""
}

// open is how many runs are open.
func (w *world) open() (n int) {
	w.writing.Lock()
	defer w.writing.Unlock()
	for id, r := range w.model.runs {
		if entity.KindOf(id) == entity.Run && !r.closed {
			n++
		}
	}
	return n
}

// judgeEnd makes sure that a program came to its right end.
func (w *world) judgeEnd(id string, value int, marred bool) {
	ctx, cancel := context.WithTimeout(context.Background(), hour)
	defer cancel()
	_, state, err := w.desk().Result(ctx, id, "")
	if errors.Is(err, store.ErrNotFound) && marred {
		return
	}
	if err != nil {
		w.complain("I6: the end of %s: %v: %s", id, err, w.describe(id))
		return
	}
	if e := w.ending(state.Status, state.Detail); !marred && e != (ending{status: core.StatusCompleted, value: value}) {
		w.complain("%s ended %v: it should come to %d", id, e, value)
	}
}

// describe says in a few words how a run stands.
func (w *world) describe(id string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := w.desk().Describe(ctx, id, "")
	if err != nil {
		return err.Error()
	}
	why, _ := w.desk().Why(ctx, id, "")
	text := fmt.Sprintf("%s, %s", d.Status, why)
	for i := range d.Pending {
		c := &d.Pending[i]
		text += fmt.Sprintf("; call %d %s: %s, attempt %d", c.Call, c.Name, c.State, c.Attempt)
	}
	return text
}

// judgeRun holds the records of a run against each other and against the book, unless it is deleted
// meanwhile.
func (w *world) judgeRun(workflowID, run string) {
	ctx := context.Background()
	row, err := w.desk().Find(ctx, workflowID, run)
	record, unread := w.desk().Record(ctx, workflowID, run)
	ledger, unlisted := w.desk().Attempts(ctx, workflowID, run, view.AttemptRange{})
	if !w.model.knows(run) {
		return
	}
	if err := errors.Join(err, unread, unlisted); err != nil {
		w.complain("run %s of %s: %v", run, workflowID, err)
		return
	}
	w.judgeHistory(run, &record)
	w.judgeLedger(row, ledger)
}

// judgeHistory makes sure that each call was made once and ended at most once (I2).
func (w *world) judgeHistory(run string, r *history.Recording) {
	made, ended := map[int64]bool{}, map[int64]bool{}
	for _, turn := range r.Turns {
		for i := range turn.Events {
			switch ev := &turn.Events[i]; ev.Kind {
			case history.ActivityScheduled, history.StepScheduled, history.ChildScheduled, history.DetachedScheduled, history.SignalAwaited:
				if made[ev.Call] {
					w.complain("I2: call %d of %s was made twice", ev.Call, run)
				}
				made[ev.Call] = true
			case history.CallCompleted, history.CallFailed:
				if ended[ev.Call] || !made[ev.Call] {
					w.complain("I2: call %d of %s ended twice, or was not made", ev.Call, run)
				}
				ended[ev.Call] = true
			}
		}
	}
}

// punctual reports whether attempts start when they are due or later: nobody hurries them, and the
// clock advances evenly.
func (w *world) punctual() bool {
	return !slices.ContainsFunc(w.events, func(ev event) bool { return ev.what == clockSteps || ev.what >= pausesCall })
}

// steady reports whether the clocks say what came first.
func (w *world) steady() bool {
	return !slices.ContainsFunc(w.events, func(ev event) bool { return ev.what == clockSteps })
}

// cameLate reports whether the answer to an attempt may have come after its end, which was not on
// record yet: after its time, or at the moment at which its owner counted it as lost.
func (w *world) cameLate(e *entry, a *view.Attempt) bool {
	return !w.steady() || a.Ended == nil || e.answered.After(a.Ended.Add(-time.Second))
}

// judgeLedger holds the ledger of a run against what the bodies have done.
func (w *world) judgeLedger(row *store.Run, ledger []view.Attempt) {
	byID := map[string]*view.Attempt{}
	last := map[int64]int{}
	for i := range ledger {
		a := &ledger[i]
		if w.punctual() && i > 0 && ledger[i-1].Call == a.Call && ledger[i-1].Next != nil && a.Started != nil && a.Started.Before(*ledger[i-1].Next) {
			w.complain("I7: attempt %d of call %d of %s started at %s, due at %s", a.Number, a.Call, row.ID, a.Started, ledger[i-1].Next)
		}
		byID[a.ID] = a
		if a.RunID == "" && a.Number != last[a.Call]+1 { // else it is kept from another run
			w.complain("I3: attempt %d of call %d of %s follows attempt %d", a.Number, a.Call, row.ID, last[a.Call])
		}
		last[a.Call] = a.Number
		if a.Ended == nil && !row.Status.Open() {
			w.complain("I3: attempt %d of call %d of %s has no end", a.Number, a.Call, row.ID)
		}
		if a.Name == failingCall.Name() && a.Outcome == view.OutcomeCompleted {
			w.complain("a call that always fails has completed: %s", a.ID)
		}
	}
	w.judgeCharges(row.ID, ledger)
	for _, e := range w.book.of(row.ID) {
		a := byID[e.attempt]
		switch {
		case a == nil:
			w.complain("I3: attempt %d of %s (%s) of %s is in no ledger", e.number, e.call, e.activity, row.WorkflowID)
		case e.question != (a.Question > 0):
			w.complain("U7: %s of %s is a question: %t, not %t", e.attempt, e.activity, a.Question > 0, e.question)
		case e.question, isCharge(e.activity):
		case e.activity == outsideCall.Name(), e.activity == remoteCall.Name():
			switch {
			case e.answer == "" || a.Outcome == e.answer || a.Outcome == view.OutcomeCanceled:
			case e.answer == turnedAway:
				if w.steady() && a.Ended != nil && a.Ended.After(e.answered.Add(time.Second)) {
					w.complain("who answered attempt %s of %s was told that it is over; it ended %s later: %s", e.attempt, e.activity, a.Ended.Sub(e.answered), a.Outcome)
				}
			case !w.cameLate(&e, a):
				w.complain("attempt %s of %s was answered from outside, %s; it ended %s", e.attempt, e.activity, e.answer, a.Outcome)
			}
		case a.Outcome == view.OutcomeCompleted && !e.did:
			w.complain("attempt %s of %s completed, and its body has not", e.attempt, e.activity)
		case a.Outcome == view.OutcomeFailed && e.did && e.activity != writtenCall.Name():
			w.complain("attempt %s of %s failed, and its body did its work", e.attempt, e.activity)
		}
	}
}
