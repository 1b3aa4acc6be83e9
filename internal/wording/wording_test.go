package wording

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

func TestWhoAndWhy(t *testing.T) {
	for _, c := range []struct{ by, why, end, alone string }{
		{"", "", "", ""}, {"ann", "", " by ann", "by ann"}, {"", "a test", ": a test", "a test"}, {"ann", "a test", " by ann: a test", "by ann: a test"},
	} {
		if end, alone := Person(c.by, c.why), ByAndWhy(c.by, c.why); end != c.end || alone != c.alone {
			t.Errorf("%q, %q: %q and %q", c.by, c.why, end, alone)
		}
	}
	for want, w := range map[string]view.Wait{
		"Timeout: late":               {ErrorType: "Timeout", Error: "late"},
		"Timeout: it is late":         {ErrorType: "Timeout", Error: "timeout: it is late"},
		"Panic: panic: ":              {ErrorType: "Panic", Error: "panic: "},
		"Timeout: timeouts: many":     {ErrorType: "Timeout", Error: "timeouts: many"},
		"late":                        {ErrorType: retry.TypeError, Error: "late"},
		"by ann: a test":              {By: "ann", Why: "a test", Error: "late"},
		"no node has it: Timeout: la": {Why: "no node has it", ErrorType: "Timeout", Error: "la"},
	} {
		if got := Why(&w); got != want {
			t.Errorf("%+v is %q; want %q", w, got, want)
		}
	}
}

func TestAnErrorIsSaidOfThoseThatHadIt(t *testing.T) {
	late, lacks, paused := view.Wait{ErrorType: "Timeout", Error: "late"}, view.Wait{Why: "no node has it", Error: "late"}, view.Wait{By: "ann", Error: "late"}
	for want, w := range map[string]view.Waiting{
		"Timeout: late":                  {Wait: late, Count: 40, Failed: 40},
		"1,003 failed: Timeout: late":    {Wait: late, Count: 1040, Failed: 1003},
		"3+ failed: Timeout: late":       {Wait: late, Count: 1000, Failed: 3, AtLeast: true},
		"no node has it: late":           {Wait: lacks, Count: 1, Failed: 1},
		"no node has it; 1 failed: late": {Wait: lacks, Count: 2, Failed: 1},
		"by ann":                         {Wait: paused, Count: 2, Failed: 1},
		"":                               {Count: 2},
		"no node has it":                 {Wait: view.Wait{Why: "no node has it"}},
	} {
		if got := WhyWaiting(&w); got != want {
			t.Errorf("%+v is %q; want %q", w, got, want)
		}
	}
}

func TestAttempts(t *testing.T) {
	for want, c := range map[string]view.Call{
		"": {State: view.CallPaused, Attempt: 1, Max: 3}, "2 of 3": {State: view.CallBackoff, Attempt: 2, Max: 3}, "1,234": {Attempt: 1234, Max: retry.Unlimited}, "7": {Attempt: 7},
	} {
		if got := Attempt(&c); got != want {
			t.Errorf("%+v is %q; want %q", c, got, want)
		}
	}
}

func TestGates(t *testing.T) {
	at := time.Unix(0, 0)
	w := view.GateWait{Name: "bank", Place: 2, Waiting: 5, OpenUntil: &at, Paused: &view.Pause{Since: at, By: "ann"}}
	want := "waiting at gate bank (place 2 of 5), breaker open until " + human.Time(at) + ", paused since " + human.Time(at) + " by ann"
	if got := AtGate(&w); got != want {
		t.Errorf("it is %q; want %q", got, want)
	}
	if got := AtGate(&view.GateWait{Name: "bank", Verdict: true, Place: 1}); got != "waiting at gate bank for its retry budget" {
		t.Error(got)
	}
}

func TestQueues(t *testing.T) {
	at := time.Unix(100, 0)
	for want, c := range map[string]view.Call{
		"an attempt of queue gpu runs on shop-1":                {State: view.CallRunning, Node: "shop-1"},
		"its attempts run where queue gpu is served":            {State: view.CallBackoff},
		"it has waited in queue gpu for 1m00s":                  {State: view.CallOffered, Offered: &at},
		"it has waited in queue gpu for 1m00s: nobody is there": {State: view.CallOffered, Offered: &at, Unserved: "nobody is there"},
	} {
		c.Queue = "gpu"
		if got := AtQueue(&c, at.Add(time.Minute)); got != want {
			t.Errorf("it is %q; want %q", got, want)
		}
	}
}

func TestTimesOfSchedules(t *testing.T) {
	for want, s := range map[string]schedule.Spec{
		"30 2 * * * Europe/Paris": {Cron: "30 2 * * *", TimeZone: "Europe/Paris"}, "every 1h + 5m": {Every: time.Hour, Offset: 5 * time.Minute},
	} {
		if got := Times(s); got != want {
			t.Errorf("it is %q; want %q", got, want)
		}
	}
}

func TestTrials(t *testing.T) {
	estimate := 1.5
	trial := &view.PolicyTrial{Estimate: &estimate}
	trial.Recorded.Attempts, trial.Trial.Attempts, trial.Best.Attempts, trial.Worst.Attempts, trial.Worst.More = 10, 9, 8, 12, true
	trial.Recorded.Succeeded, trial.Recorded.P50, trial.Trial.Unknown = 1, time.Minute, 2
	if got := TrialSaved(trial); got != "At best the policy saves 2 attempts, at worst it adds 2 attempts or more." {
		t.Error(got)
	}
	if got := TrialEstimate(trial); got != "Estimate: 1.5 of the 2 unknown calls would have succeeded." {
		t.Error(got)
	}
	var rows []string
	for _, r := range TrialRows(trial) {
		rows = append(rows, strings.Join([]string{r.Name, r.Recorded, r.Trial, r.Worst, r.Best}, "|"))
	}
	want := "succeeded|1|0|0|0\nunknown|0|2||\nattempts|10|9|12+|8\nhalf succeeded within|1m00s|-||\n99% succeeded within|0s|-||"
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	trial.Best.Attempts, trial.Worst.Attempts, trial.Worst.More = 10, 10, false
	if got := TrialSaved(trial); got != "The policy takes as many attempts." {
		t.Error(got)
	}
}

// TestE116_AHeldRunNamesItsBuild: what to deploy, and where it was.
func TestE116_AHeldRunNamesItsBuild(t *testing.T) {
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		status string
		needs  *view.NeededCode
		want   string
	}{
		{view.StatusWaitingForCode, nil, "No node is remembered that had it."},
		{view.StatusParked, nil, ""}, // whether it is known what fits depends on why
		{view.StatusParked, &view.NeededCode{Build: "v1.2.0", Node: "web-1", Seen: noon.Add(-time.Hour)}, "It continues with build v1.2.0, last seen 1h00m ago on the node web-1."},
		{view.StatusWaitingForCode, &view.NeededCode{Build: "v2", Node: "web-2", Version: "7", Seen: noon, Live: true}, "The node web-2 has build v2 (version 7 of its workflow), with which it continues when that node serves its partition."},
	} {
		if got := Needed(&view.Description{Run: view.Run{Status: c.status}, Needs: c.needs}, noon); got != c.want {
			t.Errorf("of %+v: %q, want %q", c.needs, got, c.want)
		}
	}
}
