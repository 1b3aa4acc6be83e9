package core

// Takes reports whether the run can take an input in the next step. A run that rejoins its
// history takes nothing before its code has rejoined; without code it can only be ended. An
// update needs code that can validate it, unless it is already on record. The end of an
// attempt from a queue waits for the message that the attempt was claimed.
func (r *Run) Takes(in Input) bool {
	if r.damaged {
		return endsDamaged(in)
	}
	switch in := in.(type) {
	case TakenOver:
		return true
	case AttemptEnded:
		return !r.Rejoins() && !(in.Outside && r.calls.unclaimed(in))
	case UpdateArrived:
		_, known := r.updates.get(in.ID)
		return !r.Rejoins() && (known || r.judgesUpdates())
	case Control:
		ends := in.Operation == TerminateTheRun || in.Operation == ResetTheRun && in.Cut != nil
		return !r.Rejoins() || r.journal.program == nil && ends && !r.done.has(in.ID)
	}
	return !r.Rejoins()
}

// take handles one input.
func (r *Run) take(in Input) {
	switch in := in.(type) {
	case AttemptEnded:
		r.attempts.attemptEnded(in)
	case Heartbeat:
		r.attempts.heartbeat(in)
	case Granted:
		r.attempts.granted(in)
	case OffProbation:
		r.attempts.offProbation(in)
	case Claimed:
		r.attempts.claimed(in)
	case WorkerGone:
		r.attempts.workerGone(in)
	case TakenOver:
		r.attempts.takenOver(in)
	case FromGate:
		r.attempts.fromGate(in)
	case SlotsOpen:
		r.attempts.askAgain()
	case UpdateArrived:
		r.update(in)
	case Control:
		switch {
		case r.attempts.asked.has(in.ID):
			r.journal.out.Dropped++
		case in.Operation.OfRun():
			r.controlRun(in)
		default:
			r.operations.carryOut(in)
		}
	case Told:
		r.calls.told(in)
	case FromChild:
		r.children.ended(in)
	}
}

// refuse drops an input of a closed run. It returns false if the next run of the chain may
// take the input.
func (r *Run) refuse(in Input) bool {
	switch in := in.(type) {
	case UpdateArrived:
		return false
	case Granted:
		r.journal.out.Dropped++
		r.journal.out.Unused = append(r.journal.out.Unused, in.Call)
	case FromGate:
		r.gating.decline(in)
	default:
		if r.journal.out.Next != nil {
			return false
		}
		r.journal.out.Dropped++
	}
	return true
}

// endsDamaged reports whether an input ends a damaged run, or is answered with the reason
// why it does not.
func endsDamaged(in Input) bool {
	c, is := in.(Control)
	return is && (c.Operation == TerminateTheRun || c.Operation == ResetTheRun && (c.Cut != nil || c.Fault != nil))
}
