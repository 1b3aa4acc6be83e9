package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/bench/internal/workload"
)

// sample is a table of two metrics with three rounds on one store, and one on
// another that has no floor.
func sample() Table {
	t := Table{
		Workload: "W0", Title: "Nothing", About: "What is done.", Against: []string{"floor"},
		Metrics: []workload.Metric{{Name: "speed", Unit: "/s", Compare: true}, {Name: "CPU", Unit: "ms"}, {Name: "never"}},
	}
	for _, speed := range []float64{30, 10, 20} {
		t.Add("sqlite", "perdure", []workload.Sample{{Values: map[string]float64{"speed": speed}, Notes: []string{"noted"}}})
		t.Add("memory", "perdure", []workload.Sample{{Values: map[string]float64{"speed": 7, "CPU": 1234.5}}})
		t.Add("sqlite", "floor", []workload.Sample{{Values: map[string]float64{"speed": 10 * speed, "CPU": 0.5}}})
	}
	return t
}

func TestTableShowsMediansAndRatiosOfTheSameRounds(t *testing.T) {
	table := sample()
	want := `What is done.

Medians of 3 rounds, (least to most).

| store  | system  | speed /s         | speed ÷ floor | CPU ms |
|--------|---------|------------------|---------------|--------|
| sqlite | perdure | 20.0 (10.0–30.0) | 0.10          |        |
| sqlite | floor   | 200 (100–300)    |               | 0.500  |
| memory | perdure | 7.00             |               | 1,230  |

perdure on sqlite:

- noted
`
	if got := table.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{3, 1}, spread{2, 1, 3}},
		{[]float64{9, 1, 2}, spread{2, 1, 9}},
	} {
		if got, ok := summarize(c.values); !ok || got != c.want {
			t.Errorf("%v gives %v, want %v", c.values, got, c.want)
		}
	}
	if _, ok := summarize(nil); ok {
		t.Error("no values have a median")
	}
}

func TestDocumentWithoutAPlaceIsRefusedAndNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "performance.md")
	for _, text := range []string{"", "<!-- bench:W0 -->\n", "<!-- /bench:W0 -->\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Report{Tables: []Table{sample()}}.WriteInto(path)
		if err == nil || !strings.Contains(err.Error(), "it has no place for bench:W0") {
			t.Errorf("%q: %v", text, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%q became %q (%v)", text, after, err)
		}
	}
}

func TestSamplesOfOtherWorkloadsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samples.json")
	first, second := sample(), sample()
	second.Workload, second.Title = "other", "Other"
	for _, r := range []Report{{Machine: Machine{Date: "old"}, Tables: []Table{first}}, {Machine: Machine{Date: "new"}, Tables: []Table{second}}, {Machine: Machine{Date: "new"}, Tables: []Table{second}}} {
		if err := r.WriteJSON(path); err != nil {
			t.Fatal(err)
		}
	}
	r, err := ReadJSON(path)
	if err != nil || len(r.Tables) != 2 || r.Table(first.Workload) == nil || r.Table("other") == nil || r.Machine.Date != "new" {
		t.Errorf("%v, %+v", err, r)
	}
	median, least, most, ok := r.Table("other").Figure(first.Rows[0].Store, first.Rows[0].Case, first.Rows[0].System, first.Metrics[0].Name)
	if !ok || least > median || median > most {
		t.Errorf("%v (%v to %v), %v", median, least, most, ok)
	}
	if _, _, _, ok := r.Table("other").Figure("none", "", "perdure", first.Metrics[0].Name); ok {
		t.Error("a store that was not measured has a figure")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Report{}).WriteJSON(path); err == nil {
		t.Error("a file that is not a report was replaced")
	}
}
