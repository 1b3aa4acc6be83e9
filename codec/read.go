package codec

import (
	"context"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// decodeAll decodes documents where they stand.
func (c chain) decodeAll(ctx context.Context, docs ...doc) error {
	for _, d := range docs {
		out, err := c.decode(ctx, d.at, *d.data)
		if err != nil {
			return err
		}
		*d.data = out
	}
	return nil
}

// each returns what a verb has returned, each item of it decoded.
func each[T any](all []T, err error, decode func(*T) error) ([]T, error) {
	for i := range all {
		if err == nil {
			err = decode(&all[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// decoded is each for items with documents.
func decoded[T any](ctx context.Context, c chain, docs func(*T) []doc) func([]T, error) ([]T, error) {
	return func(all []T, err error) ([]T, error) {
		return each(all, err, func(item *T) error { return c.decodeAll(ctx, docs(item)...) })
	}
}

// decodeTurns decodes turns of a run. Those that it began with may be those of another run,
// which its start event names: start returns that, and is called if there is one.
func (c chain) decodeTurns(ctx context.Context, run string, turns []store.TurnRow, start func() (*store.Run, error)) error {
	var first *history.Start
	for i := range turns {
		t := &turns[i]
		author := run
		if e, err := envelope.Parse(t.Events); envelope.Is(t.Events) && err == nil && e.Of != run {
			if first == nil {
				r, err := start()
				if err != nil {
					return err
				}
				s, err := history.OpenStart(entity.Row(r), r.Start)
				if err != nil && !history.IsCoded(err) { // damaged: readers say so
					s.Run = e.Of
				}
				first = &s
			}
			author = first.Author(t.Number)
		}
		if err := c.decodeAll(ctx, doc{turnAt(author, t.Number), &t.Events}); err != nil {
			return err
		}
	}
	return nil
}

// Inbox implements store.Owner.
func (s *coded) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	return decoded(ctx, s.chain, ofMessage)(s.Store.Inbox(ctx, partitions, read))
}

// Take implements store.Client.
func (s *coded) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return decoded(ctx, s.chain, ofMessage)(s.Store.Take(ctx, partition, workflowID))
}

// Posted implements store.Reader.
func (s *coded) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return decoded(ctx, s.chain, ofMessage)(s.Store.Posted(ctx, partition, workflowID))
}

// Ended implements store.Reader.
func (s *coded) Ended(ctx context.Context, refs []store.RunRef) ([]store.Run, error) {
	return decoded(ctx, s.chain, ofRun)(s.Store.Ended(ctx, refs))
}

// List implements store.Reader.
func (s *coded) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	return decoded(ctx, s.chain, ofRun)(s.Store.List(ctx, filter))
}

// Load implements store.Reader.
func (s *coded) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	r, err := s.Store.Load(ctx, partition, run)
	if err != nil {
		return nil, err
	}
	if err := s.decodeAll(ctx, ofRun(&r.Run)...); err != nil {
		return nil, err
	}
	if err := s.decodeTurns(ctx, run, r.Turns, func() (*store.Run, error) { return &r.Run, nil }); err != nil {
		return nil, err
	}
	r.Calls, err = decoded(ctx, s.chain, ofCall)(r.Calls, nil)
	return r, err
}

// History implements store.Reader.
func (s *coded) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	turns, err := s.Store.History(ctx, partition, run, after, limit)
	if err != nil {
		return nil, err
	}
	return turns, s.decodeTurns(ctx, run, turns, func() (*store.Run, error) {
		return s.Find(ctx, partition, "", run)
	})
}

// Calls implements store.Reader.
func (s *coded) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return decoded(ctx, s.chain, ofCall)(s.Store.Calls(ctx, partition, run))
}

// Waiting implements store.Reader.
func (s *coded) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	return decoded(ctx, s.chain, ofWaiting)(s.Store.Waiting(ctx, filter))
}

// Attempts implements store.Reader.
func (s *coded) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	return decoded(ctx, s.chain, ofAttempt)(s.Store.Attempts(ctx, partition, run, part))
}

// Ledger implements store.Reader.
func (s *coded) Ledger(ctx context.Context, filter store.LedgerFilter) ([]store.LedgerEntry, error) {
	return decoded(ctx, s.chain, ofEntry)(s.Store.Ledger(ctx, filter))
}

// Errors implements store.Reader.
func (s *coded) Errors(ctx context.Context, filter store.LedgerFilter) ([]store.ErrorGroup, error) {
	return decoded(ctx, s.chain, ofErrors)(s.Store.Errors(ctx, filter))
}

// Switches implements store.Reader.
func (s *coded) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	all, err := s.Store.Switches(ctx, group, after)
	return each(all, err, func(w *store.Switch) error { return s.decodeSwitch(ctx, w) })
}
