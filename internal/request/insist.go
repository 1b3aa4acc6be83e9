package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// InsistTime is how long a verb is tried again that the database cannot answer, if its
// context has no deadline.
const InsistTime = 10 * time.Second

// insistent is a database whose verbs are tried again while it cannot answer: it is busy,
// restarts, or the line is cut. This is the one place for that rule. A verb that wrote
// nothing is tried again always, and one whose answer was lost if doing it twice is doing
// it once. The error says which of both it was: that nothing was written, or that this is
// not known.
type insistent struct {
	Database
	closed <-chan struct{} // ends all tries
}

// repeatable says whether doing a verb twice is doing it once.
type repeatable bool

func (d insistent) Group(ctx context.Context, name string) (group store.Group, err error) {
	err = d.insist(ctx, true, func() error { group, err = d.Database.Group(ctx, name); return err })
	return group, err
}

func (d insistent) Secret(ctx context.Context) (secret []byte, err error) {
	err = d.insist(ctx, true, func() error { secret, err = d.Database.Secret(ctx); return err })
	return secret, err
}

func (d insistent) Create(ctx context.Context, run store.Run) error {
	return d.insist(ctx, true, func() error { return d.Database.Create(ctx, run) })
}

// Post is refused when it is tried again if its first copy, whose answer was lost, has
// ended the run: a request to end it has its effect then. So it has if another chain has
// the workflow ID meanwhile, which a second copy would end, too.
func (d insistent) Post(ctx context.Context, m store.Message) error {
	twice, lost := repeatable(message.Repeatable(m)), false
	ends := message.Ends(m)
	meant := ""
	if ends && m.Run == "" {
		var err error
		if meant, err = chainOf(ctx, d, m); err != nil {
			return err
		}
	}
	err := d.insist(ctx, twice, func() error {
		if lost && meant != "" {
			if now, err := chainOf(ctx, d.Database, m); err != nil || now != meant {
				return err
			}
		}
		err := d.Database.Post(ctx, m)
		lost = lost || store.Unavailable(err) && !store.Undone(err)
		return err
	})
	switch {
	case !lost || err == nil || store.Unavailable(err):
		return err
	case errors.Is(err, store.ErrClosed) && ends:
		return nil
	}
	return explain(err, lost, twice)
}

// chainOf returns the chain that a message for the latest run of a workflow ID is for, ""
// if there is none.
func chainOf(ctx context.Context, d Database, m store.Message) (string, error) {
	run, err := d.Find(ctx, m.Partition, m.WorkflowID, "")
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return run.Chain, nil
}

func (d insistent) Take(ctx context.Context, partition int, workflowID string) (taken []store.Message, err error) {
	err = d.insist(ctx, false, func() error { taken, err = d.Database.Take(ctx, partition, workflowID); return err })
	return taken, err
}

func (d insistent) Switch(ctx context.Context, s store.Switch) (written store.Switch, err error) {
	err = d.insist(ctx, true, func() error { written, err = d.Database.Switch(ctx, s); return err })
	return written, err
}

func (d insistent) Delete(ctx context.Context, deletion store.Deletion) (n int, err error) {
	err = d.insist(ctx, true, func() error { n, err = d.Database.Delete(ctx, deletion); return err })
	return n, err
}

func (d insistent) Transact(ctx context.Context, f func(tx any) error) error {
	return d.insist(ctx, false, func() error { return d.Database.Transact(ctx, f) })
}

func (d insistent) Find(ctx context.Context, partition int, workflowID, run string) (found *store.Run, err error) {
	err = d.insist(ctx, true, func() error { found, err = d.Database.Find(ctx, partition, workflowID, run); return err })
	return found, err
}

// insist tries a verb until it is answered or the time of its caller is up.
func (d insistent) insist(ctx context.Context, twice repeatable, verb func() error) error {
	_, limited := ctx.Deadline()
	began := time.Now()
	lost := false // the answer of a try
	// The second try follows the first without a pause: a message whose answer was lost
	// still waits then, most of the time, and its second copy is known by its key.
	for pause := time.Duration(0); ; pause = min(max(firstPause, 2*pause), longPause) {
		err := verb()
		if _, hook := errors.AsType[*store.HookError](err); err == nil || hook {
			return err // what a hook says is its own
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return explain(err, lost || err != ctx.Err(), twice)
		}
		if !store.Unavailable(err) {
			return err
		}
		lost = lost || !store.Undone(err)
		if lost && !bool(twice) || !limited && time.Since(began) > InsistTime {
			return explain(err, lost, twice)
		}
		select {
		case <-time.After(pause):
		case <-d.closed:
			return explain(because(err, ErrStopped), lost, twice)
		case <-ctx.Done():
			return explain(because(err, ctx.Err()), lost, twice)
		}
	}
}

// explain says what is known of a verb that was not answered.
func explain(err error, lost bool, twice repeatable) error {
	known := "whether it was written is not known, and asking again might do it twice: look first"
	switch {
	case !lost:
		known = "nothing was written: ask again"
	case bool(twice):
		known = "whether it was written is not known: ask again with the same ID"
	}
	away, ok := errors.AsType[*store.UnavailableError](err)
	if !ok {
		return fmt.Errorf("%w; %s", err, known)
	}
	return &store.UnavailableError{Op: away.Op, Err: fmt.Errorf("%w; %s", away.Err, known), Undone: !lost}
}

// because adds to the error of a verb why it is not tried again.
func because(err, cause error) error {
	away, _ := errors.AsType[*store.UnavailableError](err)
	return &store.UnavailableError{Op: away.Op, Err: fmt.Errorf("%w: %w", cause, away.Err)}
}
