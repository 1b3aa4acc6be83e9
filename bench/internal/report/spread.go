package report

import (
	"slices"
)

// spread is what remains of the rounds.
type spread struct{ median, least, most float64 }

// Figure returns the median of a metric with the least and the most of its rounds, and whether
// it was measured.
func (t *Table) Figure(store, name, system, metric string) (median, least, most float64, ok bool) {
	row := t.row(store, name, system)
	if row == nil {
		return 0, 0, 0, false
	}
	s, ok := row.of(metric)
	return s.median, s.least, s.most, ok
}

// of sums up one metric of a row; false if no round has it.
func (r *Row) of(metric string) (spread, bool) {
	var values []float64
	for _, s := range r.Samples {
		if v, ok := s[metric]; ok {
			values = append(values, v)
		}
	}
	return summarize(values)
}

// against sums up the ratio to another system in the same rounds.
func (r *Row) against(other *Row, metric string) (spread, bool) {
	var ratios []float64
	for i := range min(len(r.Samples), len(other.Samples)) {
		a, ok := r.Samples[i][metric]
		b, have := other.Samples[i][metric]
		if ok && have && b != 0 {
			ratios = append(ratios, a/b)
		}
	}
	return summarize(ratios)
}

func summarize(values []float64) (spread, bool) {
	if len(values) == 0 {
		return spread{}, false
	}
	slices.Sort(values)
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return spread{median, values[0], values[len(values)-1]}, true
}
