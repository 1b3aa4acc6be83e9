package workload

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Queues is W8: steps that run in another process than the one which decides, as jobs of
// a queue do.
type Queues struct {
	Throughput
	Latency
}

// About explains the table.
func (w Queues) About() About {
	return About{"W8", "Queues", fmt.Sprintf("As W1 (%d activities, %d workflows at once) and W2, with activities in a queue that another engine serves, "+
		"beside the same without a queue and beside River with its default settings. Both engines are in one process, as River's client and workers are.", w.Throughput.Steps, w.InFlight)}
}

// Metrics are the columns: of W1, then of W2.
func (Queues) Metrics() []Metric {
	return []Metric{
		{Name: "workflows", Unit: "/s", Compare: true},
		{Name: "CPU", Unit: "ms", Compare: true},
		{Name: "server's part", Unit: "ms"},
		{Name: "commits"},
		{Name: "p50", Unit: "ms", Compare: true},
		{Name: "p99", Unit: "ms"},
	}
}

// Run measures both.
func (w Queues) Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error) {
	many, err := w.Throughput.Run(ctx, p, s)
	if err != nil {
		return nil, err
	}
	one, err := w.Latency.Run(ctx, p, s)
	if err != nil {
		return nil, err
	}
	for i := range many {
		many[i].Case = fmt.Sprintf("%d at once", w.InFlight)
		for _, name := range []string{"turns", "written", "allocations", "allocated"} {
			delete(many[i].Values, name)
		}
	}
	for i := range one {
		one[i].Case += ", one at a time"
	}
	return append(many, one...), nil
}
