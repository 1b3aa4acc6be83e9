package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Latency is W2: one workflow at a time, and how long it takes.
type Latency struct {
	Steps []int // of a workflow, each a case
	Runs  int   // workflows a case
}

// About explains the table.
func (w Latency) About() About {
	return About{"W2", "Latency", fmt.Sprintf("One workflow at a time, from its start to its durable result, %d times.", w.Runs)}
}

// Metrics are the columns.
func (Latency) Metrics() []Metric {
	return []Metric{{Name: "p50", Unit: "ms", Compare: true}, {Name: "p99", Unit: "ms"}}
}

// Run measures each case on a database of its own.
func (w Latency) Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error) {
	return each(w.Steps, func(steps int) (Sample, error) { return w.measure(ctx, p, s, steps) })
}

func (w Latency) measure(ctx context.Context, p *place.Places, s system.System, steps int) (sample Sample, err error) {
	b, err := lay(ctx, p, s, system.Config{InFlight: 1})
	if err != nil {
		return Sample{}, err
	}
	defer b.strip(ctx, &err)
	warm := w.Runs / 10
	if _, err := b.latencies(ctx, "warm", warm, steps); err != nil {
		return Sample{}, err
	}
	times, err := b.latencies(ctx, "run", w.Runs, steps)
	if err != nil {
		return Sample{}, err
	}
	if err := b.ran((warm + w.Runs) * steps); err != nil {
		return Sample{}, err
	}
	if err := b.Verify(ctx, system.Tally{Runs: warm + w.Runs, PerRun: steps}); err != nil {
		return Sample{}, err
	}
	name := fmt.Sprintf("%d activities", steps)
	if steps == 1 {
		name = "1 activity"
	}
	return Sample{Case: name, Values: map[string]float64{
		"p50": milliseconds(times.Quantile(0.50)),
		"p99": milliseconds(times.Quantile(0.99)),
	}}, nil
}

// latencies runs n chains one after the other and measures each.
func (b *bed) latencies(ctx context.Context, prefix string, n, steps int) (meter.Times, error) {
	times := make([]time.Duration, n)
	for i := range times {
		begin := time.Now()
		if err := b.chain(ctx, fmt.Sprintf("%s-%06d", prefix, i), steps); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin)
	}
	return meter.Sorted(times), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
