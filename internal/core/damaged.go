package core

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
	r.row.load(state, false)
	return nil
}

// Damaged reports whether only a part of the run's record could be read.
func (r *Run) Damaged() bool { return r.damaged }

// endsDamaged reports whether an input ends a damaged run, or is answered with the reason
// why it does not.
func endsDamaged(in Input) bool {
	c, is := in.(Control)
	return is && (c.Operation == TerminateTheRun || c.Operation == ResetTheRun && (c.Cut != nil || c.Fault != nil))
}

// stepDamaged is Step for a damaged run.
func (r *Run) stepDamaged(inputs []Input) {
	for i, in := range inputs {
		in, _ := moment(in)
		switch in.(type) {
		case nil, More:
			continue
		}
		switch {
		case r.ended && !r.refuse(in), !r.ended && !r.Takes(in):
			r.journal.out.Deferred = append(r.journal.out.Deferred, i)
		case !r.ended:
			r.take(in)
		}
	}
	if r.ended {
		r.endCalls()
		r.journal.out.Closed = append(r.journal.out.Closed, r.strays...)
	}
}
