package core

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
