package postgres

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/storetest"
	"pgregory.net/rapid"
)

// TestLockstep plays the same random operations against PostgreSQL and the model
// of all stores. Time does not go back here: what is known of it then is looked
// at in TestClock.
func TestLockstep(t *testing.T) {
	storetest.Checks(t, extent.AtNight(15, 100))
	var clock func() int64 // of both
	var r recycled
	var last *clocked
	storetest.Lockstep(t,
		func(rt *rapid.T, now func() int64) store.Opener {
			clock = ahead(now)
			return &counted{Opener: memory.New(memory.Clock(clock))}
		},
		func(rt *rapid.T, _ func() int64) store.Opener {
			if last != nil {
				last.conn.Close(t.Context()) // there may be hundreds
			}
			last = newClockedIn(t, r.next(t), clock, Partitions(1))
			return &counted{Opener: last}
		})
}

// ahead makes a clock that stands still where the other one goes back.
func ahead(clock func() int64) func() int64 {
	var highest int64
	return func() int64 {
		highest = max(highest, clock())
		return highest
	}
}

// counted numbers messages as they appear: a sequence of PostgreSQL leaves
// numbers out where something is undone or dropped.
type counted struct {
	store.Opener
	real []int64 // the store's number of each message
}

func (c *counted) Open(ctx context.Context) (store.Store, error) {
	s, err := c.Opener.Open(ctx)
	return &counting{s, c}, err
}

type counting struct {
	store.Store
	c *counted
}

// count takes in what has appeared.
func (s *counting) count(ctx context.Context) error {
	messages, err := s.Store.Inbox(ctx, []int{0, 1}, store.InboxRead{})
	for _, m := range messages {
		if !slices.Contains(s.c.real, m.Sequence) {
			s.c.real = append(s.c.real, m.Sequence)
		}
	}
	return err
}

func (s *counting) Create(ctx context.Context, r store.Run) error {
	return cmp.Or(s.Store.Create(ctx, r), s.count(ctx))
}

func (s *counting) Post(ctx context.Context, m store.Message) error {
	return cmp.Or(s.Store.Post(ctx, m), s.count(ctx))
}

// Commit leaves out what cannot be compared: the number of a message that the
// same batch sends, and what a turn consumes after another turn of the batch has
// sent something. A batch is one moment: whether a message finds the one that it
// repeats still waiting is then a matter of taste, and PostgreSQL lets all turns
// consume before any sends.
func (s *counting) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	turns = slices.Clone(turns)
	sent := false
	for i := range turns {
		t := &turns[i]
		var consumed []int64
		for _, n := range t.Consumed {
			if n <= int64(len(s.c.real)) && !sent {
				consumed = append(consumed, s.c.real[n-1])
			}
		}
		t.Consumed = consumed
		sent = sent || len(t.Messages) > 0
	}
	result, err := s.Store.Commit(ctx, turns)
	return result, cmp.Or(err, s.count(ctx))
}

func (s *counting) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	if read.After > 0 && read.After <= int64(len(s.c.real)) {
		read.After = s.c.real[read.After-1]
	} else if read.After > 0 {
		read.After = 1 << 62
	}
	messages, err := s.Store.Inbox(ctx, partitions, read)
	return s.renumbered(messages), err
}

func (s *counting) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	messages, err := s.Store.Posted(ctx, partition, workflowID)
	return s.renumbered(messages), err
}

func (s *counting) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	messages, err := s.Store.Take(ctx, partition, workflowID)
	return s.renumbered(messages), err
}

// renumbered gives messages the numbers that they would have without gaps.
func (s *counting) renumbered(messages []store.Message) []store.Message {
	for i := range messages {
		messages[i].Sequence = int64(slices.Index(s.c.real, messages[i].Sequence) + 1)
	}
	return messages
}
