package workflow

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// What ends a scope (its deadline, or a request to cancel the run) has its place in history.
// Code that was away sees it together with what came later. So the end is noted when history
// has it, and what comes later in the scope is kept as late until the code gives it up, as if
// it had been open then.

// ending is what ends a scope.
type ending struct {
	since   int64 // its place in the order of the run
	err     error
	abandon bool // it does not wait for running attempts to end
}

// ends notes what ends the scope, unless something did before.
func (s *scope) ends(e *ending) {
	if s.err == nil && s.coming == nil {
		s.coming = e
	}
}

// expireOverdue lets all endings take effect that came while the code was away, the inner
// ones first: had an outer one come before, the inner one would be late.
func (s *scope) expireOverdue(run *core.Run) {
	for x := s; x != nil; x = x.parent {
		if x.err == nil && x.coming != nil {
			x.end(run, x.coming.err, x.coming.abandon)
		}
	}
}

// keepIfLate keeps what came after an ending that the code has not seen.
func (s *scope) keepIfLate(p *pending) bool {
	for x := s; x != nil; x = x.parent {
		if x.err == nil && x.coming != nil {
			p.late = true
			x.late = append(x.late, p)
			return true
		}
	}
	return false
}

// giveUpLate gives up what came after the scope ended, as if it had been open then. If the
// scope waits for running attempts, what ended by itself is kept.
func (s *scope) giveUpLate(run *core.Run, abandon bool) {
	late := s.late
	s.late = nil
	for _, p := range late {
		p.late = false
		switch {
		case p.call.Kind == history.SignalAwaited:
			p.call.Since = s.coming.since
			run.Return(p.call)
		case abandon || p.call.Kind == history.TimerStarted:
			p.call.Since = s.coming.since
			attempt := 1
			if p.call.Retry != nil {
				attempt = p.call.Retry.TotalAttempts
			}
			p.refused = &retry.AbortedError{Name: p.label, Attempt: attempt, Phase: retry.PhaseExecution, Cause: s.err}
		}
		p.wake()
	}
}
