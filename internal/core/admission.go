package core

import (
	"math"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// Config.PerKey bounds how many runs of a key run at a time. A gate counts them, so the bound
// holds over all nodes and survives all of them: before its code begins, a run with a key asks
// the gate gates.Runs, as a call asks its gates, and it gives its ticket back with the turn that
// closes its chain. So a run counts from its beginning to its end, also while it sleeps or is
// paused, and a chain counts once: each run hands the ticket on to the next one, and the gate
// talks to the latest.
//
// A run that another run started does not count. Its parent counts, and may wait for it: if it
// waited in turn, neither would end. What a person has begun again, by a fork or by the reset of
// a run that had ended, does not count either.

// admission is the part of a run that asks to begin.
type admission struct {
	journal *journal
	gating  *gating

	ticket *history.Admission // nil for none; never modified
}

// Counts reports whether a run with this start event counts among those of its key.
func Counts(s *history.Start) bool {
	started := s.Parent != nil && s.Scheduled == nil
	return s.Key != "" && !started && s.Number <= 1 && s.Initiator != history.ForkOfRun
}

// admits reports whether the code of a run may begin, and asks for it if it has to. A run that a
// node without the bound looks after waits no longer.
func (a *admission) admits() bool {
	limit := a.journal.config.PerKey
	switch {
	case a.ticket == nil && (limit == 0 || !Counts(&a.journal.start)):
		return true
	case a.ticket == nil:
		a.ticket = &history.Admission{Run: a.journal.start.Run, Since: a.journal.now}
		m := a.toGate(GateEnter)
		m.Spec = &history.GateSpec{Name: gates.Runs, Mode: spec.Hold, Limit: math.MaxInt32, PerKey: spec.PerKey{Limit: limit}}
		m.Priority, m.RunKey, m.Weight = a.journal.start.Priority, a.journal.start.Key, a.journal.start.Weight
		a.journal.out.Gates = append(a.journal.out.Gates, m)
	case limit == 0 && !a.ticket.Held:
		a.leave()
		return true
	}
	return a.ticket.Held
}

// waits reports whether the run waits to be let in.
func (a *admission) waits() bool { return a.ticket != nil && !a.ticket.Held }

// hear handles a message from the gate.
func (a *admission) hear(in FromGate) {
	switch t := a.ticket; {
	case t == nil || t.Run != in.Ticket.Run:
		a.gating.decline(in)
	case in.Word == GateRefused: // a person gave the gate a breaker or a budget
		a.ticket = nil
	case in.Word != GateGranted || t.Held:
		a.journal.out.Dropped++
	default:
		a.ticket = &history.Admission{Run: t.Run, Since: a.journal.now, Held: true}
	}
}

// leave gives the ticket back.
func (a *admission) leave() {
	if a.ticket != nil {
		m := a.toGate(GateDone)
		m.Outcome = gates.Neutral
		a.journal.out.Gates = append(a.journal.out.Gates, m)
		a.ticket = nil
	}
}

func (a *admission) toGate(word GateWord) ToGate {
	return ToGate{Gate: gates.Runs, Word: word, Attempt: 1, Ticket: TicketKey{Workflow: a.journal.start.WorkflowID, Run: a.ticket.Run, Ticket: 1}}
}

// OfRun reports whether a ticket is that of a chain of runs and not of a call. Its latest run has it.
func (k TicketKey) OfRun() bool { return k.Call == 0 }
