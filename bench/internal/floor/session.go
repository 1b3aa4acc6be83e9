package floor

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/bench/internal/system"
)

// session is the floor at work.
type session struct {
	config system.Config
	table  Table
	done   map[string]int // steps that were durable when the session began; only read

	rows    chan pending
	ended   chan struct{} // closed when the committer has
	commits atomic.Int64
}

func (s *session) Chain(_ context.Context, id string, steps int) (int, error) {
	ready := make(chan error, 1)
	for n := s.done[id]; n < steps; n++ {
		s.config.Step(n)
		if err := s.record(ready, Row{Run: id, Step: n, Attempt: 1, Result: strconv.Itoa(n + 1)}); err != nil {
			return n, err
		}
	}
	return steps, nil
}

// Flaky waits for the time after the backoff, which begins when the attempt
// ends and not when that is durable.
func (s *session) Flaky(_ context.Context, id string) (int, error) {
	ready := make(chan error, 1)
	for attempt := 1; ; attempt++ {
		failure := s.config.Try(id, attempt)
		due := time.Now().Add(system.Backoff)
		row := Row{Run: id, Attempt: attempt, Result: strconv.Itoa(attempt)}
		if failure != nil {
			row.Result = strconv.Quote(failure.Error())
		}
		if err := s.record(ready, row); err != nil || failure == nil {
			return attempt, err
		}
		time.Sleep(time.Until(due))
	}
}

func (s *session) Fan(_ context.Context, id string, width int) (int, error) {
	var steps sync.WaitGroup
	var done atomic.Int64
	failed := make(chan error, width)
	for n := range width {
		steps.Go(func() {
			s.config.Step(n)
			if err := s.record(make(chan error, 1), Row{Run: id, Step: n, Attempt: 1, Result: strconv.Itoa(n + 1)}); err != nil {
				failed <- err
				return
			}
			done.Add(1)
		})
	}
	steps.Wait()
	select {
	case err := <-failed:
		return int(done.Load()), err
	default:
		return int(done.Load()), nil
	}
}

// Verify counts the rows.
func (s *session) Verify(ctx context.Context, want system.Tally) error {
	rows, runs, err := s.table.Count(ctx)
	if err != nil {
		return err
	}
	if runs != want.Runs || want.PerRun > 0 && rows != want.Runs*want.PerRun {
		return fmt.Errorf("there are %d rows of %d runs, want %d of each of %d", rows, runs, want.PerRun, want.Runs)
	}
	return nil
}

func (s *session) Commits() (int64, bool) { return s.commits.Load(), true }

func (s *session) Close(context.Context) error {
	close(s.rows)
	<-s.ended
	return s.table.Close()
}
