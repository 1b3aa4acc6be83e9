package replay

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
)

// Begin gives the machine of a run the code of its workflow.
type Begin func(def *seal.WorkflowDeclaration, run *core.Run) seal.Instance

// Load makes the machine of a run and runs its code up to the end of its record.
func (g *Guard) Load(config core.Config, past *core.Past, def *seal.WorkflowDeclaration, begin Begin) (*core.Run, seal.Instance, error) {
	var stint Stint
	config.Progress = func() { stint.Progress.Add(1) }
	run := core.New(config, past.Start)
	instance := begin(def, run)
	stint.Instance = instance
	if err := g.Do(&stint, func() error { return run.Load(past.Turns, past.Rows, past.State) }); err != nil {
		Close(instance, err)
		return nil, nil, err
	}
	return run, instance, nil
}

// Query runs a query handler of the code of a run.
func (g *Guard) Query(i seal.Instance, name string, input history.Payload) (history.Payload, error) {
	stint := Stint{Instance: i}
	var answer struct {
		value history.Payload
		err   error
	}
	err := g.Do(&stint, func() error {
		answer.value, answer.err = i.Query(name, input)
		return nil
	})
	if err != nil { // the handler may still write its answer
		return history.Payload{}, fmt.Errorf("the handler of query %q did not return: %w", name, err)
	}
	return answer.value, answer.err
}

// Close closes the code of a run after an error of it. Code that is stuck cannot be unwound: its
// goroutines are abandoned until it returns, if it ever does.
func Close(i seal.Instance, err error) {
	if i != nil && !IsStuck(err) {
		i.Close()
	}
}

// IsStuck reports whether an error is a *StuckError: the code may still be running.
func IsStuck(err error) bool {
	_, is := errors.AsType[*StuckError](err)
	return is
}
