package replay

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// Recording runs a workflow's code against a recorded history. It returns nil if the
// code asks for what is on record, to its end. Otherwise the error is a *core.Mismatch
// with the first difference, a *StuckError if the code does not end within limit, or
// its panic. No activity runs. The goroutine of code that is stuck is abandoned.
func Recording(r history.Recording, def *code.Declared, limit time.Duration) error {
	run := core.New(core.Config{}, r.Start, nil)
	instance := def.Begin(run)
	run.Bind(instance)
	turns := make([]core.StoredTurn, len(r.Turns))
	for i, t := range r.Turns {
		turns[i] = core.StoredTurn{Number: t.Number, Time: t.Time, Events: t.Events}
	}
	result := make(chan error, 1)
	go func() {
		err := ErrGoexit
		defer func() {
			<-instance.Close()
			result <- err
		}()
		err = run.Load(turns, nil, core.State{Status: core.StatusRunning})
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
		stack := Stacks()
		return errors.Join(&StuckError{After: limit, Stack: stack}, errors.New(stack))
	}
}
