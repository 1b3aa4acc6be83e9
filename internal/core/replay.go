package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// Load replays turns and applies the rows and the state of a run. It must be the first call
// on a Run that has history. It returns a *Mismatch if the code differs from the history,
// or the program's error if the code panicked.
func (r *Run) Load(turns []StoredTurn, rows []Row, state State) error {
	if err := r.replayAll(turns); err != nil {
		return err
	}
	for _, row := range rows {
		c, ok := r.calls.byNumber[row.Call]
		if !ok && r.calls.hasBlockRow(row.Call) {
			continue
		}
		if !ok {
			return history.Damaged(fmt.Sprintf("the row of call %d", row.Call), errors.New("no call of its number is open in history"))
		}
		if err := r.calls.restore(c, row); err != nil {
			return err
		}
	}
	r.loadRow(state, r.journal.program != nil)
	for _, c := range r.calls.sorted() {
		if c.state == Queued {
			r.attempts.ready = append(r.attempts.ready, c)
		}
	}
	return nil
}

// LoadDamaged is Load for a run whose record can be read only in part. turns are those
// before the damage, and last is the number of the last turn on record. Such a run takes
// only inputs that end it. Nothing falls due and no attempt starts, because what follows
// the damage may have closed any call.
func (r *Run) LoadDamaged(turns []StoredTurn, last int64, rows []Row, state State) error {
	r.damaged = true
	if err := r.replayAll(turns); err != nil {
		return err
	}
	r.journal.turn = max(r.journal.turn, last)
	for _, row := range rows {
		if c, open := r.calls.byNumber[row.Call]; !open || r.calls.restore(c, row) != nil {
			r.strays = append(r.strays, row.Call)
		}
	}
	r.loadRow(state, false)
	return nil
}

// loadRow takes over what only the row of the run holds.
func (r *Run) loadRow(state State, withCode bool) {
	r.row.load(state, withCode)
	r.admission.ticket = cmp.Or(r.row.admission, r.admission.ticket)
}

// replayAll brings the machine and its code to the end of the record.
func (r *Run) replayAll(turns []StoredTurn) error {
	for i := range turns {
		if want := r.journal.turn + int64(i) + 1; turns[i].Number != want {
			return history.DamagedTurn(want, history.ErrMissing)
		}
		if late := slices.IndexFunc(cutOff(r.journal.start.Base, turns[i:i+1]), isCommand); late >= 0 {
			return &Mismatch{Turn: turns[i].Number, Expected: &cutOff(r.journal.start.Base, turns[i:i+1])[late]} // the code issues no command after the cut
		}
	}
	for len(turns) > 0 {
		stretch := stretch(r.journal.start.Base, turns)
		turns = turns[len(stretch):]
		if len(turns) == 0 && isCut(r.journal.start.Base, stretch) {
			return r.stopAtCut(stretch)
		}
		if err := r.replay(stretch); err != nil {
			return err
		}
	}
	return nil
}

// stretch returns the turns that one advance of the code spans: one turn, or, if that is
// cut, also the turn that continues it.
func stretch(b *history.Base, turns []StoredTurn) []StoredTurn {
	n := 1
	for n < len(turns) && isCut(b, turns[:n]) && goesOn(&turns[n]) {
		n++
	}
	return turns[:n]
}

// replay replays one stretch of the record.
func (r *Run) replay(turns []StoredTurn) error {
	defer func() {
		for i := range turns {
			r.length += len(turns[i].Events)
		}
	}()
	r.journal.afterCut = cutOff(r.journal.start.Base, turns)
	deferred := r.enterTurn(&turns[0])
	if r.journal.program == nil || deferred || r.ended || isCut(r.journal.start.Base, turns) && r.rejoining.out == nil {
		r.applyCommands()
		for i := range turns[1:] {
			r.enterTurn(&turns[i+1])
			r.applyCommands()
		}
		if r.journal.program == nil && !deferred {
			r.journal.mustAdvance, r.journal.cancellation.untold = false, false
			r.signals.unread = nil
		}
		r.applyAfterCut()
		return nil
	}
	r.rejoining.rest = turns[1:]
	r.replaying = true
	err := r.advance()
	if err == nil && r.OnRecord() && r.position < len(r.expected) {
		err = &Mismatch{Turn: r.journal.turn, Command: r.position + 1, Expected: &r.expected[r.position]}
	}
	r.replaying = false
	if err == nil {
		r.applyAfterCut()
	}
	return err
}

func (r *Run) advance() error {
	r.journal.codePlace = r.Place()
	defer func() { r.journal.codePlace = 0 }()
	if r.journal.cancellation.untold {
		r.journal.cancellation.untold, r.journal.cancellation.fresh = false, false
		r.journal.program.Canceled(r.journal.cancellation.reason)
	}
	if r.mismatch != nil {
		return r.mismatch // the first difference; perhaps there is no handler for an update
	}
	if r.journal.config.Progress != nil {
		r.journal.config.Progress()
	}
	err := r.journal.program.Advance()
	r.journal.mustAdvance, r.codeRan = false, true
	r.signals.unread = nil
	if r.mismatch != nil {
		return r.mismatch
	}
	return err
}

// applyAfterCut applies the later events of a stretch. The node that ran the attempts has
// already counted the calls that these events close.
func (r *Run) applyAfterCut() {
	if r.ended {
		return
	}
	later := r.journal.afterCut
	r.journal.afterCut = nil
	tallies := 0
	if r.journal.out != nil {
		tallies = len(r.journal.out.Tallies)
	}
	for i := range later {
		if r.ended {
			return
		}
		r.apply(&later[i])
	}
	r.dropForeignCounts()
	if r.journal.out != nil {
		r.journal.out.Tallies = r.journal.out.Tallies[:tallies]
	}
}

// cutOff returns the events after the cuts in these turns.
func cutOff(b *history.Base, turns []StoredTurn) (events []history.Event) {
	for i := range turns {
		if n, cut := b.CutOf(turns[i].Number); cut {
			events = append(events, turns[i].Events[min(n, len(turns[i].Events)):]...)
		}
	}
	return events
}

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
	inputs := events
	if i := slices.IndexFunc(events, isCommand); i >= 0 {
		inputs = events[:i]
	}
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

// A run that was reset or forked begins with the history of another run, up to the middle
// of a turn: the point where the code made the call that is made again. The code reaches
// that point by replay and continues live, in the next turn. What the other run received
// later and is kept takes effect after that turn.

// rejoining is the state of such a run on its way.
type rejoining struct {
	turns []StoredTurn // turns to replay before going live; nil if done or not needed
	at    int64        // time of the turn before them
	rest  []StoredTurn // turns that continue the cut turn being replayed
	out   *Turn        // turn in which the code goes live
}

// stopAtCut ends a replay at the point where the run goes live. The code gets there in a
// step, because only a step lets it issue commands beyond the record.
func (r *Run) stopAtCut(turns []StoredTurn) (err error) {
	at := r.journal.now
	if r.journal.program == nil {
		err = r.replay(turns)
	}
	r.resetCopiedCalls()
	r.rejoining.turns, r.rejoining.at = turns, at
	return err
}

// rejoin runs the code to the cut and beyond.
func (r *Run) rejoin() error {
	if r.journal.program == nil {
		return nil
	}
	turns := r.rejoining.turns
	r.rejoining.turns, r.rejoining.out, r.journal.out = nil, r.journal.out, nil
	r.journal.now = r.rejoining.at
	if err := r.replay(turns); err != nil || r.ended {
		return err
	}
	r.restartCopiedCalls()
	if len(r.calls.byNumber) == 0 && !r.updatable && !r.journal.mustAdvance {
		return ErrDeadlock
	}
	r.journal.out.Again = r.journal.mustAdvance
	return nil
}

// restartCopiedCalls starts these calls again.
func (r *Run) restartCopiedCalls() {
	for _, c := range r.calls.sorted() {
		if c.backoffOf != nil {
			r.calls.touch(c)
		}
		if c.attempted() && c.Number < r.journal.start.Base.Call {
			c.Progress = Progress{attempt: 1, First: r.journal.now, AtGates: make([]atGate, len(c.Gates)), renewed: true}
			r.attempts.wantSlot(c)
		}
	}
}

// applyToCut applies the history of a run that ends before it rejoined.
func (r *Run) applyToCut() {
	if turns := r.rejoining.turns; turns != nil && r.journal.program != nil {
		out := r.journal.out
		r.journal.program, r.journal.out = nil, nil
		_ = r.replay(turns) // without code there is no mismatch
		r.journal.out = out
	}
}
