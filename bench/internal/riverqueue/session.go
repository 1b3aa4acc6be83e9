package riverqueue

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"

	"github.com/perdure/perdure/bench/internal/system"
)

func (s *session) Chain(ctx context.Context, id string, steps int) (int, error) {
	return s.run(ctx, id, stepArgs{Run: id, Steps: steps})
}

func (s *session) Flaky(ctx context.Context, id string) (int, error) {
	return s.run(ctx, id, tryArgs{Run: id})
}

// run inserts the first job of a run and waits for the end of its last one.
func (s *session) run(ctx context.Context, id string, first river.JobArgs) (int, error) {
	end := make(chan int, 1)
	s.mu.Lock()
	s.waiting[id] = end
	s.mu.Unlock()
	if _, err := s.client.Insert(ctx, first, nil); err != nil {
		return 0, err
	}
	select {
	case n := <-end:
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// ended tells who waits for a run that its last job is durable.
func (s *session) ended(id string, n int) {
	s.mu.Lock()
	end := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if end != nil {
		end <- n
	}
}

// Verify looks at the jobs. A step that failed is one job with several attempts.
func (s *session) Verify(ctx context.Context, want system.Tally) error {
	var runs, completed, attempts, others int
	err := s.pool.QueryRow(ctx, `SELECT count(DISTINCT args->>'run') FILTER (WHERE state = 'completed'),
			count(*) FILTER (WHERE state = 'completed'), coalesce(sum(attempt), 0), count(*) FILTER (WHERE state <> 'completed')
		FROM river_job`).Scan(&runs, &completed, &attempts, &others)
	if err != nil {
		return err
	}
	if runs != want.Runs || others > 0 || want.PerRun > 0 && attempts != want.Runs*want.PerRun {
		return fmt.Errorf("%d runs made %d attempts in %d completed jobs, and %d jobs are not completed; want %d runs with %d attempts each", runs, attempts, completed, others, want.Runs, want.PerRun)
	}
	return nil
}

// Commits are the server's to count.
func (s *session) Commits() (int64, bool) { return 0, false }

func (s *session) Close(ctx context.Context) error {
	err := s.client.Stop(ctx)
	s.pool.Close()
	return err
}
