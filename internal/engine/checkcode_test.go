package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// secretText is in inputs, results and panics; no report may show it.
const secretText = "hunter2"

// changes are ways in which a workflow's code can be another one, by the name of the
// workflow. Nil removes it.
var changes = map[string]func(*recipe){
	"same":           func(*recipe) {},
	"removed":        nil,
	"renamed":        func(c *recipe) { c.first = charge },
	"reordered":      func(c *recipe) { c.first, c.second = charge, reserve },
	"another input":  func(c *recipe) { c.input = 1 },
	"ends earlier":   func(c *recipe) { c.early = true },
	"fails earlier":  func(c *recipe) { c.early, c.fails = true, true },
	"another signal": func(c *recipe) { c.signal = workflow.NewSignal[string]("continue") },
	"another order":  func(c *recipe) { c.reversed = true },
	"later":          func(c *recipe) { c.delay = 2 * time.Hour },
	"panics":         func(c *recipe) { c.between = func(*workflow.Context) { panic(secretText) } },
	"index":          func(c *recipe) { c.between = func(*workflow.Context) { _ = []int{}[len(secretText)] } },
	"added call": func(c *recipe) {
		c.between = func(wf *workflow.Context) { _, _ = workflow.Call(wf, notify, secretText) }
	},
	"added call behind a version": func(c *recipe) {
		c.between = func(wf *workflow.Context) {
			if workflow.VersionOf(wf, "notify", 0, 1) == 1 {
				_, _ = workflow.Call(wf, notify, secretText)
			}
		}
	},
}

// checkedWith are the definitions of a version: 2 has the changes. All types have a run each.
func checkedWith(version int) (flows []workflow.Workflow[int, string], definitions []any) {
	definitions = []any{reserve, charge, slow, notify}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		c := recorded()
		if version == 2 && changes[name] == nil {
			continue
		}
		if version == 2 {
			changes[name](&c)
		}
		flow := workflow.New(name, c.run, workflow.Version(fmt.Sprint(version)))
		flows, definitions = append(flows, flow), append(definitions, flow)
	}
	return flows, definitions
}

func checkOf(t *testing.T, e *engine.Engine, f view.CodeFilter) *view.CodeCheck {
	t.Helper()
	c, err := e.CheckCode(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// standing is what a check says of each run that does not fit, by workflow ID.
func standing(c *view.CodeCheck) map[string]string {
	all := map[string]string{}
	for _, f := range c.Findings {
		all[f.WorkflowID] = f.Verdict
	}
	return all
}

// TestF26_WhatIsFoundIsWhatIsParked: runs are under way with version 1; the check of
// version 2 finds those, and no others, that an engine with version 2 then parks or
// leaves without code, each with the same first difference. It writes nothing.
func TestF26_WhatIsFoundIsWhatIsParked(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		flows, definitions := checkedWith(1)
		e := w.start(definitions...)
		for _, f := range flows {
			begin(t, e, f, f.Name(), 7)
			begin(t, e, f, f.Name()+" paused", 7)
			begin(t, e, f, f.Name()+" ended", 7)
		}
		pass(2 * time.Minute)
		for _, f := range flows {
			control(t, e, f.Name()+" paused", core.Control{Operation: core.PauseTheRun})
			if err := e.Cancel(t.Context(), f.Name()+" ended", "", request.By{Who: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)

		_, changed := checkedWith(2)
		client := w.open(w.config(changed...))
		found := checkOf(t, client, view.CodeFilter{}) // beside the engine that serves
		if n := w.plans[client].Writes(); n != 0 {
			t.Errorf("the check wrote %d times", n)
		}
		if own := checkOf(t, e, view.CodeFilter{}); !own.OK || own.Err() != nil || len(own.Findings) != 0 || own.Open != 2*len(flows) {
			t.Errorf("of the code that serves: %+v", own)
		}
		w.kill(e)

		e = w.start(changed...)
		for _, f := range flows {
			signal(t, e, f.Name(), proceed.Name(), "", "go")
			control(t, e, f.Name()+" paused", core.Control{Operation: core.ResumeTheRun})
		}
		pass(time.Minute)
		stops := map[string]string{}
		for _, f := range flows {
			for _, id := range []string{f.Name(), f.Name() + " paused"} {
				d := describe(t, e, id)
				switch d.Status {
				case view.StatusParked:
					stops[id] = view.CodeParks
				case view.StatusWaitingForCode:
					stops[id] = view.CodeMissing
				}
				for _, f := range found.Findings {
					if f.WorkflowID == id && d.Mismatch != nil && (f.Turn != d.Mismatch.Turn || f.Command != d.Mismatch.Command) {
						t.Errorf("%s: found %+v, and it is parked with %+v", id, f, d.Mismatch)
					}
				}
			}
		}
		if got := standing(found); !maps.Equal(got, stops) || found.OK || len(stops) < 20 {
			t.Errorf("found %v,\nand stopped are %v", got, stops)
		}
		sum := view.CodeType{}
		for _, c := range found.Types {
			sum.Open, sum.Fits, sum.Parks, sum.NoCode, sum.Stops = sum.Open+c.Open, sum.Fits+c.Fits, sum.Parks+c.Parks, sum.NoCode+c.NoCode, sum.Stops+c.Stops
		}
		if sum.Open != found.Open || sum.Stops != len(stops) || sum.Fits+sum.Parks+sum.NoCode != found.Checked || found.Checked != found.Open {
			t.Errorf("the sums are %+v of %+v", sum, found)
		}
		again := checkOf(t, client, view.CodeFilter{})
		if !again.OK || len(standing(again)) != len(stops) {
			t.Errorf("runs that stand already stop the deploy: %v", again.Err())
		}
	})
}

// TestF27_NoPayloadIsShown in the texts of a check.
func TestF27_NoPayloadIsShown(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		flows, definitions := checkedWith(1)
		keep := func(in string) workflow.Workflow[string, string] {
			return workflow.New("keeps", func(wf *workflow.Context, _ string) (string, error) {
				if _, err := workflow.Call(wf, notify, in); err != nil {
					return "", err
				}
				return workflow.Receive(wf, proceed)
			})
		}
		e := w.start(append(definitions, keep(secretText))...)
		for _, f := range flows {
			begin(t, e, f, f.Name(), 7)
		}
		begin(t, e, keep(""), "keeps", secretText)
		pass(2 * time.Minute)
		_, changed := checkedWith(2)
		c := checkOf(t, w.open(w.config(append(changed, keep(secretText+"!"))...)), view.CodeFilter{})
		text, err := json.Marshal(c)
		if err != nil || strings.Contains(string(text), secretText) || strings.Contains(c.Err().Error(), secretText) {
			t.Errorf("a payload is in %s, %v", text, err)
		}
		for _, want := range []string{"the input differs", "panicked with a string", "index out of range", "the workflow is not registered"} {
			if !strings.Contains(string(text), want) || !strings.Contains(c.Err().Error(), want) {
				t.Errorf("nothing says %q", want)
			}
		}
	})
}

// TestF27_Samples: the same runs of each workflow are chosen whenever they are open; there
// are as many as were asked for, and findings beyond the limit are counted.
func TestF27_Samples(t *testing.T) {
	needsQueries.inBothModesShared(t, 4, func(t *testing.T, w *world) {
		wait := func(name, signal string) workflow.Workflow[int, string] {
			return workflow.New(name, func(wf *workflow.Context, _ int) (string, error) {
				return workflow.Receive(wf, workflow.NewSignal[string](signal))
			})
		}
		e := w.start(wait("many", "go"), wait("few", "go"))
		for i := range 50 {
			begin(t, e, wait("many", "go"), fmt.Sprint("many-", i), i)
		}
		for i := range 3 {
			begin(t, e, wait("few", "go"), fmt.Sprint("few-", i), i)
		}
		settle()
		client := w.open(w.config(wait("many", "come"), wait("few", "go")))
		ids := func(f view.CodeFilter) (ids []string, c *view.CodeCheck) {
			c = checkOf(t, client, f)
			for _, f := range c.Findings {
				ids = append(ids, f.WorkflowID)
			}
			slices.Sort(ids)
			return ids, c
		}
		first, c := ids(view.CodeFilter{Sample: 10})
		if len(first) != 10 || c.Open != 53 || c.Checked != 13 || c.Types[0].Checked != 3 || c.Types[1].Parks != 10 {
			t.Errorf("of 10 each: %q, %+v", first, c)
		}
		begin(t, e, wait("few", "go"), "another", 0)
		if second, _ := ids(view.CodeFilter{Sample: 10}); !slices.Equal(first, second) {
			t.Errorf("the sample was %q and is %q", first, second)
		}
		more, _ := ids(view.CodeFilter{Sample: 20})
		for _, id := range first {
			if !slices.Contains(more, id) {
				t.Errorf("a larger sample lacks %q", id)
			}
		}
		progress := []int{}
		if some, c := ids(view.CodeFilter{Limit: 5, Progress: func(n int) { progress = append(progress, n) }}); len(some) != 5 || c.More != 45 || c.Types[1].Stops != 50 {
			t.Errorf("of 5 findings: %q, %+v", some, c)
		}
		if !slices.Equal(progress, []int{54}) {
			t.Errorf("the progress was %v", progress)
		}
		if _, c := ids(view.CodeFilter{Workflow: "few"}); !c.OK || c.Checked != 4 {
			t.Errorf("of one workflow: %+v", c)
		}
		if _, c := ids(view.CodeFilter{IDPrefix: "many-4"}); c.Checked != 11 {
			t.Errorf("of a prefix: %+v", c)
		}
		for _, f := range []view.CodeFilter{{Sample: -1}, {Limit: -1}} {
			if _, err := client.CheckCode(t.Context(), f); err == nil {
				t.Errorf("%+v was accepted", f)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := client.CheckCode(ctx, view.CodeFilter{}); err == nil {
			t.Error("it went on without its caller")
		}
	})
}

// TestF26_RecordsThatCannotBeRead, and code that is stuck.
func TestF26_RecordsThatCannotBeRead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		never := activity.New("never", func(context.Context, int) (int, error) { return 0, &declinedError{} }, activity.Retry(retry.Policy{MaxAttempts: 9, Backoff: retry.Fixed(time.Hour)}))
		flow := calls(never)
		e := w.start(flow, never)
		run := begin(t, e, flow, "broken", 0)
		begin(t, e, flow, "sound", 0)
		pass(time.Minute)
		stop(t, e)
		s, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		owner := w.claim(s, "vandal")
		turn := store.Turn{Partition: owner.Partition, Epoch: owner.Epoch, Run: run, Number: 2, CommitID: 1, Time: here(), Events: []byte("{")}
		if result, err := s.Commit(t.Context(), []store.Turn{turn}); err != nil || result.Errors[0] != nil {
			t.Fatal(err, result.Errors)
		}
		if err := s.Leave(t.Context(), "vandal"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		c := checkOf(t, w.open(w.config(flow, never)), view.CodeFilter{})
		if len(c.Findings) != 1 || c.Findings[0].WorkflowID != "broken" || c.Findings[0].Verdict != view.CodeUnreadable || c.OK || c.Types[0].Fits != 1 || c.Types[0].Unreadable != 1 {
			t.Errorf("found %+v", c)
		}
	})
}

// TestF26_CodeThatIsStuck is found after the time of a turn; the check goes on.
func TestF26_CodeThatIsStuck(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.startRecorded(recorded().workflow("1"))
		free := make(chan bool)
		changed := recorded()
		//perdure:deterministic it is stuck on purpose
		changed.between = func(*workflow.Context) { <-free }
		client := w.open(w.config(changed.workflow("2"), reserve, charge, slow, notify))
		began := time.Now()
		c := checkOf(t, client, view.CodeFilter{})
		if took := time.Since(began); took < 10*time.Second || took > time.Minute {
			t.Errorf("it took %s", took)
		}
		if c.OK || len(c.Findings) != 1 || c.Findings[0].Verdict != view.CodeParks || !strings.Contains(c.Findings[0].Reason, "without waiting for anything durable") {
			t.Errorf("found %+v", c)
		}
		close(free)
		settle()
		changed.between = func(*workflow.Context) {}
		if c := checkOf(t, w.open(w.config(changed.workflow("3"), reserve, charge, slow, notify)), view.CodeFilter{}); !c.OK || c.Types[0].Fits != 1 {
			t.Errorf("when it is mended: %+v", c)
		}
	})
}
