package engine

import (
	"math/bits"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/retry"
)

// logged returns a run as log records name it.
func logged(start history.Start) logs.Run {
	return logs.Run{WorkflowID: start.WorkflowID, ID: start.Run, Workflow: start.Type}
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

// reportGate logs changes of a gate: pause and breaker.
func (k gateKind) reportGate(name string, before *core.GateDetail, now core.GateDetail) {
	log := k.engine.log
	switch {
	case before.Pause == nil && now.Pause != nil:
		log.GatePaused(name, now.Pause.By, now.Pause.Reason)
	case before.Pause != nil && now.Pause == nil:
		log.GateResumed(name)
	}
	k.reportBreaker(name, core.KeyBreaker{Was: before.Record.OpenUntil, Until: now.Record.OpenUntil, Failures: now.Record.Failures})
}

// reportBreaker logs that a breaker has opened or closed.
func (k gateKind) reportBreaker(name string, b core.KeyBreaker) {
	switch {
	case b.Until > b.Was:
		k.engine.log.BreakerOpened(name, b.Key, time.Unix(0, b.Until).UTC(), b.Failures)
	case b.Was > 0 && b.Until == 0:
		k.engine.log.BreakerClosed(name, b.Key)
	}
}

// reportNotes logs other operations of people on a gate.
func (k gateKind) reportNotes(name string, notes []core.Note) {
	for _, n := range notes {
		switch {
		case n.Outcome != core.Applied:
		case n.Word == string(core.GateEdit):
			k.engine.log.GateEdited(name, n.By, n.Why, n.Text)
		case n.Word == string(core.GateProbe):
			k.engine.log.BreakerProbed(name, n.By, n.Why)
		}
	}
}
