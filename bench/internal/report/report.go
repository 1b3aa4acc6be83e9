package report

import (
	"slices"

	"github.com/perdure/perdure/bench/internal/workload"
)

// Report is all that one run of the benchmark measured.
type Report struct {
	Machine Machine `json:"machine"`
	Tables  []Table `json:"workloads"`
}

// Table is what was measured of one workload.
type Table struct {
	Workload string            `json:"workload"`
	Title    string            `json:"title"`
	About    string            `json:"about"`
	Metrics  []workload.Metric `json:"metrics"`
	Against  []string          `json:"against"` // systems with which others are compared
	Rounds   int               `json:"rounds"`
	Rows     []*Row            `json:"rows"`
}

// Row holds the samples of one system, one for each round, in their order.
type Row struct {
	Store   string               `json:"store"`
	Case    string               `json:"case,omitempty"`
	System  string               `json:"system"`
	Samples []map[string]float64 `json:"samples"`
	Notes   []string             `json:"notes,omitempty"` // of the last round
}

// NewTable returns the empty table of a workload, whose systems will be compared
// with some of them.
func NewTable(w workload.Workload, against ...string) Table {
	about := w.About()
	return Table{Workload: about.Name, Title: about.Title, About: about.Text, Metrics: w.Metrics(), Against: against}
}

// Add adds what one round of a system has shown.
func (t *Table) Add(store, system string, samples []workload.Sample) {
	for _, s := range samples {
		row := t.row(store, s.Case, system)
		if row == nil {
			row = &Row{Store: store, Case: s.Case, System: system}
			t.Rows = append(t.Rows, row)
		}
		row.Samples, row.Notes = append(row.Samples, s.Values), s.Notes
		t.Rounds = max(t.Rounds, len(row.Samples))
	}
}

func (t *Table) row(store, name, system string) *Row {
	for _, r := range t.Rows {
		if r.Store == store && r.Case == name && r.System == system {
			return r
		}
	}
	return nil
}

// sorted returns the rows by store and case, in the order in which they first
// came.
func (t *Table) sorted() []*Row {
	stores, cases := map[string]int{}, map[string]int{}
	for _, r := range t.Rows {
		number(stores, r.Store)
		number(cases, r.Case)
	}
	rows := slices.Clone(t.Rows)
	slices.SortStableFunc(rows, func(a, b *Row) int {
		if d := stores[a.Store] - stores[b.Store]; d != 0 {
			return d
		}
		return cases[a.Case] - cases[b.Case]
	})
	return rows
}

func number(of map[string]int, key string) {
	if _, known := of[key]; !known {
		of[key] = len(of)
	}
}
