package core

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// nextStart returns the start event of the run that follows this one.
func (f *facts) nextStart(e *history.Event) *history.Start {
	if e.Initiator == history.ResetOfRun {
		return f.journal.out.Base.reset
	}
	s := f.journal.start
	next := &history.Start{
		Kind: history.RunStarted, Format: history.Format,
		WorkflowID: s.WorkflowID, Run: e.ID, Type: s.Type, Group: s.Group, Chain: s.Chain, Attempt: e.Attempt,
		Input: s.Input, Trace: s.Trace, Created: f.journal.now, FirstTurn: e.Due, Settings: s.Settings, ChainDeadline: s.ChainDeadline,
		Number: max(s.Number, 1) + 1, Previous: s.Run, Initiator: e.Initiator, After: s.After, First: s.Origin(),
		Parent: s.Parent, Scheduled: s.Scheduled, Carried: f.carry(),
	}
	next.Attributes = f.attributes
	if e.Initiator == history.ContinueAsNew {
		next.Type, next.Input = e.Name, e.Input
		return next
	}
	next.Failure, next.FirstAttempt, next.Deadline = e.Failure, f.retries().firstAttempt(), e.Deadline
	if e.Due > 0 {
		next.Backoff = time.Duration(e.Due - f.journal.now)
	}
	return next
}

// carry returns what passes on to the next run: unread signals, the IDs of received
// signals, updates and operations, the pause, the ticket of admission, and the cancel request. The request is passed
// on even if the code has been told, because a cancellation that comes in the moment in
// which the code continues would be lost otherwise.
func (f *facts) carry() *history.Carried {
	f.keepUnapplied()
	unread := f.signals.unread
	if f.journal.program != nil {
		unread = f.journal.program.Unread()
	}
	for _, c := range unread {
		f.signals.insert(f.signals.mailbox(c.Name), signal{c.Result, c.arrival})
	}
	var all history.Carried
	for _, name := range slices.Sorted(maps.Keys(f.signals.byName)) {
		for _, v := range f.signals.byName[name].values {
			all.Signals = append(all.Signals, history.CarriedSignal{Name: name, Value: v.value})
		}
	}
	seen := f.signals.ids.toHandOn(f.journal.now, maxHandedOn)
	for _, key := range seen {
		name, id, _ := strings.Cut(key.id, "\x00") // see signalKey
		all.Seen = append(all.Seen, [2]string{name, id})
	}
	all.SeenAt = stamps(seen, f.journal.now)
	for _, key := range f.updates.toHandOn(f.journal.now, maxUpdates) {
		at, _ := f.updates.get(key.id)
		all.Updates = append(all.Updates, history.CarriedUpdate{ID: key.id, Run: at.run, Turn: at.turn, At: key.at / int64(time.Millisecond)})
	}
	if f.journal.cancellation.requested {
		all.Cancel = &history.CarriedCancel{Reason: f.journal.cancellation.reason}
	}
	if f.journal.paused != nil {
		all.Paused = &history.CarriedPause{By: f.journal.paused.By, Reason: f.journal.paused.Reason, At: f.journal.paused.At}
	}
	all.Admission = f.admission.ticket
	done := f.chainOperationIDs.toHandOn(f.journal.now, maxHandedOn)
	for _, key := range done {
		all.Asked = append(all.Asked, key.id)
	}
	all.AskedAt = stamps(done, f.journal.now)
	if all.Signals == nil && all.Seen == nil && all.Updates == nil && all.Cancel == nil && all.Paused == nil && all.Asked == nil && all.Admission == nil {
		return nil
	}
	return &all
}

// inherit takes over what the previous run passed on.
func (f *facts) inherit(c *history.Carried) {
	if c == nil {
		return
	}
	f.admission.ticket = c.Admission
	for i, s := range c.Seen {
		f.signals.ids.add(signalKey(s[0], s[1]), stampOf(c.SeenAt, i, len(c.Seen)))
	}
	for _, s := range c.Signals {
		f.signals.push(s.Name, s.Value)
	}
	for _, u := range c.Updates {
		f.updates.put(u.ID, acceptance{u.Run, u.Turn}, u.At*int64(time.Millisecond))
	}
	for i, id := range c.Asked {
		f.chainOperationIDs.add(id, stampOf(c.AskedAt, i, len(c.Asked)))
	}
	if p := c.Paused; p != nil {
		f.pause(&Pause{By: p.By, Reason: p.Reason, At: p.At})
	}
	if c.Cancel != nil {
		f.journal.cancellation.requested, f.journal.cancellation.untold, f.journal.cancellation.reason = true, true, c.Cancel.Reason
	}
}

// keepUnapplied keeps the signals that have not taken effect when the run continues as new.
func (f *facts) keepUnapplied() {
	for _, e := range f.journal.afterCut {
		if e.Kind == history.SignalReceived {
			m := f.signals.mailbox(e.Name)
			m.arrivals++
			f.signals.insert(m, signal{e.Input, m.arrivals})
			f.signals.ids.add(signalKey(e.Name, e.ID), f.journal.now)
		}
	}
	f.journal.afterCut = slices.DeleteFunc(f.journal.afterCut, func(e history.Event) bool { return e.Kind == history.SignalReceived })
}
