package request

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// place is where in a history to look for an answer.
type place struct {
	workflowID, run string
	after           int64 // the answer is in a turn with a greater number
}

// awaitTurn waits until read is done with a turn of a history. closed is the run if it is
// over and read was done with none of its turns. A later call with the same place
// continues after the turns already read.
func (c *Client) awaitTurn(ctx context.Context, at *place, longest time.Duration, over func(*store.Run) bool, read func(*core.StoredTurn) (done bool, err error)) (closed *store.Run, err error) {
	partition := c.place(at.workflowID)
	err = c.await(ctx, partition, at.run, longest, func(ended) (bool, error) {
		row, err := c.db.Find(ctx, partition, at.workflowID, at.run) // before the turns: a closed run has everything on record
		if err != nil {
			return false, err
		}
		done, err := c.readTurns(ctx, at, read)
		if !done && err == nil && over(row) {
			closed = row
		}
		return done || closed != nil, err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = removed(at.run, err)
	}
	return closed, err
}

// readTurns passes turns not read before to read until it is done.
func (c *Client) readTurns(ctx context.Context, at *place, read func(*core.StoredTurn) (done bool, err error)) (done bool, err error) {
	turns, err := c.read.Turns(ctx, c.place(at.workflowID), at.run, at.after)
	if damage := (*history.DamageError)(nil); err != nil && !errors.As(err, &damage) {
		return false, err // else the answer may come after the damage
	}
	for i := range turns {
		at.after = turns[i].Number
		if done, err = read(&turns[i]); done || err != nil {
			return true, err
		}
	}
	return false, nil
}
