package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// InsistTime is how long a verb is retried while the database is unavailable, if its
// context has no deadline.
const InsistTime = 10 * time.Second

// insistent wraps a database and retries its verbs while the database is unavailable: it is
// busy, restarts, or the connection is cut. This is the only place for that rule. A verb
// that wrote nothing is always retried. A verb whose answer was lost is retried only if it
// is idempotent. The error says whether nothing was written or that is not known.
type insistent struct {
	Database
	closed <-chan struct{} // ends all retries
}

// repeatable says whether a verb is idempotent.
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

// Post may be refused on a retry because its first copy, whose answer was lost, has ended
// the run. A request to end the run then had its effect, unless the run had ended before. It
// also counts as done if another chain has the workflow ID by now, because a second copy would
// end that one too.
func (d insistent) Post(ctx context.Context, m store.Message) error {
	twice, lost := repeatable(message.Repeatable(m)), false
	ends := message.Ends(m)
	meant, over := "", false
	if ends {
		before, err := ifFound(d.Find(ctx, m.Partition, m.WorkflowID, m.Run))
		if err != nil {
			return err
		}
		over = before != nil && !before.Status.Open()
		if before != nil && m.Run == "" {
			meant = before.Chain
		}
	}
	err := d.insist(ctx, twice, func() error {
		if lost && meant != "" {
			if now, err := ifFound(d.Database.Find(ctx, m.Partition, m.WorkflowID, m.Run)); err != nil || now == nil || now.Chain != meant {
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
	case errors.Is(err, store.ErrClosed) && over:
		return err
	case errors.Is(err, store.ErrClosed) && ends:
		return nil
	}
	return explain(err, lost, twice)
}

// ifFound returns nil for a run that there is not.
func ifFound(run *store.Run, err error) (*store.Run, error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return run, err
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

// insist retries a verb until the database answers or the caller's time is up.
func (d insistent) insist(ctx context.Context, twice repeatable, verb func() error) error {
	_, limited := ctx.Deadline()
	began := time.Now()
	lost := false // a try's answer was lost
	// The second try follows the first without a pause: a message whose answer was lost is
	// usually still in the inbox, and its key identifies the second copy.
	for pause := time.Duration(0); ; pause = min(max(firstPause, 2*pause), longPause) {
		err := verb()
		if _, hook := errors.AsType[*store.HookError](err); err == nil || hook {
			return err // a hook's error is its own
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return explain(err, lost || err != ctx.Err(), twice)
		}
		if !store.Unavailable(err) || store.Refused(err) && !lost {
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

// explain says what is known about a verb that got no answer.
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

// because adds to the error of a verb why it is not retried.
func because(err, cause error) error {
	away, _ := errors.AsType[*store.UnavailableError](err)
	return &store.UnavailableError{Op: away.Op, Err: fmt.Errorf("%w: %w", cause, away.Err)}
}
