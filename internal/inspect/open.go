package inspect

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// leftOpen is what the turns read so far leave open.
type leftOpen struct {
	calls     map[int64]openEvent // by number: the event that began the call
	blocks    map[int64]openEvent // retried blocks of code, open or not
	edited    map[int64]*retry.Policy
	delivered map[string]int // signals by name, including received ones
	updates   []view.Update  // without a result, oldest first
}

// openEvent is an event with the time and the epoch of its turn.
type openEvent struct {
	*history.Event
	time  int64
	epoch int64
}

func (e openEvent) at() time.Time { return at(e.time) }

// with returns the event with another policy; nil keeps its own.
func (e openEvent) with(p *retry.Policy) openEvent {
	if p != nil {
		edited := *e.Event
		edited.Policy, e.Event = p, &edited
	}
	return e
}

func newLeftOpen() leftOpen {
	return leftOpen{calls: map[int64]openEvent{}, blocks: map[int64]openEvent{}, edited: map[int64]*retry.Policy{}, delivered: map[string]int{}}
}

// add processes an event of a turn.
func (o *leftOpen) add(t *core.StoredTurn, ev *history.Event) {
	if _, begins := callKinds[ev.Kind]; begins {
		o.calls[ev.Call] = openEvent{ev, t.Time, t.Epoch}
		return
	}
	switch ev.Kind {
	case history.BlockStarted:
		o.blocks[ev.Call] = openEvent{ev, t.Time, t.Epoch}
	case history.CallControlled:
		if ev.Policy != nil {
			o.edited[ev.Call] = ev.Policy
		}
	case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled:
		delete(o.calls, ev.Call)
	case history.CallCancelRequested:
		if ev.Closed {
			delete(o.calls, ev.Call)
		}
	case history.SignalReceived:
		o.delivered[ev.Name]++
	case history.UpdateAccepted:
		o.updates = append(o.updates, view.Update{ID: ev.ID, Name: ev.Name, Accepted: at(t.Time)})
	case history.UpdateCompleted:
		o.updates = slices.DeleteFunc(o.updates, func(u view.Update) bool { return u.ID == ev.ID })
	}
}
