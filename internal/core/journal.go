package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// nextPlace returns the next place in the order of the run. See Run.Place.
func (j *journal) nextPlace() int64 {
	if j.codePlace != 0 {
		return j.codePlace
	}
	j.place++
	return j.place
}

// currentTurn returns the number of the turn in which the code runs.
func (j *journal) currentTurn() int64 {
	if j.out != nil {
		return j.turn + 1
	}
	return j.turn
}

// jitter returns the draw that jitters the delay after an attempt of a call.
func (j *journal) jitter(call int64, attempt int) float64 {
	return j.config.Draw(j.identity(call).Run, call, attempt)
}

// append adds an event to the turn being made.
func (j *journal) append(e history.Event) {
	j.out.Events = append(j.out.Events, e)
}

// send adds a message to the turn being made. A replay sends nothing.
func (j *journal) send(m Message) {
	if j.out != nil {
		j.out.Messages = append(j.out.Messages, m)
	}
}

// identity returns the identity under which the run made a call.
func (j *journal) identity(call int64) history.Identity {
	s := &j.start
	if s.Base != nil && call > 0 {
		for _, was := range s.Base.Was {
			if call < was.Before {
				return was
			}
		}
	}
	return identityOf(s)
}

// ofOtherChain reports whether a request is for another chain than this one, which had the
// workflow ID before or was meant to get it.
func (j *journal) ofOtherChain(chain string) bool { return chain != "" && chain != j.start.Chain }

// endsAfterCut reports whether a call ended in the run whose history this one continues,
// and its end has not taken effect yet. If the code gives the call up or the run ends
// first, that end comes too late, but the node that ran the attempts has counted the call.
func (j *journal) endsAfterCut(call int64) bool {
	return slices.ContainsFunc(j.afterCut, func(e history.Event) bool { return e.Call == call })
}
