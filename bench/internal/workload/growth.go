package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/human"
)

// Growth is what a large database costs: as many runs that sleep as have ended.
type Growth struct {
	Runs     int // of each
	InFlight int
	Probes   int // workflows, one at a time, whose latency is measured
}

// About explains the table.
func (w Growth) About() About {
	return About{"growth", "Large databases", fmt.Sprintf("%s runs are started that sleep for a day, and %s runs of one activity are finished. Then the process opens the database again: "+
		"until its engine has started, and until a new workflow of one activity has completed; the latency of %d more; how long the first page of a list takes, and all that is counted; "+
		"how fast what is finished is deleted, and what tables and indexes occupy before and after.", human.Count(w.Runs), human.Count(w.Runs), w.Probes)}
}

// Metrics are the columns.
func (Growth) Metrics() []Metric {
	return []Metric{
		{Name: "asleep added", Unit: "/s"}, {Name: "finished added", Unit: "/s"},
		{Name: "start", Unit: "ms"}, {Name: "first progress", Unit: "ms"},
		{Name: "p50", Unit: "ms"}, {Name: "p99", Unit: "ms"},
		{Name: "list", Unit: "ms"}, {Name: "counts", Unit: "ms"},
		{Name: "deleted", Unit: "/s"},
		{Name: "stored", Unit: "MiB"}, {Name: "after deletion", Unit: "MiB"},
	}
}

// Run loads a database of its own, opens it again and measures.
func (w Growth) Run(ctx context.Context, p *place.Places, s system.System) (samples []Sample, err error) {
	b, err := lay(ctx, p, s, system.Config{InFlight: w.InFlight})
	if err != nil {
		return nil, err
	}
	defer b.strip(ctx, &err)
	if _, is := b.Session.(system.Keeper); !is || b.db.Location() == "" {
		return nil, errors.ErrUnsupported
	}
	values := map[string]float64{}
	if err := w.load(ctx, b, values); err != nil {
		return nil, err
	}
	tally := system.Tally{Runs: w.Runs, Asleep: w.Runs}
	if err := w.reopen(ctx, b, values); err != nil {
		return nil, err
	}
	tally.Runs += 1 + w.Probes
	if err := b.ran(tally.Runs); err != nil {
		return nil, err
	}
	notes, err := w.keep(ctx, b, tally, values)
	return []Sample{{Values: values, Notes: notes}}, err
}

// load fills the database and ends the session.
func (w Growth) load(ctx context.Context, b *bed, values map[string]float64) error {
	begin := time.Now()
	sleeper := b.Session.(system.Sleeper)
	err := atOnce(w.InFlight, w.Runs, func(i int) error {
		return sleeper.Sleep(ctx, fmt.Sprintf("asleep-%07d", i), nap)
	})
	if err != nil {
		return err
	}
	values["asleep added"] = float64(w.Runs) / time.Since(begin).Seconds()
	begin = time.Now()
	if err := b.chains(ctx, "finished", w.Runs, 1); err != nil {
		return err
	}
	values["finished added"] = float64(w.Runs) / time.Since(begin).Seconds()
	return b.close(ctx)
}

// reopen begins the next session, and measures how soon and how fast it works.
func (w Growth) reopen(ctx context.Context, b *bed, values map[string]float64) error {
	begin := time.Now()
	if err := b.open(ctx); err != nil {
		return err
	}
	values["start"] = milliseconds(time.Since(begin))
	if err := b.chain(ctx, "first", 1); err != nil {
		return err
	}
	values["first progress"] = milliseconds(time.Since(begin))
	times, err := b.latencies(ctx, "probe", w.Probes, 1)
	if err == nil {
		values["p50"], values["p99"] = milliseconds(times.Quantile(0.50)), milliseconds(times.Quantile(0.99))
	}
	return err
}

// keep lists, counts and deletes what is there.
func (w Growth) keep(ctx context.Context, b *bed, tally system.Tally, values map[string]float64) ([]string, error) {
	keeper := b.Session.(system.Keeper)
	begin := time.Now()
	if n, err := keeper.Newest(ctx); err != nil || n == 0 {
		return nil, fmt.Errorf("the first page of the list has %d runs: %w", n, err)
	}
	values["list"] = milliseconds(time.Since(begin))
	begin = time.Now()
	if err := b.Verify(ctx, tally); err != nil {
		return nil, err
	}
	values["counts"] = milliseconds(time.Since(begin))
	size, err := b.db.Size(ctx)
	if err != nil {
		return nil, err
	}
	begin = time.Now()
	deleted, err := keeper.Delete(ctx)
	if err == nil && deleted != tally.Runs {
		err = fmt.Errorf("%d runs were deleted, want %d", deleted, tally.Runs)
	}
	if err != nil {
		return nil, err
	}
	values["deleted"] = float64(deleted) / time.Since(begin).Seconds()
	if err := b.Verify(ctx, system.Tally{Asleep: tally.Asleep}); err != nil {
		return nil, err
	}
	after, err := b.db.Size(ctx)
	if err != nil {
		return nil, err
	}
	values["stored"], values["after deletion"] = float64(size)/(1<<20), float64(after)/(1<<20)
	return describe(ctx, b.db)
}
