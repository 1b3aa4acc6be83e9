package core

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Continue closes the run. The next run of its chain begins with the input, as attempt 1 of
// the workflow.
func (r *Run) Continue(workflow string, input history.Payload) {
	r.command(history.Event{
		Kind: history.RunContinued, Name: workflow, Input: input, Initiator: history.ContinueAsNew,
		ID: NextRunID(r.journal.start.Run, r.journal.now), Attempt: 1,
	})
}

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
		Parent: s.Parent, Scheduled: s.Scheduled, Carried: r.carried(),
	}
	next.Attributes = r.attributes
	if e.Initiator == history.ContinueAsNew {
		next.Type, next.Input = e.Name, e.Input
		return next
	}
	next.Failure, next.FirstAttempt, next.Deadline = e.Failure, r.retries.firstAttempt(), e.Deadline
	if e.Due > 0 {
		next.Backoff = time.Duration(e.Due - r.journal.now)
	}
	return next
}

// carried returns what passes on to the next run: unread signals, the IDs of received
// signals, updates and operations, the pause, and the cancel request. The request is passed
// on even if the code has been told, because a cancellation that comes in the moment in
// which the code continues would be lost otherwise.
func (r *Run) carried() *history.Carried {
	r.unheard()
	unread := r.signals.unread
	if r.journal.program != nil {
		unread = r.journal.program.Unread()
	}
	for _, c := range unread {
		r.signals.mailbox(c.Name).keep(&r.signals, received{c.Result, c.place})
	}
	var all history.Carried
	for _, name := range slices.Sorted(maps.Keys(r.signals.byName)) {
		for _, v := range r.signals.byName[name].values {
			all.Signals = append(all.Signals, history.CarriedSignal{Name: name, Value: v.value})
		}
	}
	seen := r.signals.seen.handedOn(r.journal.now, maxSeen)
	for _, key := range seen {
		name, id := splitSignalKey(key.id)
		all.Seen = append(all.Seen, [2]string{name, id})
	}
	all.SeenAt = stamps(seen, r.journal.now)
	for _, key := range r.updates.handedOn(r.journal.now, maxUpdates) {
		at, _ := r.updates.get(key.id)
		all.Updates = append(all.Updates, history.CarriedUpdate{ID: key.id, Run: at.run, Turn: at.turn, At: key.at / int64(time.Millisecond)})
	}
	if r.journal.cancellation.requested {
		all.Cancel = &history.CarriedCancel{Reason: r.journal.cancellation.reason}
	}
	if r.journal.paused != nil {
		all.Paused = &history.CarriedPause{By: r.journal.paused.By, Reason: r.journal.paused.Reason, At: r.journal.paused.At}
	}
	done := r.done.handedOn(r.journal.now, maxSeen)
	for _, key := range done {
		all.Asked = append(all.Asked, key.id)
	}
	all.AskedAt = stamps(done, r.journal.now)
	if all.Signals == nil && all.Seen == nil && all.Updates == nil && all.Cancel == nil && all.Paused == nil && all.Asked == nil {
		return nil
	}
	return &all
}

// inherit takes over what the previous run passed on.
func (r *Run) inherit(c *history.Carried) {
	if c == nil {
		return
	}
	for i, s := range c.Seen {
		r.signals.seen.add(signalKey(s[0], s[1]), stamped(c.SeenAt, i, len(c.Seen)))
	}
	for _, s := range c.Signals {
		r.signals.mailbox(s.Name).arrive(&r.signals, s.Value)
	}
	for _, u := range c.Updates {
		r.updates.put(u.ID, place{u.Run, u.Turn}, u.At*int64(time.Millisecond))
	}
	for i, id := range c.Asked {
		r.done.add(id, stamped(c.AskedAt, i, len(c.Asked)))
	}
	if p := c.Paused; p != nil {
		r.setPaused(&Pause{By: p.By, Reason: p.Reason, At: p.At})
	}
	if c.Cancel != nil {
		r.journal.cancellation.requested, r.journal.cancellation.untold, r.journal.cancellation.reason = true, true, c.Cancel.Reason
	}
}

// NextRunID returns the ID of the run that follows another one in its chain. Like all run
// IDs it is a UUID of version 7. It is greater than the previous ID, so that run IDs sort
// by creation time. Instead of random bits it has a hash of the previous ID.
func NextRunID(run string, now int64) string {
	ms := uint64(max(RunTimeAfter(run, now), 0)) / 1e6
	sum := fnv.New128a()
	_, _ = sum.Write([]byte(run)) // never fails
	return hashedRunID(ms, sum.Sum(nil))
}

// RunTimeAfter returns the time that makes a new run ID greater than an earlier one: now,
// or just after the time in that ID.
func RunTimeAfter(run string, now int64) int64 {
	if len(run) > 13 {
		if ms, err := strconv.ParseUint(run[:8]+run[9:13], 16, 64); err == nil && ms < 1<<43 {
			return max(now, int64(ms+1)*1e6)
		}
	}
	return now
}
