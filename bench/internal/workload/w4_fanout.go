package workload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/human"
)

// FanOut is W4: one workflow with many activities at once.
type FanOut struct {
	Width    int // activities of a workflow
	InFlight int // of them at once
	Runs     int // workflows, one after the other
}

// About explains the table.
func (w FanOut) About() About {
	return About{"W4", "Fan-out", fmt.Sprintf("One workflow that starts %s activities that do nothing at once and waits for all of them; %d can run at a time. CPU is that of one activity, as in W1.",
		human.Count(w.Width), w.InFlight)}
}

// Metrics are the columns.
func (FanOut) Metrics() []Metric {
	return []Metric{{Name: "p50", Unit: "ms", Compare: true}, {Name: "activities", Unit: "/s"}, {Name: "CPU", Unit: "ms", Compare: true}, {Name: "server's part", Unit: "ms"}}
}

// Run measures workflows one after the other.
func (w FanOut) Run(ctx context.Context, p *place.Places, s system.System) (samples []Sample, err error) {
	executed := make([]atomic.Int64, w.Width)
	b, err := lay(ctx, p, s, system.Config{InFlight: w.InFlight, Step: func(n int) { executed[n].Add(1) }})
	if err != nil {
		return nil, err
	}
	defer b.strip(ctx, &err)
	fan, ok := b.Session.(system.FanOuter)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	m, err := meter.Start(ctx, b.db)
	if err != nil {
		return nil, err
	}
	times := make([]time.Duration, w.Runs)
	for i := range times {
		begin := time.Now()
		n, err := fan.Fan(ctx, fmt.Sprintf("fan-%06d", i), w.Width)
		if err != nil {
			return nil, err
		}
		if n != w.Width {
			return nil, fmt.Errorf("fan %d answers %d activities, want %d", i, n, w.Width)
		}
		times[i] = time.Since(begin)
	}
	spent, err := m.Stop(ctx)
	if err != nil {
		return nil, err
	}
	for n := range executed {
		if got := executed[n].Load(); got != int64(w.Runs) {
			return nil, fmt.Errorf("activity %d ran %d times in %d workflows", n, got, w.Runs)
		}
	}
	if err := b.Verify(ctx, system.Tally{Runs: w.Runs, PerRun: w.Width}); err != nil {
		return nil, err
	}
	all := w.Runs * w.Width
	values := map[string]float64{
		"p50":        milliseconds(meter.Sorted(times).Quantile(0.5)),
		"activities": float64(all) / spent.Wall.Seconds(),
		"CPU":        perRun(spent.CPUs(), all),
	}
	if spent.Server > 0 {
		values["server's part"] = perRun(spent.Server, all)
	}
	return []Sample{{Values: values}}, nil
}
