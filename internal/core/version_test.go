package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// versioned is a workflow at some time of its life. first is what it does before
// its reservation, second after it; both may be nil.
func versioned(first, second func(wf *workflow.Context, order int)) maker {
	return codeOf(func(wf *workflow.Context, order int) (string, error) {
		if first != nil {
			first(wf, order)
		}
		if _, err := workflow.Call(wf, reserve, order); err != nil {
			return "", err
		}
		if second != nil {
			second(wf, order)
		}
		return "", workflow.Sleep(wf, time.Hour)
	})
}

// shipping ships with a version of the change, if there is one, or notifies.
func shipping(change string, least, latest int) func(*workflow.Context, int) {
	return func(wf *workflow.Context, order int) {
		switch workflow.VersionOf(wf, change, least, latest) {
		case 0:
			workflow.Async(wf, notify, "0")
		case 1:
			workflow.Async(wf, ship, 1)
		default:
			workflow.Async(wf, ship, 2)
		}
	}
}

func unversioned(wf *workflow.Context, _ int) { workflow.Async(wf, notify, "0") }

// TestE40_VersionMarks records a run with one code and goes on with another.
func TestE40_VersionMarks(t *testing.T) {
	is := func(first, second func(*workflow.Context, int)) maker { return versioned(first, second) }
	cases := []struct {
		name          string
		before, after maker
		want          string // the mismatch; empty if the other code goes on with the run
	}{
		{"the same", is(nil, shipping("x", 0, 1)), is(nil, shipping("x", 0, 1)), ""},
		{"an old run", is(nil, unversioned), is(nil, shipping("x", 0, 1)), ""},
		{"an old run that has not come there", is(nil, nil), is(nil, shipping("x", 0, 1)),
			`history has TimerStarted "sleep", the code asks for ActivityScheduled "notify"`},
		{"a later version", is(nil, shipping("x", 0, 1)), is(nil, shipping("x", 0, 2)), ""},
		{"a raised least", is(nil, shipping("x", 0, 1)), is(nil, shipping("x", 1, 2)), ""},
		{"a mark before the first turn's command", is(shipping("x", 0, 1), nil), is(shipping("x", 0, 5), nil), ""},
		{"asked twice", is(shipping("x", 0, 1), shipping("x", 0, 1)), is(shipping("x", 0, 2), shipping("x", 1, 2)), ""},
		{"an old run, asked twice", is(unversioned, unversioned), is(shipping("x", 0, 2), shipping("x", 0, 2)), ""},
		{"an old run and a raised least", is(nil, unversioned), is(nil, shipping("x", 1, 2)),
			`turn 2, command 1: history has ActivityScheduled "notify", the code asks for VersionMarked "x" with a version from 1 to 2 (the run is older than the mark: its version is 0)`},
		{"an old run and a least raised in one place", is(unversioned, unversioned), is(shipping("x", 0, 2), shipping("x", 1, 2)),
			`turn 2, command 1: history has ActivityScheduled "notify", the code asks for VersionMarked "x" with a version from 1 to 2 (the run is older than the mark: its version is 0)`},
		{"a raised least that excludes the version", is(nil, shipping("x", 0, 1)), is(nil, shipping("x", 2, 3)),
			`turn 2, command 1: history has VersionMarked "x" version 1, the code asks for VersionMarked "x" with a version from 2 to 3 (the version is not supported)`},
		{"a lower latest", is(nil, shipping("x", 0, 2)), is(nil, shipping("x", 0, 1)),
			`history has VersionMarked "x" version 2, the code asks for VersionMarked "x" with a version from 0 to 1 (the version is not supported)`},
		{"excluded the second time", is(shipping("x", 0, 1), shipping("x", 0, 1)), is(shipping("x", 0, 2), shipping("x", 2, 2)),
			`turn 2, command 1: history has VersionMarked "x" version 1, the code asks for VersionMarked "x" with a version from 2 to 2 (the version is not supported)`},
		{"a removed mark", is(nil, shipping("x", 0, 1)), is(nil, unversioned),
			`turn 2, command 1: history has VersionMarked "x" version 1, the code asks for ActivityScheduled "notify" (a version mark must stay where it is as long as there are runs with it)`},
		{"a renamed mark", is(nil, shipping("x", 0, 1)), is(nil, shipping("y", 0, 1)),
			`turn 2, command 1: history has VersionMarked "x" version 1, the code asks for ActivityScheduled "notify" (a version mark must stay`},
		{"a renamed mark without a way for old runs", is(nil, shipping("x", 0, 1)), is(nil, shipping("y", 1, 1)),
			`history has VersionMarked "x" version 1, the code asks for VersionMarked "y" with a version from 1 to 1 (the name differs)`},
		{"a mark that went elsewhere", is(nil, shipping("x", 0, 1)), is(shipping("x", 0, 1), nil),
			`turn 1, command 1: history has ActivityScheduled "reserve", the code asks for ActivityScheduled "notify"`},
	}
	for _, c := range cases {
		d := newDriver(t, c.before, 7)
		playReservation(t, d)
		m := replayWith(t, d, c.after)
		switch {
		case c.want == "" && m != nil:
			t.Errorf("%s: %v", c.name, m)
		case c.want != "" && (m == nil || !strings.Contains(m.Error(), c.want)):
			t.Errorf("%s: got %v\nwant %s", c.name, m, c.want)
		case m != nil:
			checkDetail(t, m)
		}
	}
}

// playReservation takes the turns of a versioned workflow until it sleeps.
func playReservation(t *testing.T, d *driver) {
	t.Helper()
	if _, err := d.step(nil, anySlot); err != nil {
		t.Fatal(err)
	}
	reserved, _ := history.Encode("reserved")
	for ref, dispatch := range d.running {
		if dispatch.Name == reserve.Name() {
			if _, err := d.step([]core.Input{core.AttemptEnded{Call: ref.Call, Attempt: 1, Outcome: core.Completed, Result: reserved, Ended: d.now}}, anySlot); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("nothing was reserved")
}

// An old run that comes to a mark after the code was changed gets the latest
// version, and keeps it.
func TestE40_VersionOfARunThatComesLater(t *testing.T) {
	seen := []int{}
	waiting := func(latest int) maker {
		return codeOf(func(wf *workflow.Context, order int) (string, error) {
			for {
				if _, err := workflow.Receive(wf, approval); err != nil {
					return "", err
				}
				if latest > 0 {
					seen = append(seen, workflow.VersionOf(wf, "x", 0, latest))
				}
			}
		})
	}
	d := newDriver(t, waiting(0), 7)
	arrive := func() {
		t.Helper()
		value, _ := history.Encode("yes")
		if _, err := d.step([]core.Input{core.Control{Operation: core.SignalTheRun, Signal: "approval", Value: value}}, anySlot); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.step(nil, anySlot); err != nil {
		t.Fatal(err)
	}
	for latest := 1; latest <= 3; latest++ {
		if err := d.reload(waiting(latest)); err != nil {
			t.Fatal(err)
		}
		seen = seen[:0]
		arrive()
		arrive()
		for _, v := range seen {
			if v != 1 {
				t.Errorf("with versions up to %d the run has %v, want 1", latest, seen)
			}
		}
	}
	if marks := strings.Count(fmt.Sprint(d.events()), "VersionMarked"); marks != 1 {
		t.Errorf("%d marks are on record, want 1", marks)
	}
}

// A range that excludes the version is noticed live as well: the step is refused.
func TestE41_VersionExcludedLive(t *testing.T) {
	d := newDriver(t, versioned(shipping("x", 0, 1), shipping("x", 2, 2)), 7)
	if _, err := d.step(nil, anySlot); err != nil {
		t.Fatal(err)
	}
	value, _ := history.Encode("reserved")
	_, err := d.step([]core.Input{core.AttemptEnded{Call: 3, Attempt: 1, Outcome: core.Completed, Result: value, Ended: d.now}}, anySlot)
	want := `turn 2, command 1: history has VersionMarked "x" version 1, the code asks for VersionMarked "x" with a version from 2 to 2`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
