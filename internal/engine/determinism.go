package engine

import (
	"context"

	"github.com/perdure/perdure/internal/codecheck"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/view"
)

// CheckCode replays open runs with the code of this engine, which need not be started, and
// reports those that could not continue with it. It owns nothing and writes nothing. Runs
// continue meanwhile; each is checked as of its last commit.
func (e *Engine) CheckCode(ctx context.Context, filter view.CodeFilter) (*view.CodeCheck, error) {
	if err := e.Check(ctx); err != nil {
		return nil, err
	}
	return e.checker().Run(ctx, filter)
}

// checker returns what replays runs beside those in memory.
func (e *Engine) checker() *codecheck.Checker {
	return &codecheck.Checker{
		Store: e.db.Store, Group: e.db.group, Holds: &e.holds, Guard: &e.code.guard, TurnTimeout: e.config.TurnTimeout,
		Core: core.Config{
			MaxHistory: e.config.MaxHistory, MaxPending: e.config.MaxPendingCalls, MaxBacklog: e.config.MaxSignalBacklog,
			Policy: &e.config.Policy, Draw: e.config.Draw,
		},
	}
}

// Code that asks for other things each time goes on unnoticed while its run stays in memory.
// With settings.Engine.CheckDeterminism the record of a run is replayed by a second instance of its code
// after each turn, and the run is parked if that asks for something else.

// checksEvery limits what the checks of a long run cost: there are at most so many while its
// history doubles, one after each turn until then.
const checksEvery = 64

// checkDeterminism replays a run that has just taken a turn. It returns the difference, nil if
// there is none or it is not time to look.
func (r *activeRun) checkDeterminism(turn int64) error {
	e := r.engine
	if !e.config.CheckDeterminism || r.instance == nil || r.run.Ended() || turn < r.checked+turn/checksEvery {
		return nil
	}
	if e.config.MaxResident == 0 && r.run.Idle() {
		return nil // it leaves memory, and is replayed when it comes back
	}
	r.checked = turn
	return e.checker().Repeats(e.life.ctx, r.location.Partition, r.id)
}
