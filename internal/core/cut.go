package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Cut is the history of a run before one of its calls, plus the later events that do not
// depend on that call. Another run can go on from it.
type Cut struct {
	Turns int64      // how many turns of the history are kept whole
	Last  StoredTurn // the turn after them: the kept part of the turn that made the call, and the later events

	// Damage says why the history after some turn cannot be read. It is nil if all of it
	// can.
	Damage error

	base         history.Base
	keys         []history.CallKey // of the activities and steps that begin again
	operationIDs []string          // IDs of operations that the run has carried out
	reset        *history.Start    // start event that Reset made from the cut

	keptCalls, remadeCalls, signals, results int
	kind                                     history.Kind // kind of the call
}

// String summarises what is kept.
func (c *Cut) String() string {
	text := fmt.Sprintf("%s before call %d kept, %s made again", counted(c.keptCalls, "call"), c.base.Call, counted(c.remadeCalls, "call"))
	if c.signals > 0 || c.results > 0 {
		text += fmt.Sprintf("; %s and %s of earlier calls that came later follow", counted(c.signals, "signal"), counted(c.results, "result"))
	}
	if c.Damage != nil {
		text += fmt.Sprintf("; what came later is lost: %v", c.Damage)
	}
	return text
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WithInput gives the call another input when it is made again.
func (c *Cut) WithInput(input history.Payload) error {
	if !takesInput(c.kind) {
		return fmt.Errorf("call %d is no call of an activity or a child (%s): it has no input of its own", c.base.Call, c.kind)
	}
	if c.base.Inputs == nil {
		c.base.Inputs = map[int64]history.Payload{}
	}
	c.base.Inputs[c.base.Call] = input
	return nil
}

// CutAt cuts the history of a run before a call. It returns an error that says why, if the
// run cannot be cut there.
func CutAt(start *history.Start, turns []StoredTurn, call int64) (*Cut, error) {
	at, event, last := findCall(turns, call)
	if at < 0 {
		if last == 0 {
			return nil, fmt.Errorf("the run has not made call %d, nor any other", call)
		}
		return nil, fmt.Errorf("the run has not made call %d; its last one is call %d", call, last)
	}
	t := &turns[at]
	c := &Cut{
		Turns: t.Number - 1, kind: t.Events[event].Kind, keptCalls: int(call - 1), remadeCalls: int(last - call + 1),
		base: history.Base{WorkflowID: start.WorkflowID, Run: start.Run, Call: call, Was: identitiesBelow(start, call)},
	}
	if start.Carried != nil {
		c.operationIDs = slices.Clone(start.Carried.Asked)
	}
	if b := start.Base; b != nil {
		c.base.Cuts = slices.DeleteFunc(slices.Clone(b.Cuts), func(cut history.Cut) bool { return cut.Turn >= t.Number })
		c.base.Keys = slices.DeleteFunc(slices.Clone(b.Keys), func(k history.CallKey) bool { return k.Call >= call })
		c.base.Inputs = maps.Clone(b.Inputs)
		maps.DeleteFunc(c.base.Inputs, func(n int64, _ history.Payload) bool { return n >= call })
	}
	c.base.Cuts = append(c.base.Cuts, history.Cut{Turn: t.Number, Events: event, Run: start.Author(t.Number - 1)})
	c.keys = keysFrom(start, turns, call)
	c.Last = StoredTurn{Number: t.Number, Time: t.Time, Events: slices.Clone(t.Events[:event])}
	return c, c.keepLater(turns, at, event)
}

// keysFrom returns the idempotency keys of the activities and steps that begin again if another
// run goes on from a call: of that call and the later ones, and of earlier ones in flight.
func keysFrom(start *history.Start, turns []StoredTurn, call int64) []history.CallKey {
	begun := map[int64]history.CallKey{}
	for i := range turns {
		for k := range turns[i].Events {
			switch e := &turns[i].Events[k]; e.Kind {
			case history.ActivityScheduled, history.StepScheduled:
				begun[e.Call] = history.CallKey{Call: e.Call, Name: e.Name, Run: keyRun(start, e.Call, e.Name)}
			case history.CallCompleted, history.CallFailed, history.CallCanceled:
				if e.Call < call {
					delete(begun, e.Call)
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(begun), func(a, b history.CallKey) int { return cmp.Compare(a.Call, b.Call) })
}

// MostKeys is how many calls can keep their idempotency keys: the start of the next run names
// them.
const MostKeys = 1000

// WithKeys lets the calls that are made again keep their idempotency keys.
func (c *Cut) WithKeys() error {
	if n := len(c.keys); n > MostKeys {
		return fmt.Errorf("%d calls would keep their idempotency keys, and %d can: go on from a later call, or without keeping keys", n, MostKeys)
	}
	c.base.KeepKeys, c.base.Keys = true, c.keys
	return nil
}

// findCall returns where a call was made, turn -1 if it was not, and the number of the last
// call.
func findCall(turns []StoredTurn, call int64) (turn, event int, last int64) {
	turn = -1
	for i := range turns {
		for k := range turns[i].Events {
			e := &turns[i].Events[k]
			if !beginsCall(e.Kind) {
				continue
			}
			if last = max(last, e.Call); e.Call == call && turn < 0 {
				turn, event = i, k
			}
		}
	}
	return turn, event, last
}

// LastCall returns the number of the last call in turns, 0 if there is none.
func LastCall(turns []StoredTurn) int64 {
	_, _, last := findCall(turns, 0)
	return last
}

// beginsCall reports whether a command of this kind has a number of its own.
func beginsCall(k history.Kind) bool {
	switch k {
	case history.SideEffectRecorded, history.VersionMarked, history.BlockStarted, history.CallRefused, history.SignalSent:
		return true
	}
	return waits(k)
}

// identitiesBelow returns the identities under which the code made the calls below a
// number.
func identitiesBelow(start *history.Start, call int64) (all []history.Identity) {
	own := identityOf(start)
	if start.Base != nil {
		for _, was := range start.Base.Was {
			if was.Before >= call {
				own = was
				break
			}
			all = append(all, was)
		}
	}
	own.Before = call
	return append(all, own)
}

// openAtCut is a call that was made before the cut and is open at it.
type openAtCut struct {
	scheduled *history.Event
	canceled  bool // the code has asked to cancel it before the cut
	started   *history.Event
}

// keepLater adds to the last turn what came after the cut and is kept: signals, and the
// outcomes of calls made before it. It drops what the code did later. Of operations it
// keeps only the IDs.
func (c *Cut) keepLater(turns []StoredTurn, at, event int) error {
	open := map[int64]*openAtCut{}
	for i := range turns[:at] {
		c.keepBefore(open, turns[i].Events)
	}
	c.keepBefore(open, turns[at].Events[:event])
	var ended int64
	for i := at; i < len(turns); i++ {
		events := turns[i].Events
		if i == at {
			events = events[event:]
		}
		for k := range events {
			c.keepAfter(open, &events[k])
		}
		ended = turns[i].Time
	}
	for _, n := range slices.Sorted(maps.Keys(open)) {
		k := open[n]
		switch {
		case k.scheduled.Child != nil:
			return fmt.Errorf("call %d, before it, has started run %s of workflow %q and still waits for it: wait until it has, or go back to call %d or an earlier one", n, k.scheduled.Child.Run, k.scheduled.ID, n)
		case k.canceled:
			c.Last.Events = append(c.Last.Events, history.Event{
				Kind: history.CallCanceled, Call: n, Ended: ended, Reason: string(retry.ReasonCanceled),
				Failure: history.Aborted(k.scheduled.Name, 1, retry.PhaseExecution, nil),
			})
		}
	}
	return nil
}

// keepBefore notes the calls that are open after events that are kept whole.
func (c *Cut) keepBefore(open map[int64]*openAtCut, events []history.Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case history.ActivityScheduled, history.StepScheduled, history.TimerStarted, history.ChildScheduled, history.DetachedScheduled:
			open[e.Call] = &openAtCut{scheduled: e}
		case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled:
			delete(open, e.Call)
		case history.CallCancelRequested:
			if k := open[e.Call]; k != nil && e.Closed {
				delete(open, e.Call)
			} else if k != nil {
				k.canceled = true
			}
		case history.RunControlled:
			c.operationIDs = append(c.operationIDs, e.ID)
		}
	}
}

// keepAfter handles an event after the cut: it keeps the event or drops it.
func (c *Cut) keepAfter(open map[int64]*openAtCut, e *history.Event) {
	k := open[e.Call]
	switch e.Kind {
	case history.RunControlled:
		c.operationIDs = append(c.operationIDs, e.ID)
	case history.SignalReceived:
		c.signals++
		c.Last.Events = append(c.Last.Events, *e)
	case history.AttemptStarted:
		if k != nil {
			k.started = e
		}
	case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired:
		unwanted := e.Kind == history.CallCanceled && k != nil && k.scheduled.Child == nil && !k.canceled
		if k == nil || unwanted {
			return // the code made the call, or gave it up, after the cut
		}
		if k.started != nil {
			c.Last.Events = append(c.Last.Events, *k.started)
		}
		c.results++
		c.Last.Events = append(c.Last.Events, *e)
		delete(open, e.Call)
	}
}

// Reset returns the start event of the next run of a chain, which continues from a call.
// The times of the run and the chain start over, because an operator wants the run to go
// on.
func (c *Cut) Reset(source *history.Start, run string, now int64, in Control) *history.Start {
	s := c.begin(source, run, now, in)
	s.Initiator, s.Previous, s.Number = history.ResetOfRun, source.Run, max(source.Number, 1)+1
	s.First = source.Origin()
	carried := history.Carried{}
	if source.Carried != nil {
		carried = *source.Carried
		carried.Admission = nil // resetRun hands on that of an open run
	}
	carried.Asked = slices.Clone(c.operationIDs)
	if in.ID != "" && !slices.Contains(carried.Asked, in.ID) {
		carried.Asked = append(carried.Asked, in.ID)
	}
	s.Carried = &carried
	return s
}

// Fork returns the start event of the first run of a new chain, which continues from a call
// of another run. The new run has no parent, and does not inherit the IDs of operations and
// updates of the other run.
func (c *Cut) Fork(source *history.Start, workflowID, run string, now int64, in Control) *history.Start {
	s := c.begin(source, run, now, in)
	s.WorkflowID, s.Chain, s.First = workflowID, run, nil
	s.Initiator, s.Previous, s.Number, s.After, s.Parent = history.ForkOfRun, "", 0, "", nil
	if !s.Base.KeepKeys {
		s.Base.Keys = nil
	}
	if source.Carried != nil {
		carried := *source.Carried
		carried.Asked, carried.Updates, carried.Admission = nil, nil, nil
		s.Carried = &carried
	}
	return s
}

// begin returns the part that Reset and Fork have in common.
func (c *Cut) begin(source *history.Start, run string, now int64, in Control) *history.Start {
	s := *source
	s.Run, s.Attempt, s.Created = run, 1, now
	s.FirstTurn, s.Failure, s.Backoff, s.FirstAttempt, s.Deadline = 0, nil, 0, 0, 0
	if s.ChainDeadline = 0; s.ChainTimeout > 0 {
		s.ChainDeadline = addTime(now, s.ChainTimeout)
	}
	base := c.base
	base.Request, base.By, base.Reason = in.ID, in.By, in.Reason
	base.Inputs = maps.Clone(base.Inputs)
	s.Base = &base
	return &s
}
