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
		return !r.Rejoins() && !(in.Outside && r.calls.awaitsClaim(in))
	case UpdateArrived:
		_, known := r.updates.get(in.ID)
		return !r.Rejoins() && (known || r.canValidateUpdates())
	case Control:
		ends := in.Operation == TerminateTheRun || in.Operation == ResetTheRun && in.Cut != nil
		return !r.Rejoins() || r.journal.program == nil && ends && !r.chainOperationIDs.has(in.ID)
	}
	return !r.Rejoins()
}

// handle handles one input.
func (r *Run) handle(in Input) {
	switch in := in.(type) {
	case AttemptEnded:
		r.attempts.end(in)
	case Heartbeat:
		r.attempts.beat(in)
	case Granted:
		r.attempts.reserve(in)
	case OffProbation:
		r.attempts.leaveProbation(in)
	case Claimed:
		r.attempts.claim(in)
	case WorkerGone:
		r.attempts.loseWorker(in)
	case TakenOver:
		r.attempts.takeOver(in)
	case FromGate:
		if in.Ticket.OfRun() {
			r.admission.hear(in)
		} else {
			r.attempts.handleGate(in)
		}
	case SlotsOpen:
		r.attempts.askSlotsAgain()
	case UpdateArrived:
		r.handleUpdate(in)
	case Control:
		switch {
		case r.attempts.operationIDs.has(in.ID):
			r.journal.out.Dropped++
		case in.Operation.OfRun():
			r.controlRun(in)
		default:
			r.operations().apply(in)
		}
	case Told:
		r.calls.markTold(in)
	case FromChild:
		r.children().close(in)
	}
}

// refuseInput drops an input of a closed run. It returns false if the next run of the chain may
// take the input.
func (r *Run) refuseInput(in Input) bool {
	switch in := in.(type) {
	case UpdateArrived:
		return false
	case Granted:
		r.journal.out.Dropped++
		r.journal.out.Unused = append(r.journal.out.Unused, in.Call)
	case FromGate:
		if in.Ticket.OfRun() && r.journal.out.Next != nil {
			return false
		}
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
