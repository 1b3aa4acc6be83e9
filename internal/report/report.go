package report

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/retry"
)

// Log writes log records, also of whole turns. It is safe for concurrent use.
type Log struct {
	*logs.Log

	mu     sync.Mutex
	differ map[string]bool // gates that calls declare differently, as already logged
}

// To returns a log that writes to another.
func To(log *logs.Log) *Log { return &Log{Log: log, differ: map[string]bool{}} }

// Of returns a run as log records name it.
func Of(start *history.Start) logs.Run {
	return logs.Run{WorkflowID: start.WorkflowID, ID: start.Run, Workflow: start.Type}
}

// Failures logs the failures of a durable turn of a run, and returns how many attempts were lost.
func (l *Log) Failures(of logs.Run, out *core.Turn) (lost int) {
	for i := range out.Attempts {
		a := &out.Attempts[i]
		switch a.Outcome {
		case core.Lost:
			lost++
			l.attempt(of, out, a)
		case core.Failed, core.TimedOut, core.RefusedByGate, core.Unknown:
			l.attempt(of, out, a)
		}
	}
	if out.Ended && out.State != nil && out.State.Status == core.StatusFailed {
		if d, err := core.DecodeDetail(out.State.Detail); err == nil && d.Failure != nil {
			l.RunFailed(of, d.Failure.TypeName(), d.Failure.Message)
		}
	}
	return lost
}

// attempt logs a failed attempt according to what follows from it.
func (l *Log) attempt(of logs.Run, out *core.Turn, a *core.Record) {
	tell := l.CallGaveUp
	switch {
	case a.Name != core.BlockName && retriesBlock(out):
		tell = l.AttemptFailed // what matters is how the block stands
	case retry.Reason(a.Reason).Retries():
		tell = l.retried(a)
	}
	for i := range out.Rows {
		if !out.Rows[i].Has(a.Call) {
			continue
		}
		switch out.Rows[i].State {
		case core.Paused:
			tell = l.CallPaused
		case core.Quarantined:
			tell = l.CallQuarantined
		case core.InDoubt:
			tell = l.CallInDoubt
		default: // the call continues
			if tell = l.retried(a); a.Reason == string(retry.ReasonVerify) { // it is asked about, not retried
				tell = l.AttemptFailed
			}
		}
	}
	if tell == nil {
		return
	}
	var d core.AttemptDetail
	_ = history.Unseal(a.Data, &d) // core made it, so it can be read
	tell(of, logs.Attempt{
		Call: a.Call, Activity: a.Name, Number: a.Attempt, Outcome: string(a.Outcome), Reason: a.Reason, Delay: d.Delay,
		ErrorType: a.ErrorType, Error: d.Message,
	})
}

// retried returns how a failed attempt that is followed by another is logged, nil for not at
// all. The first failure of a call is told, and then each time there are twice as many.
func (l *Log) retried(a *core.Record) func(logs.Run, logs.Attempt) {
	switch {
	case bits.OnesCount(uint(a.Attempt)) == 1:
		return l.CallRetries
	case l.WantsAttempts():
		return l.AttemptFailed
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

// Gate logs what a step changed of a gate: its declaration, a pause, a breaker, and what people
// did.
func (l *Log) Gate(name string, gate *core.Gate, before *core.GateDetail, out *core.StandingTurn) {
	breaker := func(b core.KeyBreaker) {
		switch {
		case b.Until > b.Was:
			l.BreakerOpened(name, b.Key, time.Unix(0, b.Until).UTC(), b.Failures)
		case b.Was > 0 && b.Until == 0:
			l.BreakerClosed(name, b.Key)
		}
	}
	if now := gate.Detail(); out.State != nil {
		switch {
		case before.Pause == nil && now.Pause != nil:
			l.GatePaused(name, now.Pause.By, now.Pause.Reason)
		case before.Pause != nil && now.Pause == nil:
			l.GateResumed(name)
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
			l.GateEdited(name, n.By, n.Why, n.Text)
		case n.Word == string(core.GateProbe):
			l.BreakerProbed(name, n.By, n.Why)
		}
	}
	if out.Replaced == nil {
		return
	}
	l.mu.Lock()
	said := l.differ[name]
	l.differ[name] = true
	l.mu.Unlock()
	if !said {
		l.GateConflict(name, fmt.Sprintf("%+v", *out.Replaced), fmt.Sprintf("%+v", *out.Replacing))
	}
}

// Forget notes that a gate is gone.
func (l *Log) Forget(gate string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.differ, gate)
}
