package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// OnRecord reports whether the record holds the command that the code issues now. Code that
// reaches the end of a cut turn continues with the next turn, or goes live.
func (r *Run) OnRecord() bool {
	for r.replaying && r.position == len(r.expected) && r.journal.start.Base != nil {
		if _, cut := r.journal.start.Base.CutOf(r.journal.turn); !cut {
			break
		}
		r.calls.dropForeignTries()
		if rest := r.rejoining.rest; len(rest) > 0 {
			r.rejoining.rest = rest[1:]
			r.enterTurn(&rest[0])
			continue
		}
		r.goLive()
	}
	return r.replaying
}

// Replaying reports whether the code repeats recorded commands.
func (r *Run) Replaying() bool { return r.replaying }

// goLive ends a replay in the middle of a turn. The commands from here on are the first
// turn of the run itself.
func (r *Run) goLive() {
	r.replaying, r.expected, r.position = false, nil, 0
	r.journal.out, r.rejoining.out = r.rejoining.out, nil
	r.journal.now = max(r.journal.now, r.journal.out.Time)
	r.journal.append(history.Event{Kind: history.CodeAdvanced})
	r.pinBegin()
	r.dropForeignCounts()
	r.resetCopiedCalls()
}

// nextRecorded returns the recorded command that the code has to issue now, or nil.
func (r *Run) nextRecorded() *history.Event {
	if !r.OnRecord() || r.position >= len(r.expected) {
		return nil
	}
	return &r.expected[r.position]
}

// stopMismatched stops the code because its command differs from the record.
func (r *Run) stopMismatched(expected, actual *history.Event) {
	r.mismatch = &Mismatch{Turn: r.journal.currentTurn(), Command: r.position + 1, Expected: expected, Actual: actual}
	if !r.replaying {
		r.mismatch.Command = 1
		for i := range r.journal.out.Events {
			if r.journal.out.Events[i].Kind.Command() {
				r.mismatch.Command++
			}
		}
	}
	r.journal.program.Halt()
}

// enterTurn applies the inputs of a recorded turn and expects its commands from then on. It
// reports whether the turn says that its code was deferred.
func (r *Run) enterTurn(t *StoredTurn) (deferred bool) {
	r.journal.turn, r.journal.epoch = t.Number, t.Epoch
	r.journal.now = max(r.journal.now, t.Time)
	r.dropForeignCounts()
	events := t.Events
	if n, cut := r.journal.start.Base.CutOf(t.Number); cut {
		events = events[:min(n, len(events))]
	}
	if r.journal.codePlace != 0 { // the code spans this turn, too
		r.journal.codePlace = 0
		defer func() { r.journal.codePlace = r.Place() }()
	}
	inputs := upToCommand(events)
	r.expected, r.position = events[len(inputs):], 0
	for i := range inputs {
		if inputs[i].Kind == history.CodeDeferred {
			deferred = true
			continue
		}
		r.apply(&inputs[i])
	}
	return deferred
}

// upToCommand returns the inputs with which a turn begins.
func upToCommand(events []history.Event) []history.Event {
	if i := slices.IndexFunc(events, isCommand); i >= 0 {
		return events[:i]
	}
	return events
}

func isCommand(e history.Event) bool { return e.Kind.Command() }

// applyCommands applies the commands of the current turn without running the code.
func (r *Run) applyCommands() {
	for i := range r.expected {
		r.apply(&r.expected[i])
	}
}

// dropForeignCounts forgets the counts of calls that were made in another run, which counts
// them.
func (r *Run) dropForeignCounts() {
	if r.journal.turn <= r.journal.start.Base.LastCut()+1 {
		r.ledger.uncounted = uncounted{}
	}
}

// resetCopiedCalls resets the state of calls that were made in another run: their attempts do
// not belong to this run.
func (r *Run) resetCopiedCalls() {
	for _, c := range r.calls.byNumber {
		if c.attempted() {
			r.calls.setState(c, "")
		}
	}
}

// pinBegin pins the run to the build with which its code begins, if configured.
func (r *Run) pinBegin() {
	if r.journal.config.Build != "" && r.row.pin == "" {
		r.emit(history.Event{Kind: history.RunPinned, Name: r.journal.config.Build})
	}
}

// isCut reports whether the last of the turns ends in the middle of its code.
func isCut(b *history.Base, turns []StoredTurn) bool {
	_, cut := b.CutOf(turns[len(turns)-1].Number)
	return cut
}

// goesOn reports whether a turn after a cut one continues it. It does not if the run ended
// before its code went on.
func goesOn(t *StoredTurn) bool {
	return len(t.Events) > 0 && t.Events[0].Kind == history.CodeAdvanced
}
