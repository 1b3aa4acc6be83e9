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

func (c chain) decodeRun(ctx context.Context, r *store.Run) error {
	return c.decodeAll(ctx, doc{startAt(r), &r.Start}, doc{stateAt(r.ID), &r.Detail})
}

func (c chain) decodeRuns(ctx context.Context, runs []store.Run) error {
	for i := range runs {
		if err := c.decodeRun(ctx, &runs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c chain) decodeCalls(ctx context.Context, run string, calls []store.Call) error {
	for i := range calls {
		if err := c.decodeAll(ctx, doc{callAt(run, calls[i].Number), &calls[i].Data}); err != nil {
			return err
		}
	}
	return nil
}

func (c chain) decodeAttempt(ctx context.Context, a *store.Attempt) error {
	return c.decodeAll(ctx, doc{attemptAt(a.Run, a.Call, a.Number), &a.Data})
}

func (c chain) decodeMessages(ctx context.Context, all []store.Message) error {
	for i := range all {
		if err := c.decodeAll(ctx, doc{messageAt(&all[i]), &all[i].Data}); err != nil {
			return err
		}
	}
	return nil
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
	all, err := s.db.Inbox(ctx, partitions, read)
	if err != nil {
		return nil, err
	}
	return all, s.decodeMessages(ctx, all)
}

// Take implements store.Client.
func (s *coded) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	all, err := s.db.Take(ctx, partition, workflowID)
	if err != nil {
		return nil, err
	}
	return all, s.decodeMessages(ctx, all)
}

// Posted implements store.Reader.
func (s *coded) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	all, err := s.db.Posted(ctx, partition, workflowID)
	if err != nil {
		return nil, err
	}
	return all, s.decodeMessages(ctx, all)
}

// Find implements store.Reader.
func (s *coded) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	r, err := s.db.Find(ctx, partition, workflowID, run)
	if err != nil {
		return nil, err
	}
	return r, s.decodeRun(ctx, r)
}

// Ended implements store.Reader.
func (s *coded) Ended(ctx context.Context, refs []store.RunRef) ([]store.Run, error) {
	runs, err := s.db.Ended(ctx, refs)
	if err != nil {
		return nil, err
	}
	return runs, s.decodeRuns(ctx, runs)
}

// Load implements store.Reader.
func (s *coded) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	r, err := s.db.Load(ctx, partition, run)
	if err != nil {
		return nil, err
	}
	if err := s.decodeRun(ctx, &r.Run); err != nil {
		return nil, err
	}
	if err := s.decodeTurns(ctx, run, r.Turns, func() (*store.Run, error) { return &r.Run, nil }); err != nil {
		return nil, err
	}
	return r, s.decodeCalls(ctx, run, r.Calls)
}

// List implements store.Reader.
func (s *coded) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	runs, err := s.db.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	return runs, s.decodeRuns(ctx, runs)
}

// History implements store.Reader.
func (s *coded) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	turns, err := s.db.History(ctx, partition, run, after, limit)
	if err != nil {
		return nil, err
	}
	return turns, s.decodeTurns(ctx, run, turns, func() (*store.Run, error) {
		return s.Find(ctx, partition, "", run)
	})
}

// Calls implements store.Reader.
func (s *coded) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	calls, err := s.db.Calls(ctx, partition, run)
	if err != nil {
		return nil, err
	}
	return calls, s.decodeCalls(ctx, run, calls)
}

// Waiting implements store.Reader.
func (s *coded) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	calls, err := s.db.Waiting(ctx, filter)
	if err != nil {
		return nil, err
	}
	for i := range calls {
		c := &calls[i].Call
		if err := s.decodeAll(ctx, doc{callAt(c.Run, c.Number), &c.Data}); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// Attempts implements store.Reader.
func (s *coded) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	all, err := s.db.Attempts(ctx, partition, run, part)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.decodeAttempt(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Ledger implements store.Reader.
func (s *coded) Ledger(ctx context.Context, filter store.LedgerFilter) ([]store.LedgerEntry, error) {
	all, err := s.db.Ledger(ctx, filter)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.decodeAttempt(ctx, &all[i].Attempt); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Errors implements store.Reader.
func (s *coded) Errors(ctx context.Context, filter store.LedgerFilter) ([]store.ErrorGroup, error) {
	all, err := s.db.Errors(ctx, filter)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.decodeAttempt(ctx, &all[i].Example.Attempt); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Switches implements store.Reader.
func (s *coded) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	all, err := s.db.Switches(ctx, group, after)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.decodeSwitch(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
