package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// statusOf returns the status, and its waits as lines.
func statusOf(t *testing.T, in *Inspector) (*view.Status, []string) {
	t.Helper()
	s, err := in.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	for _, w := range s.Waiting {
		waits = append(waits, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", w.Count, w.For, w.Name, w.Gate)))
	}
	return s, waits
}

// TestF11_AStatusTellsWhatWaitsForWhat: the most serious first, the same waits together, each
// with the one that has waited longest.
func TestF11_AStatusTellsWhatWaitsForWhat(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Seconds(5)))
	s.Define("bank", charges(roomtest.Through(door)))
	s.Define("pauses", charges(roomtest.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})))
	s.Define("queued", charges(roomtest.In("gpu")))
	s.Begin("bank", "first")
	s.Serve()
	for i := range 2 {
		s.Begin("order", fmt.Sprint("backoff-", i)).Fails(1, "Busy", "not now")
		s.Pass(100 * time.Millisecond)
	}
	s.Begin("bank", "second")
	s.Serve()
	s.Begin("pauses", "p").Fails(1, "Broken", "no")
	s.Begin("order", "held").Asks(core.Control{Operation: core.PauseTheRun, By: "ann"})
	s.Begin("order", "parked").Park(core.Detail{Reason: "oh"})
	s.Begin("order", "damaged").Park(core.Detail{Reason: "turn 1 is damaged", Damaged: true})
	s.Begin("queued", "q")
	status, waits := statusOf(t, in)
	want := []string{"1 damaged order", "1 parked order", "1 unserved charge", "1 paused charge", "1 paused order", "2 backoff charge", "1 gate charge door"}
	if !slices.Equal(waits, want) {
		t.Errorf("it waits for %q, not %q", waits, want)
	}
	at := slices.IndexFunc(status.Waiting, func(w view.Waiting) bool { return w.For == view.WaitBackoff })
	if b := status.Waiting[at]; b.WorkflowID != "backoff-0" || !isTime(b.Since, roomtest.Began) || !isTime(b.Until, roomtest.Began.Add(time.Second)) || b.Error != "not now" || b.ErrorType != "Busy" || b.AtLeast {
		t.Errorf("the example is %+v", b)
	}
	if !status.Served || !status.Attention || !status.Time.Equal(s.Time()) || len(status.Nodes) != 1 || status.Runs[view.StatusParked] != 2 {
		t.Errorf("it is %+v", status)
	}
	if len(status.Errors) != 2 || status.Errors[0].ErrorType != "Busy" || status.Errors[0].Attempts != 2 || status.Errors[0].Before != 0 {
		t.Errorf("errors of the last hour are %+v", status.Errors)
	}
}

// TestF11_AnErrorIsToldOfTheCallsThatHadIt: of calls that wait together, most of which have never run,
// it is said how many failed before, and the error is that of one of those.
func TestF11_AnErrorIsToldOfTheCallsThatHadIt(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Seconds(5)))
	s.Define("fan", func(w *roomtest.Work) (any, error) {
		return nil, w.Wait(w.Start("charge"), w.Start("charge"), w.Start("charge"))
	})
	failed := s.Begin("order", "failed")
	failed.Fails(1, "Busy", "not now")
	s.Admit = noSlot
	s.Begin("fan", "never ran")
	told := func() view.Waiting {
		t.Helper()
		status, waits := statusOf(t, in)
		if len(waits) != 1 || status.Waiting[0].For != view.WaitSlot {
			t.Fatalf("it waits for %q", waits)
		}
		return status.Waiting[0]
	}
	s.Pass(time.Minute)
	if w := told(); w.WorkflowID != "never ran" || w.Failures != 0 || w.Count != 4 || w.Failed != 1 || w.Error != "not now" || w.ErrorType != "Busy" {
		t.Errorf("of four calls, one of which failed: %+v", w)
	}
	failed.Step(core.Control{Operation: core.TerminateTheRun})
	if w := told(); w.Count != 3 || w.Failed != 0 || w.Error != "" {
		t.Errorf("of those that never ran: %+v", w)
	}
}

// TestF11_APauseIsTheStateOfTheThing: a paused activity or gate is told whether or not something
// waits for it, and once, whoever waits.
func TestF11_APauseIsTheStateOfTheThing(t *testing.T) {
	s, in := scene(t)
	s.Define("bank", charges(roomtest.Through(door)))
	s.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Call("ship") })
	r := s.Begin("bank", "first")
	s.Serve()
	tellGate(s, core.ToGate{Word: core.GatePause})
	pauseActivity(s, "ship")
	status, waits := statusOf(t, in)
	if want := []string{"0 activity-paused ship", "0 gate-paused  door"}; !slices.Equal(waits, want) {
		t.Errorf("without calls: %q", waits)
	}
	if g := status.Waiting[1]; g.By != "eve" || g.Why != "the bank is down" || !isTime(g.Since, s.Time()) || status.Attention {
		t.Errorf("the gate: %+v; attention %v", g, status.Attention)
	}
	s.Admit = noSlot
	s.Begin("bank", "second")
	s.Begin("order", "third")
	s.Serve()
	if _, waits = statusOf(t, in); !slices.Equal(waits, []string{"1 activity-paused ship", "1 gate-paused charge door"}) {
		t.Errorf("with calls: %q", waits)
	}
	s.Admit = nil
	r.Completes(1, nil)
	tellGate(s, core.ToGate{Word: core.GateResume})
	if _, waits = statusOf(t, in); !slices.Equal(waits, []string{"1 activity-paused ship"}) {
		t.Errorf("once resumed: %q", waits)
	}
}

// TestF11_WhatIsNotReadIsTold: of more calls than a status reads it says that there are as many at
// least, also of those of a paused activity, which wait in a queue; of others it does not.
func TestF11_WhatIsNotReadIsTold(t *testing.T) {
	s, in := scene(t)
	s.Define("many", func(w *roomtest.Work) (any, error) {
		var calls []*core.Call
		for range statusCalls/2 + 1 {
			calls = append(calls, w.Start("ship", roomtest.In("gpu")))
		}
		return nil, w.Wait(calls...)
	})
	s.Define("order", charges(roomtest.Seconds(5)))
	s.Begin("many", "m")
	s.Begin("many", "n")
	s.Begin("order", "o").Fails(1, "Busy", "not now")
	for _, kind := range []string{view.WaitUnserved, view.WaitActivityPaused} {
		if kind == view.WaitActivityPaused {
			pauseActivity(s, "ship")
		}
		status, _ := statusOf(t, in)
		for _, w := range status.Waiting {
			if more := w.For == kind && w.Count > 0; w.AtLeast != more || more && w.Count != statusCalls {
				t.Errorf("%d %s, at least: %v", w.Count, w.For, w.AtLeast)
			}
		}
	}
}

// TestF11_WhatNeedsAPerson: is what stands still that no person has stopped.
func TestF11_WhatNeedsAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *roomtest.Scene, r *roomtest.Run)
		want bool
	}{
		"a run that goes on":       {nothing, false},
		"a call in backoff":        {func(s *roomtest.Scene, r *roomtest.Run) { r.Fails(1, "Busy", "no") }, false},
		"a run paused by a person": {func(s *roomtest.Scene, r *roomtest.Run) { r.Asks(core.Control{Operation: core.PauseTheRun, By: "ann"}) }, false},
		"a call paused by a person": {func(s *roomtest.Scene, r *roomtest.Run) {
			r.Fails(1, "Busy", "no")
			r.Asks(core.Control{Operation: core.PauseCall, By: "ann"})
		}, false},
		"a parked run":         {func(s *roomtest.Scene, r *roomtest.Run) { r.Park(core.Detail{Reason: "oh"}) }, true},
		"a run without code":   {func(s *roomtest.Scene, r *roomtest.Run) { r.Await(core.Detail{}) }, true},
		"a run without a node": {func(s *roomtest.Scene, r *roomtest.Run) { s.Must(s.DB.Leave(s.Context(), roomtest.Node)) }, true},
		"an ended run without a node": {func(s *roomtest.Scene, r *roomtest.Run) {
			r.Completes(1, nil)
			s.Must(s.DB.Leave(s.Context(), roomtest.Node))
		}, false},
	} {
		s, in := scene(t)
		s.Define("order", charges(roomtest.Seconds(5)))
		c.do(s, s.Begin("order", "order-17"))
		if status, waits := statusOf(t, in); status.Attention != c.want {
			t.Errorf("%s: attention %v, with %q", name, status.Attention, waits)
		}
	}
}

// TestF11_WhatFailedLatelyIsTold: errors by the hour with the hour before, and the runs of the
// last hour that failed, latest first.
func TestF11_WhatFailedLatelyIsTold(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Seconds(2)))
	fail := func(id string, times int) {
		r := s.Begin("order", id)
		for range times {
			r.Fails(1, "Busy", "no")
			s.Pass(time.Second)
		}
	}
	fail("long ago", 2)
	s.Pass(50 * time.Minute)
	fail("once", 1)
	s.Pass(30 * time.Minute)
	for i := range 7 {
		fail(fmt.Sprint("lately-", i), 2)
	}
	status, _ := statusOf(t, in)
	if len(status.Errors) != 1 || status.Errors[0].Attempts != 15 || status.Errors[0].Before != 2 || status.Errors[0].Calls != 8 {
		t.Errorf("the errors are %+v", status.Errors)
	}
	if len(status.Failed) != statusFailed {
		t.Fatalf("%d runs failed lately", len(status.Failed))
	}
	for i, r := range status.Failed {
		if r.WorkflowID != fmt.Sprint("lately-", 6-i) || r.Closed == nil {
			t.Errorf("place %d has %+v", i, r)
		}
	}
}

// TestE123_QueuesAreSummedUp: what waits, what runs, who serves, and which activities nobody has.
func TestE123_QueuesAreSummedUp(t *testing.T) {
	s, in := scene(t)
	s.Define("render", func(w *roomtest.Work) (any, error) {
		return nil, w.Wait(w.Start("render", roomtest.In("gpu")), w.Start("encode", roomtest.In("gpu")), w.Start("print", roomtest.In("paper")))
	})
	s.Begin("render", "a")
	s.Pass(time.Second)
	s.Begin("render", "b")
	attend(s, "w", "gpu", "render")
	attend(s, "idle", "tape", "save")
	tasks, err := s.DB.ClaimTasks(t.Context(), store.TaskClaim{Worker: "w-1", Partitions: s.Group, Queue: "gpu", Names: []string{"render"}, Turns: store.Turns{Limit: 1}})
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	s.Serve()
	status, waits := statusOf(t, in)
	want := []view.Queue{
		{Queue: "gpu", Waiting: 3, Running: 1, Workers: 1, Limit: 4, Unserved: []string{"encode"}},
		{Queue: "paper", Waiting: 2, Unserved: []string{"print"}},
		{Queue: "tape", Workers: 1, Limit: 4},
	}
	for i := range status.Queues {
		q := status.Queues[i]
		if (q.Oldest == nil) != (q.Waiting == 0) || q.Oldest != nil && !q.Oldest.Equal(roomtest.Began) {
			t.Errorf("the oldest in %s is of %v", q.Queue, q.Oldest)
		}
		status.Queues[i].Oldest = nil
	}
	if got, want := fmt.Sprintf("%+v", status.Queues), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("the queues are\n%s\nnot\n%s", got, want)
	}
	if !slices.Equal(waits, []string{"2 unserved encode", "2 unserved print", "1 queue render"}) || !status.Attention {
		t.Errorf("it waits for %q", waits)
	}
}

// TestE116_NodesAreListedWithWhatTheyHave: state, build, definitions, queues and attempts.
func TestE116_NodesAreListedWithWhatTheyHave(t *testing.T) {
	s, in := scene(t)
	s.Pass(time.Second)
	s.Must(s.DB.Join(t.Context(), store.Node{
		ID: "two", Name: "node-2", Lease: time.Minute, Build: "build-2",
		Definitions: `{"workflows":[{"name":"order","version":"7"}],"activities":["charge","ship"]}`,
	}))
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "three", Name: "node-3", Lease: time.Second, Build: "build-3", Definitions: "{"}))
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "four", Name: "node-4", Lease: time.Hour}))
	s.Must(s.DB.Leave(t.Context(), "four"))
	s.Pass(2 * time.Second)
	attend(s, "w", "gpu", "render")
	nodes, err := in.Nodes(t.Context())
	if err != nil || len(nodes) != 5 {
		t.Fatal(nodes, err)
	}
	states := map[string]string{}
	for i, n := range nodes {
		states[n.Name] = n.State
		if i > 0 && n.Joined.Before(nodes[i-1].Joined) {
			t.Errorf("%s is listed after %s, which joined later", n.Name, nodes[i-1].Name)
		}
	}
	if want := (map[string]string{roomtest.Node: view.NodeLive, "node-2": view.NodeLive, "node-3": view.NodeExpired, "node-4": view.NodeLeft, "w": view.NodeLive}); fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("the states are %v, not %v", states, want)
	}
	get := func(name string) view.Node {
		return nodes[slices.IndexFunc(nodes, func(n view.Node) bool { return n.Name == name })]
	}
	if n := get("node-2"); n.Build != "build-2" || len(n.Workflows) != 1 || n.Workflows[0] != (view.Definition{Name: "order", Version: "7"}) || len(n.Activities) != 2 || n.Worker || n.Expires == nil || n.Partitions != 0 {
		t.Errorf("node 2 is %+v", n)
	}
	if n := get("node-3"); n.Build != "build-3" || n.Workflows != nil {
		t.Errorf("a node whose definitions cannot be read is %+v", n)
	}
	if n := get("w"); !n.Worker || len(n.Queues) != 1 || n.Queues[0] != (view.ServedQueue{Queue: "gpu", Limit: 4}) || n.Build != "build-w" || n.Activities[0] != "render" {
		t.Errorf("the worker is %+v", n)
	}
	if n := get(roomtest.Node); n.Partitions != 1 {
		t.Errorf("the owner is %+v", n)
	}
}

// TestE116_AHeldRunSaysWhichBuildItNeeds: that of the code which last advanced it; any that has
// its workflow if it never began; its own if it is pinned.
func TestE116_AHeldRunSaysWhichBuildItNeeds(t *testing.T) {
	s, in := scene(t)
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "two", Name: "node-2", Lease: time.Hour, Build: "build-2", Definitions: `{"workflows":[{"name":"pinned"}]}`}))
	s.Define("order", charges())
	s.Begin("order", "began").Await(core.Detail{Reason: "no code"})
	d := describe(t, in, "began")
	if d.Needs != nil { // no node says that it has the workflow
		t.Errorf("it needs %+v", d.Needs)
	}
	s.Config = func(c *core.Config) { c.Build = "build-2" }
	s.Define("pinned", charges())
	pinned := s.Begin("pinned", "pinned")
	pinned.Await(core.Detail{Reason: "its build is away"})
	d = describe(t, in, "pinned")
	if d.Needs == nil || d.Needs.Build != "build-2" || d.Needs.Node != "node-2" || !d.Needs.Live || d.Build != "build-2" {
		t.Errorf("the pinned run needs %+v, and is of build %q", d.Needs, d.Build)
	}
	if why, err := in.Why(t.Context(), "pinned", ""); err != nil || why != "it stays on build build-2, which the node node-2 has; start an engine of that build, or give it another one with ops.MoveRun" {
		t.Errorf("it says %q, %v", why, err)
	}
	s.Must(s.DB.Leave(t.Context(), "two"))
	if why, _ := in.Why(t.Context(), "pinned", ""); !strings.Contains(why, "which was seen last on the node node-2, 2027-01-15T08:00:00Z") {
		t.Errorf("once it is gone: %q", why)
	}
	for to, want := range map[string]string{
		"build-1": "no node is remembered that has this workflow in build build-1: it would wait for one",
		"build-2": "build build-2 was seen last on the node node-2, 2027-01-15T08:00:00Z: it would wait for it",
	} {
		if says, err := in.WouldMove(t.Context(), pinned.Row(), "build-2", to); says != want || err != nil {
			t.Errorf("to %s: %q, %v", to, says, err)
		}
	}
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "three", Name: "node-3", Lease: time.Hour, Build: "build-3", Definitions: `{"workflows":[{"name":"pinned","version":"1"}]}`}))
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "four", Name: "node-4", Lease: time.Hour, Build: "build-4", Definitions: `{"workflows":[{"name":"pinned","version":"1"}]}`}))
	for from, want := range map[string]string{"build-2": "with other code of the workflow: it would continue there, or be parked", "build-3": "with the same version of the workflow: it would continue there"} {
		if says, err := in.WouldMove(t.Context(), pinned.Row(), from, "build-4"); !strings.Contains(says, want) || err != nil {
			t.Errorf("from %s: %q, %v", from, says, err)
		}
	}
}

// TestE150_TheLogOfCanariesIsTold: oldest first, which one is in force, and in the audit.
func TestE150_TheLogOfCanariesIsTold(t *testing.T) {
	s, in := scene(t)
	if c, err := in.CurrentCanary(t.Context()); c != nil || err != nil {
		t.Fatal(c, err)
	}
	for i, w := range []store.Switch{
		{Name: "build-2", Off: true, Share: store.WholeShare / 8, By: "ann", Why: "try"}, {Name: "build-2", Off: true, Share: store.WholeShare}, {Name: "build-2"},
	} {
		w.Kind, w.Request = store.SwitchCanary, fmt.Sprint(i)
		_, err := s.DB.Switch(t.Context(), w)
		s.Must(err)
		s.Pass(time.Second)
		all, err := in.Canaries(t.Context())
		if err != nil || len(all) != i+1 {
			t.Fatal(all, err)
		}
		current, err := in.CurrentCanary(t.Context())
		if err != nil || (current == nil) != (i == 2) || current != nil && (current.Percent != []float64{12.5, 100}[i] || current.Build != "build-2") {
			t.Errorf("in force is %+v, %v", current, err)
		}
		if status, _ := statusOf(t, in); (status.Canary == nil) != (current == nil) {
			t.Errorf("the status has %+v", status.Canary)
		}
	}
	audit, err := in.AuditGroup(t.Context(), view.AuditFilter{})
	if err != nil || len(audit.Records) != 3 || audit.Records[0].Operation != "end-canary" || audit.Records[2].Note != "12.5 % of new runs begin there" || audit.Records[2].By != "ann" || audit.Records[2].Kind != "build" {
		t.Errorf("the audit is %+v, %v", audit, err)
	}
	if switches, err := in.Switches(t.Context(), false); len(switches) != 0 || err != nil {
		t.Errorf("canaries are no switches of activities: %+v, %v", switches, err)
	}
}

// TestE22_TheRatesOfAnActivity: first tries, attempts a call, and how long calls were retried.
func TestE22_TheRatesOfAnActivity(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Seconds(3)))
	for i, failures := range []int{0, 1, 2, 3} {
		r := s.Begin("order", fmt.Sprint("o", i))
		for range failures {
			r.Fails(1, "Busy", "no")
			s.Pass(time.Second)
		}
		if failures < 3 {
			r.Completes(1, 1)
		}
	}
	stats, err := in.ActivityStats(t.Context(), time.Time{}, time.Time{})
	want := view.ActivityStats{
		Workflow: "order", Name: "charge", Calls: 4, FirstTry: 1, Recovered: 2, Exhausted: 1, Attempts: 9, Retrying: 5 * time.Second,
		FirstTryRate: 0.25, AttemptsPerCall: 2.25, MeanRetrying: 5 * time.Second / 3,
		Median: 900 * time.Millisecond, P95: 1900 * time.Millisecond, // the middle of the class of 1 s, and three quarters of that of 2 s
	}
	if err != nil || len(stats) != 1 || stats[0] != want {
		t.Errorf("counted are %+v, %v; want %+v", stats, err, want)
	}
}
