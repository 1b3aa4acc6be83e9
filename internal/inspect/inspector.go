package inspect

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Inspector reads the committed state of a group's partitions. It is safe for concurrent
// use.
type Inspector struct {
	db     store.Reader
	group  store.Group
	now    func() int64
	usable func() error
	paused func(context.Context) (map[string]store.Switch, error)
	limits Limits
	draw   func(run string, call int64, attempt int) float64
	search int // how many runs a search looks at
}

// Config configures an Inspector. All fields except Draw are required.
type Config struct {
	Group store.Group
	// Now returns engine time, in nanoseconds since 1970.
	Now func() int64
	// Usable returns an error once the Inspector must not be used any more.
	Usable func() error
	// Paused returns the switches that pause activities in the group, by activity name. The
	// map must not be modified.
	Paused func(context.Context) (map[string]store.Switch, error)
	Limits Limits
	// Draw is the engine's jitter draw, nil for core.Uniform.
	Draw func(run string, call int64, attempt int) float64
}

// New returns an Inspector of a database.
func New(db store.Reader, c Config) *Inspector {
	draw := c.Draw
	if draw == nil {
		draw = core.Uniform
	}
	return &Inspector{db: db, group: c.Group, now: c.Now, usable: c.Usable, paused: c.Paused, limits: c.Limits, draw: draw, search: searched}
}

// Refusing returns an Inspector whose verbs all return err.
func Refusing(err error) *Inspector { return &Inspector{usable: func() error { return err }} }

// check returns why nothing can be read with the context.
func (in *Inspector) check(ctx context.Context) error {
	if err := in.usable(); err != nil {
		return err
	}
	return history.CheckContext(ctx)
}

// checkLimit returns an error for an invalid page length.
func checkLimit(n int) error {
	if n < 0 || n > maxPage {
		return &history.InputError{What: "limit", Problem: fmt.Sprintf("is %d; it is 0 for the default, or 1 to %d", n, maxPage)}
	}
	return nil
}

// maxPage is the maximum number of runs or attempts in a page.
const maxPage = 1_000_000

// Find returns the row of a run, or of the latest run of the workflow ID if run is empty.
// It returns store.ErrNotFound if the run has another workflow ID.
func (in *Inspector) Find(ctx context.Context, workflowID, run string) (*store.Run, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	if err := history.CheckWorkflowID(workflowID); err != nil {
		return nil, err
	}
	row, err := in.db.Find(ctx, entity.Place(in.group, workflowID), workflowID, run)
	if err == nil && row.WorkflowID != workflowID {
		return nil, store.ErrNotFound
	}
	return row, err
}
