package durable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/ops"
)

// Nodes is a number of engines that share a database: what a step costs must not depend on how
// many there are.
func Nodes(n int) system.System {
	name := OneNode
	if n > 1 {
		name = fmt.Sprintf("%d nodes", n)
	}
	return nodes{durable{kind: place.Postgres, name: name}, n}
}

// OneNode is the name of Nodes(1).
const OneNode = "1 node"

type nodes struct {
	durable
	n int
}

// Open opens the engines and waits until each has its share.
func (d nodes) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	at, err := opener(db)
	if err != nil {
		return nil, err
	}
	s := &nodesSession{}
	for i := range d.n {
		one, err := openAs(ctx, at, fmt.Sprint("node ", i), definitions(c))
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
		if s.session == nil {
			s.session = one
		}
		s.all = append(s.all, one)
	}
	for {
		even, err := s.even(ctx)
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
		if even {
			return s, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), s.Close(context.WithoutCancel(ctx)))
		}
	}
}

// nodesSession is several engines at work. What is asked of one is asked of the first.
type nodesSession struct {
	*session
	all  []*session
	next atomic.Int64
}

// even reports whether no node has more partitions than its share.
func (s *nodesSession) even(ctx context.Context) (bool, error) {
	all, err := ops.Nodes(ctx, s.Engine)
	if err != nil {
		return false, err
	}
	total, most, live := 0, 0, 0
	for _, n := range all {
		if n.State == "live" {
			live++
		}
		total, most = total+n.Partitions, max(most, n.Partitions)
	}
	return live == len(s.all) && total > 0 && most <= (total+live-1)/live, nil
}

// Chain starts it at one node after the other, wherever its run continues.
func (s *nodesSession) Chain(ctx context.Context, id string, steps int) (int, error) {
	at := s.all[int(s.next.Add(1))%len(s.all)]
	return perdure.Run(ctx, at.Engine, chain, id, steps)
}

// Commits are those of all nodes.
func (s *nodesSession) Commits() (int64, bool) { return 0, false }

// Turns are those of all nodes.
func (s *nodesSession) Turns() (n int64) {
	for _, one := range s.all {
		n += one.Turns()
	}
	return n
}

func (s *nodesSession) Close(ctx context.Context) (err error) {
	for _, one := range s.all {
		err = errors.Join(err, one.Close(ctx))
	}
	return err
}
