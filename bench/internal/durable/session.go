package durable

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// session is an engine at work.
type session struct {
	*perdure.Engine
	store *counted
	keys  int // 0: runs have none
}

// key returns the option that gives a run its key.
func (s *session) key(id string) []perdure.StartOption {
	if s.keys == 0 {
		return nil
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return []perdure.StartOption{workflow.Key(fmt.Sprint("tenant-", h.Sum32()%uint32(s.keys)))}
}

func open(ctx context.Context, db store.Opener, c system.Config, settings ...perdure.Option) (*session, error) {
	return openAs(ctx, db, "bench", append(settings, definitions(c))...)
}

// openAs opens an engine of this name.
func openAs(ctx context.Context, db store.Opener, name string, settings ...perdure.Option) (*session, error) {
	s := &session{store: &counted{Opener: db}}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	// The name lets the next process continue immediately after a crash, without waiting
	// for the lease.
	eng, err := perdure.Open(ctx, s.store, append(settings, perdure.Logger(log), perdure.NodeName(name),
		perdure.MaxHistory(1_000_000))...) // W6 is about runs that grow long
	if err != nil {
		return nil, err
	}
	s.Engine = eng
	if err := eng.Start(ctx); err != nil {
		return nil, errors.Join(err, eng.Close())
	}
	return s, nil
}

func (s *session) Chain(ctx context.Context, id string, steps int) (int, error) {
	return perdure.Run(ctx, s.Engine, chain, id, steps, s.key(id)...)
}

func (s *session) Flaky(ctx context.Context, id string) (int, error) {
	return perdure.Run(ctx, s.Engine, flaky, id, struct{}{})
}

func (s *session) Fan(ctx context.Context, id string, width int) (int, error) {
	return perdure.Run(ctx, s.Engine, fan, id, width)
}

func (s *session) Sleep(ctx context.Context, id string, d time.Duration) error {
	_, err := perdure.Start(ctx, s.Engine, sleep, id, d)
	return err
}

func (s *session) Start(ctx context.Context, id string, steps int) (func(context.Context) (int, error), error) {
	run, err := perdure.Start(ctx, s.Engine, chain, id, steps, s.key(id)...)
	return run.Result, err
}

func (s *session) Newest(ctx context.Context) (int, error) {
	page, err := s.List(ctx, view.Filter{})
	return len(page), err
}

func (s *session) Delete(ctx context.Context) (int, error) {
	result, err := ops.Sweep(ctx, s.Engine, view.Retention{Completed: time.Nanosecond})
	return result.Runs, err
}

func (s *session) Commits() (int64, bool) { return s.store.commits.Load(), true }

func (s *session) Turns() int64 { return s.store.turns.Load() }

func (s *session) Close(ctx context.Context) error { return s.Stop(ctx) }

// Verify compares the counts of the database, and of the newest runs the
// attempts on record.
func (s *session) Verify(ctx context.Context, want system.Tally) error {
	counts, err := ops.Counts(ctx, s.Engine, 0)
	if err != nil {
		return err
	}
	completed, open := counts.Runs[view.StatusCompleted], counts.Runs[view.StatusRunning]
	if completed != want.Runs || open != want.Asleep {
		return fmt.Errorf("%d runs are completed and %d open, want %d and %d", completed, open, want.Runs, want.Asleep)
	}
	if len(counts.Calls) > 0 {
		return fmt.Errorf("calls have rows although nothing is in flight: %v", counts.Calls)
	}
	if want.PerRun > 0 {
		if err := s.verifyAttempts(ctx, want.PerRun); err != nil {
			return err
		}
	}
	return s.Health()
}

func (s *session) verifyAttempts(ctx context.Context, want int) error {
	newest, err := s.List(ctx, view.Filter{Status: []string{view.StatusCompleted}})
	if err != nil {
		return err
	}
	for _, run := range newest {
		attempts, err := s.Workflow(run.WorkflowID).Attempts(ctx)
		if err != nil {
			return err
		}
		if len(attempts) != want {
			return fmt.Errorf("run %s has %d attempts on record, want %d", run.WorkflowID, len(attempts), want)
		}
	}
	return nil
}
