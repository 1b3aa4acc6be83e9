package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// advance runs the code until it waits or ends, once it knows of a request to cancel the run.
func (k *code) advance() error {
	k.journal.codePlace = k.journal.nextPlace()
	defer func() { k.journal.codePlace = 0 }()
	if k.journal.cancellation.untold {
		k.journal.cancellation.untold, k.journal.cancellation.fresh = false, false
		k.journal.program.Canceled(k.journal.cancellation.reason)
	}
	if k.journal.mismatch != nil {
		return k.journal.mismatch // the first difference; perhaps there is no handler for an update
	}
	if k.journal.config.Progress != nil {
		k.journal.config.Progress()
	}
	err := k.journal.program.Advance()
	k.journal.mustAdvance, k.ran = false, true
	k.signals.unread = nil
	if k.journal.mismatch != nil {
		return k.journal.mismatch
	}
	return err
}

// begin issues a command that begins the next call and returns the call.
func (k *code) begin(e history.Event) *Call {
	e.Call = k.calls.lastCall + 1
	k.limitPending(&e)
	k.command(e)
	return k.calls.opened
}

// command records and applies a command. In a replay it compares the command with the
// recorded one and applies that.
func (k *code) command(e history.Event) {
	k.exchangeInput(&e)
	if !k.onRecord() {
		k.facts.emit(e)
		return
	}
	if k.position >= len(k.expected) || !same(&k.expected[k.position], &e) {
		actual := e // a copy, so that e does not escape in the usual case
		k.stop(k.next(), &actual)
	}
	recorded := &k.expected[k.position]
	k.position++
	k.facts.apply(recorded)
}

// limitPending replaces a command that begins a call with a refusal, if the run has
// MaxPending calls open. Replay takes the refusal from the record, so the limit may change
// at any time.
func (k *code) limitPending(e *history.Event) {
	limit := k.journal.config.MaxPending
	replayed := k.onRecord()
	switch {
	case !waits(e.Kind):
		return
	case replayed && (k.next() == nil || k.next().Kind != history.CallRefused):
		return
	case !replayed && (limit <= 0 || len(k.calls.byNumber) < limit):
		return
	}
	refusal := history.Event{Kind: history.CallRefused, Call: e.Call, Name: e.Name, Note: string(e.Kind), Block: e.Block}
	if replayed && !same(k.next(), &refusal) {
		return
	}
	if !replayed {
		refusal.Failure = history.FromError(retry.Terminal(&history.LimitError{
			What: "pending calls", Limit: limit, Hint: "wait for some before it begins more, as workflow.Map does with a limit, or raise perdure.MaxPendingCalls " + see.Limits,
		}))
	}
	*e = refusal
}

// waits reports whether a command of this kind begins a call that stays open.
func waits(k history.Kind) bool {
	switch k {
	case history.ActivityScheduled, history.StepScheduled, history.TimerStarted, history.SignalAwaited,
		history.ChildScheduled, history.DetachedScheduled:
		return true
	}
	return false
}

// exchangeInput replaces the input of a call if the request for the reset gave another one.
func (k *code) exchangeInput(e *history.Event) {
	if k.journal.start.Base == nil || !takesInput(e.Kind) {
		return
	}
	if input, other := k.journal.start.Base.Inputs[e.Call]; other {
		e.Input = input
	}
}

// takesInput reports whether a call that this command begins has an input that the run
// passes on.
func takesInput(k history.Kind) bool {
	return k == history.ActivityScheduled || k == history.ChildScheduled || k == history.DetachedScheduled
}

// onRecord implements Run.OnRecord.
func (k *code) onRecord() bool {
	for k.replaying && k.position == len(k.expected) && k.journal.start.Base != nil {
		if _, cut := k.journal.start.Base.CutOf(k.journal.turn); !cut {
			break
		}
		k.calls.dropForeignTries()
		if rest := k.rejoining.rest; len(rest) > 0 {
			k.rejoining.rest = rest[1:]
			k.enterTurn(&rest[0])
			continue
		}
		k.goLive()
	}
	return k.replaying
}

// goLive ends a replay in the middle of a turn. The commands from here on are the first
// turn of the run itself.
func (k *code) goLive() {
	k.replaying, k.expected, k.position = false, nil, 0
	k.journal.out, k.rejoining.out = k.rejoining.out, nil
	k.journal.now = max(k.journal.now, k.journal.out.Time)
	k.journal.append(history.Event{Kind: history.CodeAdvanced})
	k.facts.pinBegin()
	k.dropForeignCounts()
	k.resetCopiedCalls()
}

// next returns the recorded command that the code has to issue now, or nil.
func (k *code) next() *history.Event {
	if !k.onRecord() || k.position >= len(k.expected) {
		return nil
	}
	return &k.expected[k.position]
}

// stop stops the code because its command differs from the record.
func (k *code) stop(expected, actual *history.Event) {
	k.journal.mismatch = &Mismatch{Turn: k.journal.currentTurn(), Command: k.position + 1, Expected: expected, Actual: actual}
	if !k.replaying {
		k.journal.mismatch.Command = 1
		for i := range k.journal.out.Events {
			if k.journal.out.Events[i].Kind.Command() {
				k.journal.mismatch.Command++
			}
		}
	}
	k.journal.program.Halt()
}

// enterTurn applies the inputs of a recorded turn and expects its commands from then on. It
// reports whether the turn says that its code was deferred.
func (k *code) enterTurn(t *StoredTurn) (deferred bool) {
	k.journal.turn, k.journal.epoch = t.Number, t.Epoch
	k.journal.now = max(k.journal.now, t.Time)
	k.dropForeignCounts()
	events := t.Events
	if n, cut := k.journal.start.Base.CutOf(t.Number); cut {
		events = events[:min(n, len(events))]
	}
	if k.journal.codePlace != 0 { // the code spans this turn, too
		k.journal.codePlace = 0
		defer func() { k.journal.codePlace = k.journal.nextPlace() }()
	}
	inputs := events
	if i := slices.IndexFunc(events, isCommand); i >= 0 {
		inputs = events[:i]
	}
	k.expected, k.position = events[len(inputs):], 0
	for i := range inputs {
		if inputs[i].Kind == history.CodeDeferred {
			deferred = true
			continue
		}
		k.facts.apply(&inputs[i])
	}
	return deferred
}

func isCommand(e history.Event) bool { return e.Kind.Command() }

// applyCommands applies the commands of the current turn without running the code.
func (k *code) applyCommands() {
	for i := range k.expected {
		k.facts.apply(&k.expected[i])
	}
}

// dropForeignCounts forgets the counts of calls that were made in another run, which counts
// them.
func (k *code) dropForeignCounts() {
	if k.journal.turn <= k.journal.start.Base.LastCut()+1 {
		k.ledger.uncounted = uncounted{}
	}
}

// resetCopiedCalls resets the state of calls that were made in another run: their attempts do
// not belong to this run.
func (k *code) resetCopiedCalls() {
	for _, c := range k.calls.byNumber {
		if c.attempted() {
			k.calls.setState(c, "")
		}
	}
}

// A request to cancel the run has its place in history, and what ends after it ends canceled.
// Code that is there gives up its calls itself, in the same step. While it is away (missing,
// parked, paused), the machine does for it what cannot wait: no further attempt starts, those
// in flight are asked to end, and awaited children are asked to cancel. Timers and waits for
// signals stay as they are: the code gives them up when it is back, whatever came meanwhile.

// cancelOpen does for code that is away what a request to cancel the run asks for.
func (k *code) cancelOpen() {
	if !k.journal.cancellation.untold {
		return
	}
	for _, c := range k.calls.sorted() {
		switch {
		case c.Shielded || c.cancelRequested:
		case c.attempted() && c.state != Dispatched && c.state != Remote:
			k.attempts.closeWaiting(c, k.journal.now)
		case !k.journal.cancellation.fresh: // the turn that took the request has asked them
		case c.attempted():
			k.attempts.interrupt(c, false)
		case c.awaitsRun():
			k.facts.children().cancel(c)
		}
	}
	k.journal.cancellation.fresh = false
}
