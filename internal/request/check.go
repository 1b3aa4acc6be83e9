package request

import (
	"fmt"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
)

// This file holds the bounds of arguments. A verb calls check before it looks at the
// database.

// check returns the first error of the arguments, or ErrStopped.
func (c *Client) check(arguments ...error) error {
	if c.ctx.Err() != nil {
		return ErrStopped
	}
	for _, err := range arguments {
		if err != nil {
			return err
		}
	}
	return nil
}

// ofWorkflow checks the workflow ID of a run.
func ofWorkflow(id string) error { return entity.CheckID(id) }

// named checks a name, which is that of a signal, for example.
func named(what, name string) error { return history.CheckName(what+" name", name) }

// identified checks an ID that may be left out: that of a signal, for example.
func identified(what, id string) error {
	if id == "" {
		return nil
	}
	return history.CheckID(what+" ID", id)
}

// Check returns what keeps a run from being started so.
func (s *Start) Check() error {
	switch {
	case s.Fault != nil:
		return s.Fault
	case s.NewAfter < NoEnd || s.NewAfter > Failure:
		return &history.InputError{What: "ending after which a new run may begin", Problem: fmt.Sprintf("is %d, which does not exist", s.NewAfter)}
	}
	if err := history.CheckDelay(s.Delay); err != nil {
		return err
	}
	return s.Settings.Check()
}
