package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/human"
)

// Pages is how long an operator waits for a page when there are many runs.
type Pages struct {
	Runs     int
	InFlight int
	Times    int // each page is asked for
}

// About explains the table.
func (w Pages) About() About {
	return About{"pages", "Pages of the dashboard", fmt.Sprintf("%s runs are on record. Of a hundred, two sleep for a day, one has failed after %d attempts, nine have completed after %d failed ones, and the others at once. "+
		"Each page is asked for %d times, in turns with the others and with nothing at work: the median and the longest time until it is whole, and its size.",
		human.Count(w.Runs), system.Failures+1, system.Failures, w.Times)}
}

// Metrics are the columns.
func (Pages) Metrics() []Metric {
	return []Metric{{Name: "p50", Unit: "ms"}, {Name: "longest", Unit: "ms"}, {Name: "size", Unit: "KiB"}}
}

// pages are those that depend on how many runs there are, with the filters that people use.
var pages = []string{
	"", "runs", "runs?status=failed", "runs?status=running", "runs?status=completed", "runs?workflow=chain", "runs?workflow=flaky&status=failed",
	"runs?call=backoff", "runs?q=finished-0000017", "workflows", "nodes", "audit", "gates", "schedules",
	"run?id=finished-0000017", "history?id=finished-0000017", "attempts?id=finished-0000017",
	"ledger", "ledger?since=30d", "ledger?activity=try", "ledger?activity=step", "lab", "lab?activity=try",
	"operate?op=cancel&all=yes&workflow=sleep", "operate?op=retry-now&all=yes&call=backoff",
}

// Run fills a database of its own and looks at it.
func (w Pages) Run(ctx context.Context, p *place.Places, s system.System) (samples []Sample, err error) {
	down := errors.New("the far side answered 503")
	b, err := lay(ctx, p, s, system.Config{InFlight: w.InFlight, Try: func(run string, attempt int) error {
		if attempt <= system.Failures || strings.HasPrefix(run, "failed-") {
			return down
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	defer b.strip(ctx, &err)
	viewer, is := b.Session.(system.Viewer)
	if !is || b.db.Location() == "" {
		return nil, errors.ErrUnsupported
	}
	if err := w.fill(ctx, b, viewer); err != nil {
		return nil, err
	}
	times, sizes := make([][]time.Duration, len(pages)), make([]int, len(pages))
	for range w.Times {
		for i, page := range pages {
			begin := time.Now()
			if sizes[i], err = viewer.Page(ctx, page); err != nil {
				return nil, fmt.Errorf("the page /%s: %w", page, err)
			}
			times[i] = append(times[i], time.Since(begin))
		}
	}
	for i, page := range pages {
		took := meter.Sorted(times[i])
		samples = append(samples, Sample{Case: "/" + page, Values: map[string]float64{
			"p50": milliseconds(took.Quantile(0.5)), "longest": milliseconds(took.Quantile(1)), "size": float64(sizes[i]) / 1024,
		}})
	}
	samples[0].Notes, err = describe(ctx, b.db)
	return samples, err
}

// fill puts the runs on record, each kind evenly among the others.
func (w Pages) fill(ctx context.Context, b *bed, viewer system.Viewer) error {
	return atOnce(w.InFlight, w.Runs, func(i int) error {
		switch of := i % 100; {
		case of < 2:
			return viewer.Sleep(ctx, fmt.Sprintf("asleep-%07d", i), nap)
		case of < 3:
			if attempts, err := viewer.Flaky(ctx, fmt.Sprintf("failed-%07d", i)); err == nil {
				return fmt.Errorf("a run that was to fail completed after %d attempts", attempts)
			}
			return ctx.Err()
		case of < 12:
			_, err := viewer.Flaky(ctx, fmt.Sprintf("retried-%07d", i))
			return err
		}
		return b.chain(ctx, fmt.Sprintf("finished-%07d", i), 1)
	})
}
