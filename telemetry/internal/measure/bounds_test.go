package measure

import (
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/telemetry/internal/metric"
	"github.com/perdure/perdure/view"
)

// TestE128_WhateverComesSeriesAreBounded: an observer that is told of thousands of names,
// outcomes and types of errors, and a status with as many waits, keep to the table; what is
// beyond is counted, too.
func TestE128_WhateverComesSeriesAreBounded(t *testing.T) {
	const n = 3000
	m := New()
	g := &group{status: &view.Status{Counts: view.Counts{Runs: map[string]int{}, Calls: map[string]int{}}}, breakers: map[string]bool{}}
	for i := range n {
		name, kind := fmt.Sprint("name-", i), fmt.Sprint("kind-", i%70)
		observer{m}.Turn(&history.Start{Type: name}, &core.Turn{
			Number: 1, Ended: true, State: &core.State{Status: core.Status(kind)},
			Tallies: []core.Tally{{Name: name, Exhausted: 1}},
			Attempts: []core.Record{
				{Name: fmt.Sprint("name-", i%150), Outcome: core.Failed, ErrorType: kind, Call: 1},
				{Name: name, Outcome: core.Lost, Reason: kind, Call: 1},
			},
			Dispatch: []core.Dispatch{{Call: 1}}, Fired: 1, Closings: []core.Closing{{Name: name, Started: 1, Ended: 2}},
		})
		g.status.Waiting = append(g.status.Waiting, view.Waiting{Wait: view.Wait{For: view.WaitSlot, Name: name, Since: &g.status.Time}, Count: 1})
		g.status.Runs[kind]++
		g.breakers[name] = true
	}
	most := map[string]int{}
	for _, row := range Table() {
		most[row.Name] = row.Series
	}
	families := g.families(false)
	for _, c := range m.counted() {
		families = append(families, c.Family())
	}
	reached := 0
	for _, f := range families {
		if f.Kind == metric.Histogram {
			series := slices.DeleteFunc(f.Samples, func(s metric.Sample) bool { return s.Suffix != "_count" })
			total := 0.0
			for _, s := range series {
				total += s.Value
			}
			if f.Labels != nil && (len(series) != most[f.Name] || total < n) {
				t.Errorf("%s has %d series of %d values, want %d", f.Name, len(series), int(total), most[f.Name])
			}
			continue
		}
		if len(f.Samples) > most[f.Name] {
			t.Errorf("%s has %d series, at most %d are promised", f.Name, len(f.Samples), most[f.Name])
		}
		if len(f.Labels) > 0 && len(f.Samples) == most[f.Name] {
			reached++
		}
		sum := 0.0
		for _, s := range f.Samples {
			sum += s.Value
		}
		switch f.Name {
		case "perdure_attempts_failed_total", "perdure_retries_total", "perdure_attempts_lost_total", "perdure_runs_started_total", "perdure_calls_total", "perdure_waiting":
			if sum != n {
				t.Errorf("%s sums up to %v of %d", f.Name, sum, n)
			}
		}
	}
	if reached < 5 {
		t.Errorf("only %d metrics came to their bound: the test feeds too little", reached)
	}
}
