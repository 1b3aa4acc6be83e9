package workload

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Nodes is W1 on several nodes that share a database, with workflows of several lengths.
type Nodes struct {
	Throughput
	Lengths []int // activities of a workflow
}

// About explains the table.
func (w Nodes) About() About {
	return About{"nodes", "Several nodes", fmt.Sprintf("As W1 (%d workflows at once) on one, two and four nodes, which share a PostgreSQL on the same machine and are in one process. "+
		"Workflows are started at one node after the other, and run where their partition is: with more nodes most starts are transactions of their own, and their ends are news from another node. "+
		"The longer the workflow, the more CPU ÷ 1 node is that of a step.", w.InFlight)}
}

// Run measures each length.
func (w Nodes) Run(ctx context.Context, p *place.Places, s system.System) (samples []Sample, err error) {
	for _, steps := range w.Lengths {
		w1 := w.Throughput
		w1.Steps = steps
		of, err := w1.Run(ctx, p, s)
		if err != nil {
			return nil, err
		}
		for i := range of {
			of[i].Case = fmt.Sprintf("%d activities", steps)
		}
		samples = append(samples, of...)
	}
	return samples, nil
}
