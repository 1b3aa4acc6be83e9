package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/report"
	"github.com/perdure/perdure/bench/internal/system"
)

// measure runs a plan: rounds in which every system has its turn, in one order and in the
// reverse by turns, so that what grows or ends beside them favors none.
func measure(ctx context.Context, places *place.Places, p plan, rounds int, progress io.Writer) (report.Table, error) {
	table := report.NewTable(p.Workload, p.against...)
	systems := slices.Clone(p.systems)
	for round := range rounds {
		var able []system.System
		for _, s := range systems {
			runtime.GC() // nobody pays for what another left
			begin := time.Now()
			samples, err := p.Run(ctx, places, s)
			if errors.Is(err, errors.ErrUnsupported) {
				continue
			}
			if err != nil {
				return table, fmt.Errorf("%s, round %d, %s on %s: %w", p.About().Name, round+1, s.Name(), s.Kind(), err)
			}
			able = append(able, s)
			table.Add(string(s.Kind()), s.Name(), samples)
			fmt.Fprintf(progress, "%s %d/%d %s on %s: %.1f s\n", p.About().Name, round+1, rounds, s.Name(), s.Kind(), time.Since(begin).Seconds())
		}
		slices.Reverse(able)
		systems = able
	}
	return table, nil
}
