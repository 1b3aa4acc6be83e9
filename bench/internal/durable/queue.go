package durable

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Queued is On with the steps of its chains in a queue, which another engine serves: one that
// has no runs, with as many attempts at a time as steps are in flight.
func Queued(kind place.Kind) system.System {
	return queued{durable{kind: kind, name: "perdure with a queue"}}
}

type queued struct{ durable }

const queue = "far"

var (
	far      = activity.Declare[int, int]("far", activity.Queue(queue))
	farChain = chainOf("far chain", far)
)

func (q queued) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	at, err := opener(db)
	if err != nil {
		return nil, err
	}
	owner, err := open(ctx, at, c, perdure.Register(farChain))
	if err != nil {
		return nil, err
	}
	worker, err := openAs(ctx, at, "worker", perdure.ServeQueue(queue, c.InFlight), perdure.Register(far.Impl(body(c))))
	if err != nil {
		return nil, errors.Join(err, owner.Close(ctx))
	}
	return &queuedSession{owner, worker}, nil
}

// queuedSession is two engines at work: one has the runs, one serves the queue.
type queuedSession struct {
	*session
	worker *session
}

func (s *queuedSession) Chain(ctx context.Context, id string, steps int) (int, error) {
	return perdure.Run(ctx, s.Engine, farChain, id, steps)
}

// Commits are those of both.
func (s *queuedSession) Commits() (int64, bool) { return 0, false }

func (s *queuedSession) Close(ctx context.Context) error {
	return errors.Join(s.worker.Close(ctx), s.session.Close(ctx))
}
