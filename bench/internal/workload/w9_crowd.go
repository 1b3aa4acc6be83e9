package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/human"
)

// Crowd is W9: many more runs than there are slots, started at once, and a process that
// begins with as many that wait.
type Crowd struct {
	Runs  int
	Steps int
	Width int // starts at a time
}

// About explains the table.
func (w Crowd) About() About {
	return About{"W9", "More runs than slots", fmt.Sprintf("%s workflows of %d activities are started as fast as the starts are durable. In the first case the activities do nothing, and all workflows are run. "+
		"In the second they take no end, the process stops, and the next one opens the database, in which nearly all workflows wait; then they do nothing again, all are run, and a few more are started beside them: "+
		"the answer to a start is when it is durable. "+
		"Memory is what the whole process holds in RAM at most beyond what it held before, after garbage collection: that of SQLite's page cache, which has a bound, included.", human.Count(w.Runs), w.Steps)}
}

// Metrics are the columns.
func (Crowd) Metrics() []Metric {
	return []Metric{{Name: "started", Unit: "/s"}, {Name: "workflows", Unit: "/s"}, {Name: "start answered p50", Unit: "ms"}, {Name: "start answered last", Unit: "ms"}, {Name: "memory", Unit: "MiB"}, {Name: "Go memory", Unit: "MiB"}}
}

// Run measures each case on a database of its own.
func (w Crowd) Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error) {
	first, err := w.atOnce(ctx, p, s)
	if err != nil {
		return nil, err
	}
	second, err := w.restart(ctx, p, s)
	if errors.Is(err, errors.ErrUnsupported) {
		return []Sample{first}, nil
	}
	return []Sample{first, second}, err
}

// atOnce starts all and waits until all are done.
func (w Crowd) atOnce(ctx context.Context, p *place.Places, s system.System) (sample Sample, err error) {
	b, err := lay(ctx, p, s, system.Config{InFlight: w.Width})
	if err != nil {
		return sample, err
	}
	defer b.strip(ctx, &err)
	peak, err := meter.Watch()
	if err != nil {
		return sample, err
	}
	defer peak.Stop()
	begin := time.Now()
	if err := w.start(ctx, b); err != nil {
		return sample, err
	}
	started := time.Since(begin)
	if err := b.settled(ctx, system.Tally{Runs: w.Runs, PerRun: w.Steps}, w.Runs*w.Steps); err != nil {
		return sample, err
	}
	done := time.Since(begin)
	most := peak.Stop()
	return Sample{Case: "all are run", Values: map[string]float64{
		"started": float64(w.Runs) / started.Seconds(), "workflows": float64(w.Runs) / done.Seconds(),
		"memory": mib(most.Resident), "Go memory": mib(most.Go),
	}}, nil
}

// restart opens a database in which nearly all wait, and lets them continue then.
func (w Crowd) restart(ctx context.Context, p *place.Places, s system.System) (sample Sample, err error) {
	if !s.Resumes() {
		return sample, errors.ErrUnsupported
	}
	gate := make(chan struct{})
	b, err := lay(ctx, p, s, system.Config{InFlight: w.Width, Step: func(int) { <-gate }})
	if err != nil {
		return sample, err
	}
	defer b.strip(ctx, &err)
	if err := w.start(ctx, b); err != nil {
		close(gate)
		return sample, err
	}
	time.AfterFunc(time.Second, func() { close(gate) }) // the attempts that run may end, and the session is ending by then
	if err := b.close(ctx); err != nil {
		return sample, err
	}
	closed := make(chan struct{})
	b.config.Step = func(int) { <-closed }
	peak, err := meter.Watch()
	if err != nil {
		return sample, err
	}
	defer peak.Stop()
	err = b.open(ctx)
	time.Sleep(time.Second) // to load what there is
	most := peak.Stop()
	begin := time.Now()
	close(closed)
	if err != nil {
		return sample, err
	}
	answered, err := w.beside(ctx, b)
	if err != nil {
		return sample, err
	}
	all := w.Runs + len(answered)
	if err := b.settled(ctx, system.Tally{Runs: all}, all*w.Steps); err != nil {
		return sample, err
	}
	done := time.Since(begin)
	return Sample{Case: "opened while they wait", Values: map[string]float64{
		"workflows":          float64(all) / done.Seconds(),
		"start answered p50": milliseconds(meter.Sorted(answered).Quantile(0.5)), "start answered last": milliseconds(meter.Sorted(answered).Quantile(1)),
		"memory": mib(most.Resident), "Go memory": mib(most.Go),
	}}, nil
}

// beside starts a few workflows while others are run, and returns when each was answered.
func (w Crowd) beside(ctx context.Context, b *bed) (answered []time.Duration, err error) {
	starter := b.Session.(system.Starter)
	for i := range 20 {
		begin := time.Now()
		if _, err := starter.Start(ctx, fmt.Sprintf("beside-%d", i), w.Steps); err != nil {
			return nil, err
		}
		answered = append(answered, time.Since(begin))
		time.Sleep(20 * time.Millisecond)
	}
	return answered, nil
}

func (w Crowd) start(ctx context.Context, b *bed) error {
	starter, is := b.Session.(system.Starter)
	if !is {
		return errors.ErrUnsupported
	}
	return atOnce(w.Width, w.Runs, func(i int) error {
		_, err := starter.Start(ctx, fmt.Sprintf("run-%06d", i), w.Steps)
		return err
	})
}

// settled waits until a number of bodies ran, and then until the database says what it should.
// It is not asked before: to count all its runs is work.
func (b *bed) settled(ctx context.Context, want system.Tally, bodies int) error {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if b.executed.Load() < int64(bodies) && ctx.Err() == nil && time.Since(begin) < 9*time.Minute {
			continue
		}
		err := b.Verify(ctx, want)
		if err == nil {
			return b.ran(bodies)
		}
		if ctx.Err() != nil || time.Since(begin) > 10*time.Minute {
			return err
		}
	}
}

func mib(bytes int64) float64 { return max(0, float64(bytes)/(1<<20)) }
