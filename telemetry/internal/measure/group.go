package measure

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/telemetry/internal/metric"
	"github.com/perdure/perdure/view"
)

// Every is how old the part of a scrape that is read from the database may be, and Limit
// how long reading it may take: what was read last is told after that.
const (
	Every = 15 * time.Second
	Limit = 5 * time.Second
)

// Source is Metrics and an engine whose gauges, and whose group, are told beside them.
type Source struct {
	metrics *Metrics
	engine  *perdure.Engine
	reading chan struct{} // has room for one

	mu    sync.Mutex
	last  *group // nil if none could be read yet
	tried time.Time
	fails bool
}

// group is what was read from the database.
type group struct {
	status   *view.Status
	breakers map[string]bool // whether open, by gate
	ofKeys   map[string]int  // how many are open, by gate that has one for each run key
	at       time.Time       // of this process
}

// NewSource returns the source of m and e.
func NewSource(m *Metrics, e *perdure.Engine) *Source {
	return &Source{metrics: m, engine: e, reading: make(chan struct{}, 1)}
}

// Read returns all metrics in the order of the table. Those of the group are read again if
// they are older than Every. It is safe for concurrent use.
func (s *Source) Read(ctx context.Context) []metric.Family {
	var all []metric.Family
	for _, c := range s.metrics.counted() {
		all = append(all, c.Family())
	}
	now := engine.Of(s.engine).Gauges()
	for _, g := range gauges {
		all = append(all, metric.Family{Definition: g.Definition, Samples: []metric.Sample{{Value: g.read(now)}}})
	}
	s.mu.Lock()
	due := s.tried.IsZero() || time.Since(s.tried) >= Every
	s.mu.Unlock()
	if due {
		s.refresh(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(all, s.last.families(s.fails)...)
}

// refresh reads the group, unless another scrape does.
func (s *Source) refresh(ctx context.Context) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Limit)
	defer cancel()
	status, err := ops.Status(ctx, s.engine)
	if err == nil && status.Most > 0 { // a page shows that there are more; a metric cannot
		status.Counts, err = ops.Counts(ctx, s.engine, 0)
	}
	var breakers map[string]bool
	var ofKeys map[string]int
	if err == nil {
		breakers, ofKeys, err = engine.Of(s.engine).Breakers(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried, s.fails = time.Now(), err != nil
	if err == nil {
		s.last = &group{status, breakers, ofKeys, s.tried}
	}
}

// families are those of the group, which may be nil, in the order of the table.
func (g *group) families(failed bool) []metric.Family {
	all := make([]metric.Family, 0, len(groupGauges)+1)
	for _, row := range groupGauges {
		f := metric.Family{Definition: row.Definition}
		if g != nil {
			row.read(g, func(v float64, labels ...string) { f.Samples = merged(f.Samples, v, labels, row.sum) })
		}
		f.Samples = metric.Bounded(f.Samples, row.most, row.sum)
		all = append(all, f)
	}
	return append(all, metric.Family{Definition: groupFailed, Samples: []metric.Sample{{Value: flag(failed)}}})
}

// merged adds a value, or changes that of the same labels: waits that differ in who paused
// what are one series.
func merged(all []metric.Sample, v float64, labels []string, sum bool) []metric.Sample {
	at := slices.IndexFunc(all, func(s metric.Sample) bool { return slices.Equal(s.Labels, labels) })
	switch {
	case at < 0:
		return append(all, metric.Sample{Labels: labels, Value: v})
	case sum:
		all[at].Value += v
	default:
		all[at].Value = max(all[at].Value, v)
	}
	return all
}
