package durable

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/store"
)

// counted is a store whose write transactions are counted. Each verb of a store
// is one transaction; those of joining, leaving and claiming are few and do not
// count. Turns are counted apart, as many share a transaction.
type counted struct {
	store.Opener
	commits, turns atomic.Int64
}

func (c *counted) Open(ctx context.Context) (store.Store, error) {
	s, err := c.Opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &countedStore{s, c}, nil
}

type countedStore struct {
	store.Store
	counts *counted
}

func (s *countedStore) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	s.counts.commits.Add(1)
	s.counts.turns.Add(int64(len(turns)))
	return s.Store.Commit(ctx, turns)
}

func (s *countedStore) Create(ctx context.Context, run store.Run) error {
	s.counts.commits.Add(1)
	return s.Store.Create(ctx, run)
}

func (s *countedStore) Post(ctx context.Context, m store.Message) error {
	s.counts.commits.Add(1)
	return s.Store.Post(ctx, m)
}
