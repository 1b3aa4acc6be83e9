package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Throughput is W1: many short workflows at once, and what one costs.
type Throughput struct {
	Steps    int           // of a workflow
	InFlight int           // workflows at once
	Clients  int           // that start workflows and do not wait for them; 0: each waits, as in InFlight
	Runs     int           // workflows; 0: as many as take about For
	For      time.Duration // how long the measured part lasts
}

// About explains the table.
func (w Throughput) About() About {
	if w.Clients > 0 {
		return About{"W1s", "Throughput of clients that do not wait", fmt.Sprintf("The workflows of W1. %d clients start them, one after the other, as fast as each start is durable; "+
			"then they fetch all results. The time is from the first start to the last result.", w.Clients)}
	}
	return About{"W1", "Throughput", fmt.Sprintf("Workflows of %d activities that do nothing, one after the other, %d workflows at once. "+
		"CPU, turns, commits, bytes and allocations are those of one workflow. CPU is of this process, load generator included, and of all processes of PostgreSQL, whose part is shown too. "+
		"Written is what the process sent to the disk (SQLite) or the write-ahead log (PostgreSQL).", w.Steps, w.InFlight)}
}

// Metrics are the columns.
func (Throughput) Metrics() []Metric {
	return []Metric{
		{Name: "workflows", Unit: "/s", Compare: true},
		{Name: "CPU", Unit: "ms", Compare: true},
		{Name: "server's part", Unit: "ms"},
		{Name: "turns"},
		{Name: "commits"},
		{Name: "written", Unit: "KiB"},
		{Name: "allocations"},
		{Name: "allocated", Unit: "KiB"},
	}
}

// Run warms the system up in a session of its own, which also shows how fast it
// is, and measures in a second one.
func (w Throughput) Run(ctx context.Context, p *place.Places, s system.System) (samples []Sample, err error) {
	b, err := lay(ctx, p, s, system.Config{InFlight: w.InFlight})
	if err != nil {
		return nil, err
	}
	defer b.strip(ctx, &err)
	warm := 2 * w.InFlight
	begin := time.Now()
	if err := w.chains(ctx, b, "warm", warm); err != nil {
		return nil, err
	}
	n := w.Runs
	if n == 0 {
		rate := float64(warm) / time.Since(begin).Seconds()
		n = max(5*w.InFlight, int(rate*w.For.Seconds()))
	}
	if err := b.close(ctx); err != nil {
		return nil, err
	}
	values, err := w.measure(ctx, b, n)
	if err != nil {
		return nil, err
	}
	if err := b.ran((warm + n) * w.Steps); err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	if err := b.Verify(ctx, system.Tally{Runs: warm + n, PerRun: w.Steps}); err != nil {
		return nil, err
	}
	return []Sample{{Values: values}}, nil
}

// measure runs n workflows in a session of their own. Commits and bytes are those
// of the session, so that what is written only at its end counts too.
func (w Throughput) measure(ctx context.Context, b *bed, n int) (map[string]float64, error) {
	before, _, err := b.db.Commits(ctx)
	if err != nil {
		return nil, err
	}
	m, err := meter.Start(ctx, b.db)
	if err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	load, err := b.load(ctx, func() error { return w.chains(ctx, b, "run", n) })
	if err != nil {
		return nil, err
	}
	commits, counted := b.Commits()
	turner, turns := b.Session.(system.Turner)
	if err := b.close(ctx); err != nil {
		return nil, err
	}
	session, err := m.Stop(ctx)
	if err != nil {
		return nil, err
	}
	if after, known, err := b.db.Commits(ctx); err != nil {
		return nil, err
	} else if known {
		commits, counted = after-before, true
	}
	values := map[string]float64{
		"workflows":   float64(n) / load.Wall.Seconds(),
		"CPU":         perRun(load.CPUs(), n),
		"allocations": float64(load.Allocs) / float64(n),
		"allocated":   float64(load.Allocated) / 1024 / float64(n),
	}
	if turns {
		values["turns"] = float64(turner.Turns()) / float64(n)
	}
	if counted {
		values["commits"] = float64(commits) / float64(n)
	}
	if b.db.Location() != "" {
		values["written"] = float64(session.Written) / 1024 / float64(n)
	}
	if load.Server > 0 {
		values["server's part"] = perRun(load.Server, n)
	}
	return values, nil
}

// chains runs n chains whose IDs begin with prefix.
func (w Throughput) chains(ctx context.Context, b *bed, prefix string, n int) error {
	if w.Clients == 0 {
		return b.chains(ctx, prefix, n, w.Steps)
	}
	starts, is := b.Session.(system.Starter)
	if !is {
		return fmt.Errorf("%s cannot start without waiting: %w", b.system.Name(), errors.ErrUnsupported)
	}
	ends := make([]func(context.Context) (int, error), n)
	err := atOnce(w.Clients, n, func(i int) (err error) {
		ends[i], err = starts.Start(ctx, fmt.Sprintf("%s-%06d", prefix, i), w.Steps)
		return err
	})
	if err != nil {
		return err
	}
	return atOnce(w.Clients, n, func(i int) error {
		done, err := ends[i](ctx)
		if err == nil && done != w.Steps {
			err = fmt.Errorf("%s-%06d answers %d steps, want %d", prefix, i, done, w.Steps)
		}
		return err
	})
}

// load measures some work.
func (b *bed) load(ctx context.Context, work func() error) (meter.Spent, error) {
	m, err := meter.Start(ctx, b.db)
	if err != nil {
		return meter.Spent{}, err
	}
	if err := work(); err != nil {
		return meter.Spent{}, err
	}
	return m.Stop(ctx)
}

// perRun is the share of one of n in milliseconds.
func perRun(d time.Duration, n int) float64 {
	return float64(d) / float64(time.Millisecond) / float64(n)
}
