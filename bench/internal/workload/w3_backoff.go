package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/human"
)

// Backoff is W3: how late a retry starts.
type Backoff struct {
	Runs []int // at once, each a case
}

// About explains the table.
func (w Backoff) About() About {
	return About{"W3", "Lateness of retries", fmt.Sprintf("Workflows that all start at once, each of one activity that fails %d times and then succeeds, with a constant backoff of %s. "+
		"Lateness is from the time an attempt was due, which is the end of the failed one plus the backoff, to the time its body began.", system.Failures, system.Backoff)}
}

// Metrics are the columns.
func (Backoff) Metrics() []Metric {
	return []Metric{{Name: "late p50", Unit: "ms", Compare: true}, {Name: "late p99", Unit: "ms", Compare: true}, {Name: "latest", Unit: "ms"}}
}

// slack is how much too early an attempt may be without being wrong: clocks are read one
// after the other, and a durable system may measure a backoff on the database's clock,
// which its nodes follow slowly.
const slack = time.Millisecond

// Run measures each case on a database of its own.
func (w Backoff) Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error) {
	return each(w.Runs, func(n int) (Sample, error) { return w.measure(ctx, p, s, n) })
}

// measure measures in the bodies.
func (w Backoff) measure(ctx context.Context, p *place.Places, s system.System, runs int) (sample Sample, err error) {
	notes := attempts{begun: map[string][]time.Time{}, ended: map[string]time.Time{}}
	b, err := lay(ctx, p, s, system.Config{InFlight: runs, Try: notes.try})
	if err != nil {
		return sample, err
	}
	defer b.strip(ctx, &err)
	retrier, ok := b.Session.(system.Retrier)
	if !ok {
		return sample, errors.ErrUnsupported
	}
	err = atOnce(runs, runs, func(i int) error {
		id := fmt.Sprintf("flaky-%06d", i)
		n, err := retrier.Flaky(ctx, id)
		if err == nil && n != system.Failures+1 {
			err = fmt.Errorf("%s says it made %d attempts, want %d", id, n, system.Failures+1)
		}
		return err
	})
	if err != nil {
		return sample, err
	}
	if err := b.Verify(ctx, system.Tally{Runs: runs, PerRun: system.Failures + 1}); err != nil {
		return sample, err
	}
	late, err := notes.lateness(runs)
	if err != nil {
		return sample, err
	}
	return Sample{Case: human.Count(runs) + " workflows", Values: map[string]float64{
		"late p50": milliseconds(late.Quantile(0.50)),
		"late p99": milliseconds(late.Quantile(0.99)),
		"latest":   milliseconds(late.Quantile(1)),
	}}, nil
}

// attempts notes when bodies began, and how late that was.
type attempts struct {
	mu    sync.Mutex
	begun map[string][]time.Time // by run
	ended map[string]time.Time   // the last that failed
	late  []time.Duration
}

// try is the body: it fails until the last attempt.
func (a *attempts) try(run string, attempt int) error {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun[run] = append(a.begun[run], now)
	if end, ok := a.ended[run]; ok {
		a.late = append(a.late, now.Sub(end.Add(system.Backoff)))
	}
	if attempt > system.Failures {
		return nil
	}
	a.ended[run] = time.Now()
	return errors.New("it fails as it should")
}

// lateness checks that each run made its attempts and none too early.
func (a *attempts) lateness(runs int) (meter.Times, error) {
	if len(a.begun) != runs || len(a.late) != runs*system.Failures {
		return nil, fmt.Errorf("%d runs had %d retries, want %d and %d", len(a.begun), len(a.late), runs, runs*system.Failures)
	}
	late := meter.Sorted(a.late)
	if late[0] < -slack {
		return nil, fmt.Errorf("an attempt began %s before it was due", -late[0])
	}
	return late, nil
}
