package metric

import (
	"bufio"
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// Distribution is histograms of seconds by the value of at most one label.
type Distribution struct {
	Definition
	// Tell, if set before the first value, is told of each, in seconds.
	Tell func(seconds float64, labels []string)

	bounds []float64
	limit  int // of series

	mu  sync.Mutex
	all map[string]*buckets // by label value
}

// buckets is one histogram.
type buckets struct {
	counts []uint64
	sum    uint64 // nanoseconds
}

// NewDistribution returns at most limit histograms, further label values count as Other, with upper
// bounds in seconds, in rising order.
func NewDistribution(d Definition, limit int, bounds ...float64) *Distribution {
	return &Distribution{Definition: d, limit: limit, bounds: bounds, all: map[string]*buckets{}}
}

// Observe counts a duration in nanoseconds; a negative one is zero.
func (d *Distribution) Observe(ns int64, labels ...string) {
	ns = max(ns, 0)
	seconds, value := float64(ns)/1e9, ""
	if len(labels) > 0 {
		value = labels[0]
	}
	i, _ := slices.BinarySearch(d.bounds, seconds)
	d.mu.Lock()
	b := d.all[value]
	if b == nil {
		b = d.add(&value)
	}
	b.counts[i]++
	b.sum += uint64(ns)
	d.mu.Unlock()
	if d.Tell != nil {
		d.Tell(seconds, slices.Repeat([]string{value}, len(labels)))
	}
}

// add returns the histogram of a label value, or that which counts for it, which it says.
func (d *Distribution) add(value *string) *buckets {
	if len(d.all) >= d.limit-1 && len(d.Labels) > 0 {
		*value = Other
	}
	b := d.all[*value]
	if b == nil {
		b = &buckets{counts: make([]uint64, len(d.bounds)+1)}
		d.all[*value] = b
	}
	return b
}

// Bounds are the upper bounds in seconds, without the infinite one. They are read-only.
func (d *Distribution) Bounds() []float64 { return d.bounds }

// Series returns how many histograms there can be.
func (d *Distribution) Series() int { return d.limit }

// Family returns all histograms, sorted by their labels. One without a label is told before it has a
// value.
func (d *Distribution) Family() Family {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := Family{Definition: d.Definition}
	if len(d.Labels) == 0 && len(d.all) == 0 {
		none := ""
		d.add(&none)
	}
	for _, value := range slices.Sorted(maps.Keys(d.all)) {
		b, labels := d.all[value], slices.Repeat([]string{value}, len(d.Labels))
		var total uint64
		for i, n := range b.counts {
			total += n
			le := "+Inf"
			if i < len(d.bounds) {
				le = text(d.bounds[i])
			}
			f.Samples = append(f.Samples, Sample{Labels: labels, Suffix: "_bucket", LE: le, Value: float64(total)})
		}
		f.Samples = append(f.Samples, Sample{Labels: labels, Suffix: "_sum", Value: float64(b.sum) / 1e9}, Sample{Labels: labels, Suffix: "_count", Value: float64(total)})
	}
	return f
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
