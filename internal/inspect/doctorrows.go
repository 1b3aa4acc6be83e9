package inspect

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// rowCheck holds the rows of a run's calls against each other and against its history, which comes
// in parts. It asks what loading the run asks.
type rowCheck struct {
	of      *core.Examination // nil if the history cannot be read in full
	refused error             // why the history cannot be loaded although it can be read
}

// add takes a part of the history.
func (c *rowCheck) add(turns []core.StoredTurn, damage []*history.DamageError) {
	if len(damage) > 0 {
		c.of = nil
	}
	if c.of != nil && c.refused == nil {
		c.refused = protect(func() error { return c.of.Turns(turns) })
	}
}

// wrong returns what is wrong with rows, once it has the whole history.
func (c *rowCheck) wrong(calls []store.Call) (wrong []error) {
	rows := record.Rows(calls)
	switch {
	case c.of == nil:
		for _, row := range rows {
			if _, err := core.DecodeProgress(row.Data); err != nil {
				wrong = append(wrong, row.Damaged(err))
			}
		}
		return wrong
	case c.refused == nil:
		c.refused = protect(func() error {
			wrong = c.of.Rows(rows)
			return nil
		})
	}
	if c.refused != nil {
		return []error{c.refused}
	}
	return wrong
}

// protect calls f, which works with a record, and returns its error as damage, also if it panics:
// bytes that can be read may still make no sense.
func protect(f func() error) error {
	err := replay.Protect(f)
	if err == nil || damageOf(err) != nil {
		return err
	}
	if _, is := errors.AsType[*replay.DamageError](err); is {
		return history.Damaged("", err)
	}
	return history.Damaged("the history", err)
}

// callRows adds what is wrong with the rows of a run's calls, which were read before its history.
func (d *doctor) callRows(ctx context.Context, row *store.Run, at view.Finding, c *rowCheck, calls []store.Call) error {
	var wrong []error
	if !row.Status.Open() {
		for _, row := range record.Rows(calls) {
			wrong = append(wrong, row.Damaged(errors.New("its run has ended, and no call of it is open")))
		}
	} else if wrong = c.wrong(calls); len(wrong) > 0 && c.of != nil { // the run may have moved on between the two
		var err error
		if wrong, err = d.atOnce(ctx, row); err != nil {
			return err
		}
	}
	for _, err := range wrong {
		if err := d.damage(at, err); err != nil {
			return err
		}
	}
	return nil
}

// atOnce returns what is wrong with the rows of a run's calls if they are read with its history, as
// of one moment.
func (d *doctor) atOnce(ctx context.Context, row *store.Run) ([]error, error) {
	rec, err := d.in.db.Load(ctx, row.Partition, row.ID)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && !rec.Run.Status.Open():
		return nil, nil // it has ended meanwhile
	case err != nil:
		return nil, err
	}
	past, err := record.Decode(rec)
	if err != nil {
		return []error{err}, nil
	}
	c := &rowCheck{of: core.Examine(past.Start)}
	c.add(past.Turns, nil)
	return c.wrong(rec.Calls), nil
}
