package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// Replay runs a workflow's code against a recorded history. It returns nil if the
// code asks for what is on record, to the end of it; a *core.Mismatch with the
// first difference if it does not; and another error if it panics or does not
// come to an end within the limit. Nothing else happens: no activity runs.
func Replay(r history.Recording, def workflow.Definition, limit time.Duration) error {
	run := core.New(core.Config{}, r.Start, nil)
	instance := def.Begin(run)
	run.Bind(instance)
	turns := make([]core.StoredTurn, len(r.Turns))
	for i, t := range r.Turns {
		turns[i] = core.StoredTurn{Number: t.Number, Time: t.Time, Events: t.Events}
	}
	result := make(chan error, 1)
	go func() {
		err := errGoexit
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
	case <-timer.C: // its goroutine is left behind: nothing can stop it
		return errors.Join(&stuckError{after: limit}, errors.New(workflowStacks()))
	}
}
