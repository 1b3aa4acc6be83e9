package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	when "github.com/perdure/perdure/schedule"
)

// dial is the nominal times of a spec, for a machine without an engine.
type dial struct{ times *when.Times }

func (d dial) After(at int64) int64 { return d.times.Next(time.Unix(0, at)).UnixNano() }

// TestE49_YearsOfASchedule: over five years each time that the clock in Paris shows is
// fired once, and no two fires share an ID.
func TestE49_YearsOfASchedule(t *testing.T) {
	extent.NotInShort(t, "large numbers are for the long form")
	spec := when.Spec{Cron: "30 */6 * * *", TimeZone: "Europe/Paris"}
	times, err := spec.Times()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2010, 1, 1, 0, 0, 0, 0, times.Next(time.Unix(0, 0)).Location())
	config := core.ScheduleConfig{Name: "s", ID: "#s", Run: "#0/s", Calendar: func(history.Schedule) (core.Calendar, error) { return dial{times}, nil }}
	table := core.NewTimetable(config, history.Schedule{Overlap: core.OverlapAllow, CatchUp: time.Minute, Workflow: "w"}, begin.UnixNano())
	started := map[string]bool{}
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	last, end := time.Time{}, begin.AddDate(5, 0, 0).UnixNano()
	for table.NextDue() < end {
		out := table.Step(table.NextDue(), nil)
		for _, m := range out.Messages {
			if started[m.WorkflowID] {
				t.Fatalf("%s is fired twice", m.WorkflowID)
			}
			started[m.WorkflowID] = true
			at := time.Unix(0, m.Start.Scheduled.Nominal).In(paris)
			if at.Minute() != 30 || at.Hour()%6 != 0 || !last.IsZero() && (at.Sub(last) < 5*time.Hour || at.Sub(last) > 7*time.Hour) {
				t.Fatalf("%s follows %s", at, last)
			}
			last = at
			table.Step(out.Time, []core.Input{core.FromChild{Call: m.Start.Parent.Call, Status: "completed", Run: m.Run}})
		}
	}
	if days := int(end-begin.UnixNano()) / int(24*time.Hour); len(started) != 4*days {
		t.Errorf("in %d days it is fired %d times", days, len(started))
	}
}
