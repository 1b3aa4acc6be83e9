package meter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/metric"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/telemetry/internal/measure"
	"github.com/perdure/perdure/telemetry/internal/metric"
)

// Metrics counts the work of an engine. It is safe for concurrent use.
type Metrics struct {
	counted     *measure.Metrics
	meter       otel.Meter
	instruments map[string]otel.Float64Observable // by name in the table
	all         []otel.Observable

	mu      sync.Mutex
	watched otel.Registration // nil if no engine is
	closed  bool
}

// New makes the instruments with the meter of p that is named after this module. The error
// is that of the provider.
func New(p otel.MeterProvider) (*Metrics, error) {
	if p == nil {
		return nil, errors.New("meter.New: the MeterProvider is nil; use otel.GetMeterProvider() or one of an SDK")
	}
	m := &Metrics{
		counted: measure.New(), meter: p.Meter("github.com/perdure/perdure"), instruments: map[string]otel.Float64Observable{},
	}
	var errs []error
	for _, row := range measure.Table() {
		if row.Kind != metric.Histogram {
			errs = append(errs, m.observable(row.Definition))
		}
	}
	for _, d := range m.counted.Distributions() {
		errs = append(errs, m.histogram(d))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("meter.New: the provider makes no instruments: %w", err)
	}
	return m, nil
}

// observable makes the instrument of a counter or a gauge.
func (m *Metrics) observable(d metric.Definition) (err error) {
	name, unit := d.OTel()
	var o otel.Float64Observable
	if d.Kind == metric.Counter {
		o, err = m.meter.Float64ObservableCounter(name, otel.WithDescription(d.Help), otel.WithUnit(unit))
	} else {
		o, err = m.meter.Float64ObservableGauge(name, otel.WithDescription(d.Help), otel.WithUnit(unit))
	}
	m.instruments[d.Name], m.all = o, append(m.all, o)
	return err
}

// histogram makes the instrument of a distribution, which is told of each value.
func (m *Metrics) histogram(d *metric.Distribution) error {
	name, unit := d.OTel()
	h, err := m.meter.Float64Histogram(name, otel.WithDescription(d.Help), otel.WithUnit(unit), otel.WithExplicitBucketBoundaries(d.Bounds()...))
	if err == nil {
		d.Tell = func(seconds float64, labels []string) {
			h.Record(context.Background(), seconds, otel.WithAttributes(attributesOf(d.Definition, labels)...))
		}
	}
	return err
}

// Engine returns the option of perdure.Open that counts an engine. One Metrics may count
// several engines: the counts are then their sum.
func (m *Metrics) Engine() perdure.Option { return m.counted.Engine() }

// ErrWatched is the error of a second Watch, and of one after Close.
var ErrWatched = errors.New("meter: one Metrics watches one engine until it is closed; make another one with meter.New for another engine")

// Watch reports all metrics from now on, when a reader of the provider collects: counts,
// the state of e, and what waits in its group. Reading the group takes up to
// telemetry.Limit; a reader's timeout should be longer. A process that only reads a
// database needs New and Watch. Close ends it.
func (m *Metrics) Watch(e *perdure.Engine) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watched != nil || m.closed {
		return ErrWatched
	}
	source := measure.NewSource(m.counted, e)
	r, err := m.meter.RegisterCallback(func(ctx context.Context, o otel.Observer) error {
		for _, f := range source.Read(ctx) {
			if instrument := m.instruments[f.Name]; instrument != nil {
				observe(o, instrument, f)
			}
		}
		return nil
	}, m.all...)
	if err != nil {
		return fmt.Errorf("meter: the provider takes no callback: %w", err)
	}
	m.watched = r
	return nil
}

func observe(o otel.Observer, instrument otel.Float64Observable, f metric.Family) {
	for _, s := range f.Samples {
		o.ObserveFloat64(instrument, s.Value, otel.WithAttributes(attributesOf(f.Definition, s.Labels)...))
	}
}

// attributesOf are the labels of a value.
func attributesOf(d metric.Definition, labels []string) []attribute.KeyValue {
	attributes := make([]attribute.KeyValue, 0, len(labels))
	for i, value := range labels {
		if value != "" { // as in Prometheus, where an empty label is none
			attributes = append(attributes, attribute.String(metric.Attribute(d.Labels[i]), value))
		}
	}
	return attributes
}

// Close ends Watch; the engine that was watched may be closed before or after. The error
// is that of the provider. Closing twice does nothing.
func (m *Metrics) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.watched
	m.closed, m.watched = true, nil
	if r == nil {
		return nil
	}
	return r.Unregister()
}
