package telemetry

import (
	"slices"

	"github.com/perdure/perdure/telemetry/internal/metric"
)

// Metric says what a metric is.
type Metric struct {
	Name   string
	Kind   string // counter, gauge or histogram
	Labels []string
	Help   string
	// Group says that it is about the whole group, read from the database; else it is
	// about the process.
	Group bool
}

// Catalog returns all metrics, in the order in which they are written.
func Catalog() []Metric {
	m := New()
	var all []Metric
	for _, part := range []struct {
		definitions []metric.Definition
		group       bool
	}{{definitionsOf(m.counted()), false}, {gaugeDefinitions, false}, {groupDefinitions, true}} {
		for _, d := range part.definitions {
			all = append(all, Metric{d.Name, d.Kind, slices.Clone(d.Labels), d.Help, part.group})
		}
	}
	return all
}

func definitionsOf(families []metric.Family) (all []metric.Definition) {
	for _, f := range families {
		all = append(all, f.Definition)
	}
	return all
}

func counter(name, help string, labels ...string) metric.Definition {
	return metric.Definition{Name: name, Kind: metric.Counter, Labels: labels, Help: help}
}

func gauge(name, help string, labels ...string) metric.Definition {
	return metric.Definition{Name: name, Kind: metric.Gauge, Labels: labels, Help: help}
}

func histogram(name, help string) metric.Definition {
	return metric.Definition{Name: name, Kind: metric.Histogram, Help: help}
}
