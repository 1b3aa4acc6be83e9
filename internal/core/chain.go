package core

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// nextStart returns the start event of the run that follows this one.
func (r *Run) nextStart(e *history.Event) *history.Start {
	if e.Initiator == history.ResetOfRun {
		return r.journal.out.Base.reset
	}
	s := r.journal.start
	next := &history.Start{
		Kind: history.RunStarted, Format: history.Format,
		WorkflowID: s.WorkflowID, Run: e.ID, Type: s.Type, Group: s.Group, Chain: s.Chain, Attempt: e.Attempt,
		Input: s.Input, Trace: s.Trace, Created: r.journal.now, FirstTurn: e.Due, Settings: s.Settings, ChainDeadline: s.ChainDeadline,
		Number: max(s.Number, 1) + 1, Previous: s.Run, Initiator: e.Initiator, After: s.After, First: s.Origin(),
		Parent: s.Parent, Scheduled: s.Scheduled, Carried: r.carry(),
	}
	next.Attributes = r.attributes
	if e.Initiator == history.ContinueAsNew {
		next.Type, next.Input = e.Name, e.Input
		return next
	}
	next.Failure, next.FirstAttempt, next.Deadline = e.Failure, r.retries().firstAttempt(), e.Deadline
	if e.Due > 0 {
		next.Backoff = time.Duration(e.Due - r.journal.now)
	}
	return next
}

// carry returns what passes on to the next run: unread signals, the IDs of received
// signals, updates and operations, the pause, the ticket of admission, and the cancel request. The request is passed
// on even if the code has been told, because a cancellation that comes in the moment in
// which the code continues would be lost otherwise.
func (r *Run) carry() *history.Carried {
	r.keepUnapplied()
	unread := r.signals.unread
	if r.journal.program != nil {
		unread = r.journal.program.Unread()
	}
	for _, c := range unread {
		r.signals.insert(r.signals.mailbox(c.Name), signal{c.Result, c.arrival})
	}
	var all history.Carried
	for _, name := range slices.Sorted(maps.Keys(r.signals.byName)) {
		for _, v := range r.signals.byName[name].values {
			all.Signals = append(all.Signals, history.CarriedSignal{Name: name, Value: v.value})
		}
	}
	seen := r.signals.ids.toHandOn(r.journal.now, maxHandedOn)
	for _, key := range seen {
		name, id, _ := strings.Cut(key.id, "\x00") // see signalKey
		all.Seen = append(all.Seen, [2]string{name, id})
	}
	all.SeenAt = stamps(seen, r.journal.now)
	for _, key := range r.updates.toHandOn(r.journal.now, maxUpdates) {
		at, _ := r.updates.get(key.id)
		all.Updates = append(all.Updates, history.CarriedUpdate{ID: key.id, Run: at.run, Turn: at.turn, At: key.at / int64(time.Millisecond)})
	}
	if r.journal.cancellation.requested {
		all.Cancel = &history.CarriedCancel{Reason: r.journal.cancellation.reason}
	}
	if r.journal.paused != nil {
		all.Paused = &history.CarriedPause{By: r.journal.paused.By, Reason: r.journal.paused.Reason, At: r.journal.paused.At}
	}
	all.Admission = r.admission.ticket
	done := r.chainOperationIDs.toHandOn(r.journal.now, maxHandedOn)
	for _, key := range done {
		all.Asked = append(all.Asked, key.id)
	}
	all.AskedAt = stamps(done, r.journal.now)
	if all.Signals == nil && all.Seen == nil && all.Updates == nil && all.Cancel == nil && all.Paused == nil && all.Asked == nil && all.Admission == nil {
		return nil
	}
	return &all
}

// inherit takes over what the previous run passed on.
func (r *Run) inherit(c *history.Carried) {
	if c == nil {
		return
	}
	r.admission.ticket = c.Admission
	for i, s := range c.Seen {
		r.signals.ids.add(signalKey(s[0], s[1]), stampOf(c.SeenAt, i, len(c.Seen)))
	}
	for _, s := range c.Signals {
		r.signals.push(s.Name, s.Value)
	}
	for _, u := range c.Updates {
		r.updates.put(u.ID, acceptance{u.Run, u.Turn}, u.At*int64(time.Millisecond))
	}
	for i, id := range c.Asked {
		r.chainOperationIDs.add(id, stampOf(c.AskedAt, i, len(c.Asked)))
	}
	if p := c.Paused; p != nil {
		r.setPaused(&Pause{By: p.By, Reason: p.Reason, At: p.At})
	}
	if c.Cancel != nil {
		r.journal.cancellation.requested, r.journal.cancellation.untold, r.journal.cancellation.reason = true, true, c.Cancel.Reason
	}
}

// keepUnapplied keeps the signals that have not taken effect when the run continues as new.
func (r *Run) keepUnapplied() {
	for _, e := range r.journal.afterCut {
		if e.Kind == history.SignalReceived {
			m := r.signals.mailbox(e.Name)
			m.arrivals++
			r.signals.insert(m, signal{e.Input, m.arrivals})
			r.signals.ids.add(signalKey(e.Name, e.ID), r.journal.now)
		}
	}
	r.journal.afterCut = slices.DeleteFunc(r.journal.afterCut, func(e history.Event) bool { return e.Kind == history.SignalReceived })
}
