package metric

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Kinds of metrics.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// Definition says what a metric is.
type Definition struct {
	Name   string
	Kind   string
	Labels []string
	Help   string
}

// OTel returns the name and the unit of a metric in OpenTelemetry: an exporter that
// translates them for Prometheus gets to the name of the definition again, so dashboards
// and alerts fit both.
func (d Definition) OTel() (name, unit string) {
	name = d.Name
	if d.Kind == Counter {
		name = strings.TrimSuffix(name, "_total")
	}
	if base, is := strings.CutSuffix(name, "_seconds"); is {
		name, unit = base, "s"
	}
	return strings.ReplaceAll(name, "_", "."), unit
}

// Attribute returns the key of a label in OpenTelemetry.
func Attribute(label string) string { return strings.ReplaceAll(label, "_", ".") }

// Family is a metric with its samples.
type Family struct {
	Definition
	Samples []Sample
}

// Sample is one value: of the label values in the order of the labels. Suffix and LE are
// those of histograms.
type Sample struct {
	Labels []string
	Suffix string
	LE     string
	Value  float64
}

// Other stands for all label values beyond a bound.
const Other = "other"

// Vector is counters by label values. Its zero value is not usable.
type Vector struct {
	Definition
	limit  int   // of series
	bounds []int // of distinct values of each label

	mu   sync.Mutex
	seen []map[string]bool
	all  map[key]*series
}

// key is the values of the labels, at most three.
type key [3]string

func keyOf(labels []string) (k key) {
	copy(k[:], labels)
	return k
}

type series struct {
	labels []string
	value  float64
}

// NewVector returns at most limit counters, whose labels have at most so many distinct
// values each; further ones count as Other.
func NewVector(d Definition, limit int, bounds ...int) *Vector {
	v := &Vector{Definition: d, limit: limit, bounds: bounds, all: map[key]*series{}}
	for range d.Labels {
		v.seen = append(v.seen, map[string]bool{})
	}
	return v
}

// Series returns how many counters there can be.
func (v *Vector) Series() int {
	n := 1
	for _, b := range v.bounds {
		n *= b + 1 // Other
	}
	return min(n, v.limit)
}

// Add adds to the counter of some label values.
func (v *Vector) Add(n float64, labels ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k := keyOf(labels)
	s := v.all[k]
	if s == nil {
		kept := make([]string, len(labels))
		copy(kept, labels) // a clone would make each caller's list escape to the heap
		s = v.add(kept)
	}
	s.value += n
}

// add returns the counter of some label values, or that which counts for them.
func (v *Vector) add(labels []string) *series {
	for i, l := range labels {
		if !v.seen[i][l] && len(v.seen[i]) >= v.bounds[i] {
			labels[i] = Other
		} else {
			v.seen[i][l] = true
		}
	}
	s := v.all[keyOf(labels)]
	if s == nil && len(labels) > 0 && len(v.all) >= v.limit-1 {
		labels = slices.Repeat([]string{Other}, len(labels))
		s = v.all[keyOf(labels)]
	}
	if s == nil {
		s = &series{labels: labels}
		v.all[keyOf(labels)] = s
	}
	return s
}

// Family returns all counters, sorted by their labels.
func (v *Vector) Family() Family {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := Family{Definition: v.Definition}
	for _, s := range v.all {
		f.Samples = append(f.Samples, Sample{Labels: s.labels, Value: s.value})
	}
	slices.SortFunc(f.Samples, func(a, b Sample) int { return slices.Compare(a.Labels, b.Labels) })
	return f
}

// Distribution is a histogram of seconds without labels.
type Distribution struct {
	Definition
	// Tell, if set before the first value, is told of each, in seconds.
	Tell func(seconds float64)

	bounds []float64
	counts []atomic.Uint64
	sum    atomic.Uint64 // nanoseconds
}

// NewDistribution returns a histogram with upper bounds in seconds, in rising order.
func NewDistribution(d Definition, bounds ...float64) *Distribution {
	return &Distribution{Definition: d, bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts a duration in nanoseconds; a negative one is zero.
func (d *Distribution) Observe(ns int64) {
	ns = max(ns, 0)
	i, _ := slices.BinarySearch(d.bounds, float64(ns)/1e9)
	d.counts[i].Add(1)
	d.sum.Add(uint64(ns))
	if d.Tell != nil {
		d.Tell(float64(ns) / 1e9)
	}
}

// Bounds are the upper bounds in seconds, without the infinite one. They are read-only.
func (d *Distribution) Bounds() []float64 { return d.bounds }

// Series returns 1.
func (d *Distribution) Series() int { return 1 }

// Family returns the histogram.
func (d *Distribution) Family() Family {
	f := Family{Definition: d.Definition}
	var total uint64
	for i := range d.counts {
		total += d.counts[i].Load()
		le := "+Inf"
		if i < len(d.bounds) {
			le = text(d.bounds[i])
		}
		f.Samples = append(f.Samples, Sample{Suffix: "_bucket", LE: le, Value: float64(total)})
	}
	return Family{d.Definition, append(f.Samples,
		Sample{Suffix: "_sum", Value: float64(d.sum.Load()) / 1e9}, Sample{Suffix: "_count", Value: float64(total)})}
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Write writes families in Prometheus' text format 0.0.4. A family without samples is left
// out.
func Write(w io.Writer, families []Family) error {
	b := bufio.NewWriter(w)
	for _, f := range families {
		if len(f.Samples) == 0 {
			continue
		}
		b.WriteString("# HELP " + f.Name + " " + escapeHelp.Replace(f.Help) + "\n")
		b.WriteString("# TYPE " + f.Name + " " + f.Kind + "\n")
		for _, s := range f.Samples {
			b.WriteString(f.Name + s.Suffix)
			writeLabels(b, f.Labels, s)
			b.WriteString(" " + text(s.Value) + "\n")
		}
	}
	return b.Flush()
}

func writeLabels(b *bufio.Writer, names []string, s Sample) {
	between := "{"
	write := func(name, value string) {
		b.WriteString(between + name + `="` + escapeLabel.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`)
		between = ","
	}
	for i, value := range s.Labels {
		write(names[i], value)
	}
	if s.LE != "" {
		write("le", s.LE)
	}
	if between == "," {
		b.WriteString("}")
	}
}

func text(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Bounded returns at most limit samples: if there are more, the greatest, and the rest as
// Other, summed up if sum says so, else the greatest of them.
func Bounded(samples []Sample, limit int, sum bool) []Sample {
	if len(samples) <= limit {
		return samples
	}
	slices.SortStableFunc(samples, func(a, b Sample) int { return cmp.Compare(b.Value, a.Value) })
	rest := Sample{Labels: slices.Repeat([]string{Other}, len(samples[0].Labels))}
	limit-- // for the rest
	for _, s := range samples[limit:] {
		if sum {
			rest.Value += s.Value
		} else {
			rest.Value = max(rest.Value, s.Value)
		}
	}
	return append(samples[:limit:limit], rest)
}
