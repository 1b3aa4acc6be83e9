package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// serving is what the live processes of the group serve.
type serving struct{ live []record.Serves }

// serves reports how many processes serve a queue, and whether one of them has an activity.
func (s *serving) serves(queue, activity string) (processes int, can bool) {
	for i := range s.live {
		if w := &s.live[i]; slices.ContainsFunc(w.Queues, func(q record.Queue) bool { return q.Name == queue }) {
			processes++
			can = can || w.Can(queue, activity)
		}
	}
	return processes, can
}

// serving reads once which processes serve queues.
func (o *obstacles) serving(ctx context.Context) (*serving, error) {
	if o.queues != nil {
		return o.queues, nil
	}
	workers, err := o.in.db.Workers(ctx)
	if err != nil {
		return nil, err
	}
	o.queues = &serving{}
	for i := range workers {
		if w := &workers[i]; w.Live && !w.Draining && w.Group == o.in.group.Name {
			o.queues.live = append(o.queues.live, record.WhatServes(&w.Worker))
		}
	}
	return o.queues, nil
}

// atQueue adds to the wait of a queued call whether a worker could claim it.
func (o *obstacles) atQueue(ctx context.Context, w *view.Wait) error {
	if w.For != view.WaitQueue {
		return nil
	}
	s, err := o.serving(ctx)
	if err != nil {
		return err
	}
	switch processes, can := s.serves(w.Queue, w.Name); {
	case processes == 0:
		w.For, w.Why = view.WaitUnserved, "no process serves queue "+w.Queue
	case !can:
		w.For, w.Why = view.WaitUnserved, fmt.Sprintf("no process that serves queue %s has activity %s", w.Queue, w.Name)
	}
	return nil
}

// addQueues adds to queued calls why no process can run them.
func (in *Inspector) addQueues(ctx context.Context, calls []view.Call) error {
	o := &obstacles{in: in}
	for i := range calls {
		c := &calls[i]
		w := view.Wait{For: rowWaits[store.CallState(c.State)], Queue: c.Queue, Name: c.Name, Why: c.Unserved}
		if err := errors.Join(o.atQueue(ctx, &w), o.atSlot(ctx, &w)); err != nil {
			return err
		}
		if c.Unserved = ""; w.For == view.WaitUnserved {
			c.Unserved = w.Why
		}
	}
	return nil
}

// queues sums up the queues of the group.
func (in *Inspector) queues(ctx context.Context, o *obstacles) ([]view.Queue, error) {
	logs, err := in.db.Backlogs(ctx, in.group.All())
	if err != nil {
		return nil, err
	}
	s, err := o.serving(ctx)
	if err != nil {
		return nil, err
	}
	var all []view.Queue
	get := func(name string) *view.Queue {
		return among(&all, func(q view.Queue) bool { return q.Queue == name }, view.Queue{Queue: name})
	}
	for i := range s.live {
		for _, served := range s.live[i].Queues {
			q := get(served.Name)
			q.Workers, q.Limit = q.Workers+1, q.Limit+served.Limit
		}
	}
	for _, b := range logs {
		q := get(b.Queue)
		q.Waiting, q.Running = q.Waiting+b.Waiting, q.Running+b.Running
		if first := optional(b.Oldest); earlier(first, q.Oldest) {
			q.Oldest = first
		}
		if _, can := s.serves(b.Queue, b.Name); b.Waiting > 0 && !can {
			q.Unserved = append(q.Unserved, b.Name)
		}
	}
	slices.SortFunc(all, func(a, b view.Queue) int { return strings.Compare(a.Queue, b.Queue) })
	return all, nil
}

// addWorkers adds the processes that serve queues to the nodes. A process that also runs
// workflows is added to its own node.
func (in *Inspector) addWorkers(nodes []view.Node, workers []store.WorkerState) []view.Node {
	for _, w := range workers {
		var queues []view.ServedQueue
		serves := record.WhatServes(&w.Worker)
		for _, q := range serves.Queues {
			queues = append(queues, view.ServedQueue{Queue: q.Name, Limit: q.Limit})
		}
		if !serves.Alone {
			own := slices.IndexFunc(nodes, func(n view.Node) bool {
				return n.Name == w.Name && n.Group == w.Group && !n.Gone()
			})
			if own >= 0 && w.Live {
				nodes[own].Queues, nodes[own].Attempts = queues, w.Claimed
			}
			if own >= 0 || w.Claimed == 0 {
				continue
			}
		}
		n := nodeOf(store.Member{
			Node: store.Node{ID: w.ID, Name: w.Name, Group: w.Group}, Joined: w.Joined, Seen: w.Seen, Draining: w.Draining, Live: w.Live, Expires: w.Expires,
		})
		if w.Left {
			n.State, n.Ended, n.Expires = view.NodeLeft, &n.Seen, nil
		}
		n.Worker, n.Queues, n.Attempts = true, queues, w.Claimed
		n.Build, n.Activities = serves.Build, serves.Activities
		nodes = append(nodes, n)
	}
	slices.SortStableFunc(nodes, func(a, b view.Node) int { return a.Joined.Compare(b.Joined) })
	return nodes
}
