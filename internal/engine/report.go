package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/retry"
)

// logged returns a run as log records name it.
func logged(start history.Start) logs.Run {
	return logs.Run{WorkflowID: start.WorkflowID, ID: start.Run, Workflow: start.Type}
}

// warnNear warns in a turn in which a run comes close to a limit: its length, once, or its unread
// signals, each time.
func (r *activeRun) warnNear(limit, before, now int, warn func(of logs.Run, now, limit int)) {
	if mark := inspect.Near(limit); now >= mark && before < mark {
		warn(logged(r.run.Start()), now, limit)
	}
}

// report logs the failures of a durable turn, and returns how many attempts were lost.
func (r *activeRun) report(out *core.Turn) (lost int) {
	for i := range out.Attempts {
		a := &out.Attempts[i]
		switch a.Outcome {
		case core.Lost:
			lost++
			r.reportAttempt(out, a)
		case core.Failed, core.TimedOut, core.RefusedByGate, core.Unknown:
			r.reportAttempt(out, a)
		}
	}
	if out.Ended && out.State != nil && out.State.Status == core.StatusFailed {
		if d, err := core.DecodeDetail(out.State.Detail); err == nil && d.Failure != nil {
			r.engine.log.RunFailed(logged(r.run.Start()), d.Failure.TypeName(), d.Failure.Message)
		}
	}
	return lost
}

// reportAttempt logs a failed attempt according to what follows from it.
func (r *activeRun) reportAttempt(out *core.Turn, a *core.Record) {
	e := r.engine
	tell := e.log.CallGaveUp
	switch {
	case a.Name != core.BlockName && retriesBlock(out):
		tell = e.log.AttemptFailed // what matters is how the block stands
	case retry.Reason(a.Reason).Retries():
		tell = e.retried(a)
	}
	for i := range out.Rows {
		if out.Rows[i].Call != a.Call {
			continue
		}
		switch out.Rows[i].State {
		case core.Paused:
			tell = e.log.CallPaused
		case core.Quarantined:
			tell = e.log.CallQuarantined
		case core.InDoubt:
			tell = e.log.CallInDoubt
		default: // the call continues
			if tell = e.retried(a); a.Reason == string(retry.ReasonVerify) { // it is asked about, not retried
				tell = e.log.AttemptFailed
			}
		}
	}
	if tell == nil {
		return
	}
	var d core.AttemptDetail
	_ = history.Unseal(a.Data, &d) // core made it, so it can be read
	tell(logged(r.run.Start()), logs.Attempt{
		Call: a.Call, Activity: a.Name, Number: a.Attempt, Outcome: string(a.Outcome), Reason: a.Reason, Delay: d.Delay,
		ErrorType: a.ErrorType, Error: d.Message,
	})
}

// retried returns how a failed attempt that is followed by another is logged, nil for not at
// all. The first failure of a call is told, and then each time there are twice as many.
func (e *Engine) retried(a *core.Record) func(logs.Run, logs.Attempt) {
	switch {
	case bits.OnesCount(uint(a.Attempt)) == 1:
		return e.log.CallRetries
	case e.log.WantsAttempts():
		return e.log.AttemptFailed
	}
	return nil
}

// retriesBlock reports whether a block of code is tried again right after this turn's failures.
// What failed inside it is then not the end.
func retriesBlock(out *core.Turn) bool {
	return slices.ContainsFunc(out.Attempts, func(a core.Record) bool {
		return a.Name == core.BlockName && retry.Reason(a.Reason).Retries()
	})
}

// reportGate logs what a step changed of a gate: its declaration, a pause, a breaker, and what
// people did.
func (s *standing) reportGate(gate *core.Gate, before *core.GateDetail, out *core.StandingTurn) {
	e, name := s.engine, s.name()
	breaker := func(b core.KeyBreaker) {
		switch {
		case b.Until > b.Was:
			e.log.BreakerOpened(name, b.Key, time.Unix(0, b.Until).UTC(), b.Failures)
		case b.Was > 0 && b.Until == 0:
			e.log.BreakerClosed(name, b.Key)
		}
	}
	if now := gate.Detail(); out.State != nil {
		switch {
		case before.Pause == nil && now.Pause != nil:
			e.log.GatePaused(name, now.Pause.By, now.Pause.Reason)
		case before.Pause != nil && now.Pause == nil:
			e.log.GateResumed(name)
		}
		breaker(core.KeyBreaker{Was: before.Record.OpenUntil, Until: now.Record.OpenUntil, Failures: now.Record.Failures})
	}
	for _, b := range out.Breakers {
		breaker(b)
	}
	for _, n := range out.Noted {
		switch {
		case n.Outcome != core.Applied:
		case n.Word == string(core.GateEdit):
			e.log.GateEdited(name, n.By, n.Why, n.Text)
		case n.Word == string(core.GateProbe):
			e.log.BreakerProbed(name, n.By, n.Why)
		}
	}
	if out.Replaced == nil {
		return
	}
	e.mu.Lock()
	said := e.residents.conflicts[name]
	e.residents.conflicts[name] = true
	e.mu.Unlock()
	if !said {
		e.log.GateConflict(name, fmt.Sprintf("%+v", *out.Replaced), fmt.Sprintf("%+v", *out.Replacing))
	}
}
