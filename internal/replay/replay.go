package replay

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
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
	var turns atomic.Int64
	config.Progress = func() { turns.Add(1) }
	run := core.New(config, past.Start)
	instance := def.Begin(run)
	run.Bind(instance)
	result := make(chan error, 1)
	go func() {
		err := ErrGoexit
		defer func() {
			<-instance.Close()
			result <- err
		}()
		err = Protect(func() error { return run.Load(past.Turns, past.Rows, past.State) })
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for seen := int64(-1); seen != turns.Load(); timer.Reset(limit) {
		seen = turns.Load()
		select {
		case err := <-result:
			return err
		case <-timer.C:
		}
	}
	stack := Stacks()
	return errors.Join(&StuckError{After: limit, Stack: stack}, errors.New(stack))
}
