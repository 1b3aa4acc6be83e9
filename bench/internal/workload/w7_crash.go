package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Crash is W7: kill -9 of a process with many workflows in flight, and the time
// from the start of the next one.
type Crash struct {
	Runs   int
	Steps  int
	Bodies []time.Duration // how long a step takes, each a case
}

// About explains the table.
func (w Crash) About() About {
	return About{"W7", "After kill -9", fmt.Sprintf("A process with %d workflows of %d activities each is killed when a third of the activities has begun. "+
		"Times are from the start of the next process, its loading included, until it begins the first activity and until all workflows are done. "+
		"Repeated are activities that the second process executed although the first had begun them.", w.Runs, w.Steps)}
}

// Metrics are the columns.
func (Crash) Metrics() []Metric {
	return []Metric{{Name: "in flight"}, {Name: "first activity", Unit: "ms", Compare: true}, {Name: "all done", Unit: "ms", Compare: true}, {Name: "repeated"}}
}

// Run measures each case on a database of its own.
func (w Crash) Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error) {
	if !s.Resumes() {
		return nil, errors.ErrUnsupported
	}
	return each(w.Bodies, func(body time.Duration) (Sample, error) { return w.measure(ctx, p, s, body) })
}

func (w Crash) measure(ctx context.Context, p *place.Places, s system.System, body time.Duration) (sample Sample, err error) {
	db, err := p.Fresh(ctx, s.Kind())
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, db.Drop(context.WithoutCancel(ctx))) }()
	life := Life{System: s.Name(), Kind: s.Kind(), Location: db.Location(), Runs: w.Runs, Steps: w.Steps, Body: body}
	first, err := life.untilKilled(ctx, p.Dir())
	if err != nil {
		return sample, fmt.Errorf("first life: %w", err)
	}
	second, err := life.untilDone(ctx, p.Dir())
	if err != nil {
		return sample, fmt.Errorf("second life: %w", err)
	}
	// A run has one activity in flight; all others that had begun were durable.
	inFlight := w.Runs - first.done
	repeated := first.begun + second.begun - w.Runs*w.Steps
	if repeated < 0 || repeated > inFlight {
		return sample, fmt.Errorf("%d activities began before the crash and %d after it, which repeats %d of %d although %d were in flight", first.begun, second.begun, repeated, w.Runs*w.Steps, inFlight)
	}
	if err := w.verify(ctx, s, db); err != nil {
		return sample, err
	}
	name := "activities do nothing"
	if body > 0 {
		name = fmt.Sprintf("activities take %s", body)
	}
	return Sample{Case: name, Values: map[string]float64{
		"in flight":      float64(inFlight),
		"first activity": milliseconds(second.toFirst),
		"all done":       milliseconds(second.toEnd),
		"repeated":       float64(repeated),
	}}, nil
}

func (w Crash) verify(ctx context.Context, s system.System, db place.Database) (err error) {
	b := &bed{system: s, config: system.Config{InFlight: w.Runs}, db: db}
	if err := b.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	return b.Verify(ctx, system.Tally{Runs: w.Runs})
}
