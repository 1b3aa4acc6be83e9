package workload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Workload measures something about any system.
type Workload interface {
	About() About
	Metrics() []Metric
	// Run does the work once, on a fresh database of its own, and answers a
	// sample for each of its cases. A system that cannot do the work is left out:
	// the error is errors.ErrUnsupported.
	Run(ctx context.Context, p *place.Places, s system.System) ([]Sample, error)
}

// About says what a workload is.
type About struct {
	Name  string // W1
	Title string // a few words
	Text  string // what is done and measured, for the reader of the table
}

// Metric is a figure of a workload.
type Metric struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	Compare bool   `json:"compare"` // a ratio to the floor and to River says something
}

// Sample is one measurement.
type Sample struct {
	Case   string // what sets it apart from other samples of a run; "" if there is one
	Values map[string]float64
	Notes  []string // what is worth saying beside the figures
}

// each measures the cases of a workload one after the other.
func each[C any](cases []C, measure func(C) (Sample, error)) (samples []Sample, err error) {
	for _, c := range cases {
		sample, err := measure(c)
		if err != nil {
			return nil, err
		}
		samples = append(samples, sample)
	}
	return samples, nil
}

// bed is a database with a system at work on it.
type bed struct {
	system   system.System
	config   system.Config
	db       place.Database
	executed atomic.Int64 // bodies of steps that ran

	system.Session
}

// lay opens a system on a fresh database.
func lay(ctx context.Context, p *place.Places, s system.System, c system.Config) (*bed, error) {
	db, err := p.Fresh(ctx, s.Kind())
	if err != nil {
		return nil, err
	}
	b := &bed{system: s, config: c, db: db}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, db.Drop(ctx))
	}
	return b, nil
}

// open begins a session, after one that was closed.
func (b *bed) open(ctx context.Context) (err error) {
	c, step := b.config, b.config.Step
	c.Step = func(n int) {
		if step != nil {
			step(n)
		}
		b.executed.Add(1)
	}
	if c.Try == nil {
		c.Try = func(string, int) error { return nil }
	}
	if b.Session, err = b.system.Open(ctx, b.db, c); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return nil
}

// ran makes sure that so many bodies of steps ran.
func (b *bed) ran(want int) error {
	if got := b.executed.Load(); got != int64(want) {
		return fmt.Errorf("%d bodies ran, want %d", got, want)
	}
	return nil
}

// close ends the session, if there is one.
func (b *bed) close(ctx context.Context) error {
	if b.Session == nil {
		return nil
	}
	err := b.Session.Close(ctx)
	b.Session = nil
	return err
}

// strip ends everything and deletes the database, also if ctx has ended. Its
// error is joined to that of the caller.
func (b *bed) strip(ctx context.Context, err *error) {
	ctx = context.WithoutCancel(ctx)
	*err = errors.Join(*err, b.close(ctx), b.db.Drop(ctx))
}

// chains runs n chains, at most InFlight at a time, whose IDs begin with prefix.
func (b *bed) chains(ctx context.Context, prefix string, n, steps int) error {
	return atOnce(b.config.InFlight, n, func(i int) error {
		return b.chain(ctx, fmt.Sprintf("%s-%06d", prefix, i), steps)
	})
}

// chain runs one chain and checks its result.
func (b *bed) chain(ctx context.Context, id string, steps int) error {
	done, err := b.Chain(ctx, id, steps)
	if err == nil && done != steps {
		err = fmt.Errorf("chain %s answers %d steps, want %d", id, done, steps)
	}
	return err
}
