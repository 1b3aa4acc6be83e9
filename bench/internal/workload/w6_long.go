package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/human"
)

// Long is W6: whether a step costs more when many came before it.
type Long struct {
	Steps []int // of the workflow, each a case
	Edge  int   // how many of the first and of the last steps are compared
}

// About explains the table.
func (w Long) About() About {
	return About{"W6", "Long runs", fmt.Sprintf("One workflow of many activities that do nothing, one after the other. Last ÷ first compares the time of the last %d with that of the first %d; the second such column does so with the medians of their times, which a busy machine disturbs less.", w.Edge, w.Edge)}
}

// Metrics are the columns.
func (Long) Metrics() []Metric {
	return []Metric{{Name: "activities", Unit: "/s", Compare: true}, {Name: "first", Unit: "ms"}, {Name: "last", Unit: "ms"}, {Name: "last ÷ first"}, {Name: "of medians"}}
}

// Run measures each case on a database of its own.
func (w Long) Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error) {
	return each(w.Steps, func(steps int) (Sample, error) { return w.measure(ctx, p, s, steps) })
}

func (w Long) measure(ctx context.Context, p *place.Places, s system.System, steps int) (sample Sample, err error) {
	begun := make([]time.Time, 0, steps) // one body at a time writes it
	b, err := lay(ctx, p, s, system.Config{InFlight: 1, Step: func(n int) {
		if n == len(begun) {
			begun = append(begun, time.Now())
		}
	}})
	if err != nil {
		return sample, err
	}
	defer b.strip(ctx, &err)
	if err := b.chain(ctx, "long", steps); err != nil {
		return sample, err
	}
	if len(begun) != steps {
		return sample, fmt.Errorf("%d bodies began in order, want %d", len(begun), steps)
	}
	if err := b.Verify(ctx, system.Tally{Runs: 1, PerRun: steps}); err != nil {
		return sample, err
	}
	first, last := intervals(begun[:w.Edge+1]), intervals(begun[steps-1-w.Edge:])
	return Sample{Case: human.Count(steps) + " activities", Values: map[string]float64{
		"activities":   float64(steps-1) / begun[steps-1].Sub(begun[0]).Seconds(),
		"first":        milliseconds(first.Sum()),
		"last":         milliseconds(last.Sum()),
		"last ÷ first": float64(last.Sum()) / float64(first.Sum()),
		"of medians":   float64(last.Quantile(0.5)) / float64(first.Quantile(0.5)),
	}}, nil
}

// intervals are the times between moments.
func intervals(moments []time.Time) meter.Times {
	var times []time.Duration
	for i, m := range moments[1:] {
		times = append(times, m.Sub(moments[i]))
	}
	return meter.Sorted(times)
}
