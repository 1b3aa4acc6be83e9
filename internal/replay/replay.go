package replay

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/workers"
)

// Recording runs a workflow's code against a recorded history. It returns nil if the code asks
// for exactly what is on record. Otherwise it returns the error of Run.
func Recording(r history.Recording, def *seal.WorkflowDeclaration, limit time.Duration) error {
	past := &core.Past{Start: r.Start, Turns: r.Turns, State: core.State{Status: core.StatusRunning}}
	return Run(core.Config{}, past, def, limit)
}

// Run runs a workflow's code against the record of a run. It returns nil if the code asks for
// exactly what is on record. Otherwise it returns a *core.Mismatch with the first difference,
// a *StuckError if the code does not end a turn within limit, the panic of the code, or a
// *DamageError. It runs no activity. The goroutine of stuck code is abandoned.
func Run(config core.Config, past *core.Past, def *seal.WorkflowDeclaration, limit time.Duration) error {
	var pool workers.Pool
	defer pool.Stop()
	var stint Stint
	config.Progress = func() { stint.Progress.Add(1) }
	run := core.New(config, past.Start)
	instance := def.Begin(run)
	run.Bind(instance)
	g := Guard{Pool: &pool, Limit: limit, Hurry: context.Background(), Abandoned: func(int) {}}
	err := g.Do(&stint, func() error {
		defer func() { <-instance.Close() }()
		return run.Load(past.Turns, past.Rows, past.State)
	})
	if stuck, is := errors.AsType[*StuckError](err); is {
		return errors.Join(stuck, errors.New(stuck.Stack))
	}
	return err
}
