package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	when "github.com/perdure/perdure/schedule"
)

// TestE49_SchedulesUnderFaults: whichever write fails, loses its answer, or is the last
// before or after which the process dies: the same runs are started, each once, and
// the schedule counts the same.
func TestE49_SchedulesUnderFaults(t *testing.T) {
	extent.NotInShort(t, "months of schedules")
	specs := map[string]when.Spec{
		"buffer_one":   {Cron: "* * * * *", Overlap: when.BufferOne},
		"cancel_other": {Every: time.Minute, Overlap: when.CancelOther},
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			for _, in := range everywhere {
				if in.onDisk {
					continue // the writes are the same
				}
				in.run(t, 1, func(t *testing.T, w *world) {
					want, writes := underFault(t, w, spec, 0, faulty.Fault{})
					if len(want.runs) < 3 || writes < 12 {
						t.Fatalf("without a fault it has started %q in %d writes", want.runs, writes)
					}
					for _, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter, faulty.CrashBefore, faulty.CrashAfter} {
						for k := 1; k <= writes; k++ {
							w.anew()
							got, _ := underFault(t, w, spec, k, fault)
							if fmt.Sprint(got) != fmt.Sprint(want) {
								t.Fatalf("write %d %s:\ngot  %v\nwant %v", k, fault, got, want)
							}
						}
					}
				})
			}
		})
	}
}

// tale is what came of a schedule.
type tale struct {
	runs                     []string
	started, skipped, missed int64
	open, waiting            int
	recent                   []string
}

// underFault lets a schedule whose runs overlap go on for minutes, with a fault at one of
// the engine's writes.
func underFault(t *testing.T, w *world, spec when.Spec, k int, fault faulty.Fault) (got tale, writes int) {
	t.Helper()
	book := newChores()
	chore := book.chore(100 * time.Second)
	begin := time.Now().Truncate(time.Minute).Add(time.Minute) // times are counted from here
	pass(time.Until(begin))
	e := w.start(chore)
	set(t, e, "s", "x", spec)
	settle()
	plan := w.plans[e]
	before := plan.Writes()
	if k > 0 {
		plan.At(before+k, fault)
	}
	ended := time.NewTimer(5*time.Minute + 30*time.Second)
	for over := false; !over; {
		select {
		case <-plan.Crashed():
			w.kill(e)
			writes += plan.Writes() - before
			e = w.start(chore)
			plan, before = w.plans[e], 0
		case <-ended.C:
			over = true
		}
	}
	settle()
	writes += plan.Writes() - before
	d := describeSchedule(t, e, "s")
	got = tale{started: d.Started, skipped: d.Skipped, missed: d.Missed, open: len(d.Open), waiting: len(d.Waiting)}
	for _, run := range runsOf(t, e, "s") {
		at, status, _ := strings.Cut(run, " ")
		nominal, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		got.runs = append(got.runs, fmt.Sprint(nominal.Sub(begin), " ", status))
	}
	for _, f := range d.Recent {
		got.recent = append(got.recent, fmt.Sprint(f.Nominal.Sub(begin), " ", f.Status))
	}
	for id, n := range book.done {
		if n != 1 && !slices.Contains([]faulty.Fault{faulty.CrashBefore, faulty.CrashAfter}, fault) {
			t.Errorf("%s has run %d times", id, n)
		}
	}
	stop(t, e)
	return got, writes
}
