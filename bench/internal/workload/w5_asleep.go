package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/internal/chart"
	"github.com/perdure/perdure/internal/human"
)

// Asleep is W5: what runs cost that sleep or have ended, and what others pay for
// their being there.
type Asleep struct {
	Asleep   []int // runs that sleep, each a stage
	Finished int   // runs that have ended beside the last, a further stage
	InFlight int
	Probes   int // workflows, one at a time, whose latency is measured in each stage
	Load     int // workflows of W1 in each stage
	Steps    int // of each of those
}

// About explains the table.
func (w Asleep) About() About {
	return About{"W5", "Sleeping and finished runs", fmt.Sprintf("Runs are started that sleep for a day, %d at a time; then %s runs of one activity are finished beside them. "+
		"In each stage: the rate at which they were added; what each of them added to the process's memory after garbage collection (to all of it, the page caches of SQLite included, which have a bound, and to what Go manages) and to tables and indexes; "+
		"the latency of a new workflow of one activity; and W1 beside them, whose CPU is compared with that on the empty database.", w.InFlight, human.Count(w.Finished))}
}

// Metrics are the columns.
func (Asleep) Metrics() []Metric {
	return []Metric{
		{Name: "added", Unit: "/s"},
		{Name: "memory", Unit: "KiB"},
		{Name: "Go memory", Unit: "KiB"},
		{Name: "stored", Unit: "KiB"},
		{Name: "p50", Unit: "ms"},
		{Name: "p99", Unit: "ms"},
		{Name: "W1", Unit: "/s"},
		{Name: "W1 CPU", Unit: "ms"},
		{Name: "CPU ÷ empty"},
	}
}

// nap outlasts every measurement.
const nap = 24 * time.Hour

// Run goes through the stages on one database.
func (w Asleep) Run(ctx context.Context, p *place.Places, s system.System) (samples []Sample, err error) {
	t := &night{Asleep: w}
	b, err := lay(ctx, p, s, system.Config{InFlight: w.InFlight})
	if err != nil {
		return nil, err
	}
	defer b.strip(ctx, &err)
	sleeper, ok := b.Session.(system.Sleeper)
	if !ok || b.db.Location() == "" {
		return nil, errors.ErrUnsupported
	}
	t.bed, t.sleeper = b, sleeper
	if samples, err = t.pass(ctx); err != nil {
		return nil, err
	}
	return samples, b.ran(t.steps)
}

// night is the state of one run of the workload.
type night struct {
	Asleep
	bed     *bed
	sleeper system.Sleeper

	stage int
	tally system.Tally
	steps int // that should have been executed
	empty float64
}

func (t *night) pass(ctx context.Context) ([]Sample, error) {
	// The first load grows caches that stay, which must not count as memory of runs.
	if _, err := t.load(ctx); err != nil {
		return nil, err
	}
	first := map[string]float64{}
	if err := t.probe(ctx, first); err != nil {
		return nil, err
	}
	samples := []Sample{{Case: "empty", Values: first}}
	for _, n := range t.Asleep.Asleep {
		values, err := t.grow(ctx, n-t.tally.Asleep, t.sleep)
		if err != nil {
			return nil, err
		}
		samples = append(samples, Sample{Case: human.Count(n) + " asleep", Values: values})
	}
	values, err := t.grow(ctx, t.Finished, t.finish)
	if err != nil {
		return nil, err
	}
	last := Sample{Case: "and " + human.Count(t.Finished) + " finished", Values: values}
	last.Notes, err = describe(ctx, t.bed.db)
	return append(samples, last), err
}

// sleep adds runs that sleep.
func (t *night) sleep(ctx context.Context, n int) error {
	already := t.tally.Asleep
	t.tally.Asleep += n
	return atOnce(t.InFlight, n, func(i int) error {
		return t.sleeper.Sleep(ctx, fmt.Sprintf("asleep-%07d", already+i), nap)
	})
}

// finish adds runs that have ended.
func (t *night) finish(ctx context.Context, n int) error {
	t.tally.Runs += n
	t.steps += n
	return t.bed.chains(ctx, "finished", n, 1)
}

// grow adds n runs, measures what each of them costs, and probes.
func (t *night) grow(ctx context.Context, n int, add func(context.Context, int) error) (map[string]float64, error) {
	memory, size, err := t.weigh(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := add(ctx, n); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if err := t.bed.Verify(ctx, t.tally); err != nil {
		return nil, err
	}
	after, grown, err := t.weigh(ctx)
	if err != nil {
		return nil, err
	}
	kib := func(bytes int64) float64 { return max(0, float64(bytes)/1024/float64(n)) }
	values := map[string]float64{
		"added":     float64(n) / took.Seconds(),
		"memory":    kib(after.Resident - memory.Resident),
		"Go memory": kib(after.Go - memory.Go),
		"stored":    kib(grown - size),
	}
	return values, t.probe(ctx, values)
}

// weigh reads what the process and the database hold.
func (t *night) weigh(ctx context.Context) (meter.Memory, int64, error) {
	memory, err := meter.Settled()
	if err != nil {
		return memory, 0, err
	}
	size, err := t.bed.db.Size(ctx)
	return memory, size, err
}

// probe measures new runs beside those that are there.
func (t *night) probe(ctx context.Context, values map[string]float64) error {
	t.stage++
	times, err := t.bed.latencies(ctx, fmt.Sprintf("probe-%d", t.stage), t.Probes, 1)
	if err != nil {
		return err
	}
	t.tally.Runs += t.Probes
	t.steps += t.Probes
	values["p50"], values["p99"] = milliseconds(times.Quantile(0.50)), milliseconds(times.Quantile(0.99))

	spent, err := t.load(ctx)
	if err != nil {
		return err
	}
	cpu := perRun(spent.CPUs(), t.Load)
	if t.empty == 0 {
		t.empty = cpu
	}
	values["W1"], values["W1 CPU"], values["CPU ÷ empty"] = float64(t.Load)/spent.Wall.Seconds(), cpu, cpu/t.empty
	return t.bed.Verify(ctx, t.tally)
}

// load is W1.
func (t *night) load(ctx context.Context) (meter.Spent, error) {
	spent, err := t.bed.load(ctx, func() error { return t.bed.chains(ctx, fmt.Sprintf("load-%d", t.tally.Runs), t.Load, t.Steps) })
	t.tally.Runs += t.Load
	t.steps += t.Load * t.Steps
	return spent, err
}

// describe tells how the tables stand, in one note.
func describe(ctx context.Context, db place.Database) ([]string, error) {
	tables, err := db.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, t := range tables {
		part := fmt.Sprintf("%s %s", t.Name, size(t.Bytes))
		if t.Rows >= 0 {
			part += fmt.Sprintf(" (%s rows, %s dead ones, %d automatic vacuums)", human.Count(int(t.Rows)), human.Count(int(t.Dead)), t.Vacuums)
		}
		parts = append(parts, part)
	}
	return []string{"tables with their indexes: " + strings.Join(parts, "; ")}, nil
}

// size writes a number of bytes.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return chart.Significant(v, 3) + " " + units[i]
}
