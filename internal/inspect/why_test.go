package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// standstill is a run that waits for something.
type standstill struct {
	code roomtest.Code // nil: it calls charge
	do   func(s *roomtest.Scene, r *roomtest.Run)
	wait string // view.Wait.For
	call int64
	says string // part of the sentence
}

var (
	door    = spec.Spec{Name: "door", Limit: 1, Mode: spec.Rejoin}
	fragile = spec.Spec{Name: "door", Limit: 1, Mode: spec.Rejoin, Breaker: spec.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}}
)

func charges(options ...roomtest.Option) roomtest.Code {
	return func(w *roomtest.Work) (any, error) { return nil, w.Call("charge", options...) }
}

func nothing(*roomtest.Scene, *roomtest.Run) {}

// tellGate asks the gate for something.
func tellGate(s *roomtest.Scene, m core.ToGate) {
	m.Gate = "door"
	m.By, m.Why = "eve", "the bank is down"
	s.Must(s.DB.Post(s.Context(), controlGate(s.Group, &m)))
	s.Serve()
}

var standstills = map[string]standstill{
	"runs":       {nil, nothing, view.WaitAttempt, 1, "call 1 (charge) runs"},
	"runs again": {nil, func(s *roomtest.Scene, r *roomtest.Run) { r.Fails(1, "Busy", "not now"); s.Pass(time.Second) }, view.WaitAttempt, 1, "call 1 (charge) runs, after a failed attempt: not now"},
	"backoff":    {nil, func(s *roomtest.Scene, r *roomtest.Run) { r.Fails(1, "Busy", "not now") }, view.WaitBackoff, 1, "call 1 (charge) is in backoff until 2027-01-15T08:00:01Z, after a failed attempt: not now"},
	"second backoff": {nil, func(s *roomtest.Scene, r *roomtest.Run) {
		r.Fails(1, "Busy", "not now")
		s.Pass(time.Second)
		r.Fails(1, "Busy", "still not")
	}, view.WaitBackoff, 1, "after 2 failed attempts: still not"},
	"paused call": {nil, func(s *roomtest.Scene, r *roomtest.Run) {
		r.Fails(1, "Busy", "not now")
		r.Asks(core.Control{Operation: core.PauseCall, By: "ann", Reason: "look"})
	}, view.WaitPaused, 1, "call 1 (charge) is paused by ann (look), after a failed attempt: not now; resume it with ops.Resume or ops.RetryNow"},
	"paused run": {nil, func(s *roomtest.Scene, r *roomtest.Run) {
		r.Asks(core.Control{Operation: core.PauseTheRun, By: "ann", Reason: "look"})
	}, view.WaitPaused, 0, "it is paused by ann (look); resume it with ops.ResumeRun"},
	"external":    {charges(patient), func(s *roomtest.Scene, r *roomtest.Run) { r.End(1, core.Pending, history.Payload{}, nil) }, view.WaitExternal, 1, "call 1 (charge) waits for its completion by a token"},
	"quarantined": {charges(roomtest.Retry(retry.Policy{CrashLimit: 1})), func(s *roomtest.Scene, r *roomtest.Run) { r.Step(core.TakenOver{}) }, view.WaitQuarantined, 1, "call 1 (charge) is quarantined, because it was lost with its process; find out why before another attempt with ops.RetryNow"},
	"parked":      {nil, func(s *roomtest.Scene, r *roomtest.Run) { r.Park(core.Detail{Reason: "the code panicked: oh"}) }, view.WaitParked, 0, "it is parked: the code panicked: oh; start an engine with code that fits"},
	"damaged": {nil, func(s *roomtest.Scene, r *roomtest.Run) {
		r.Park(core.Detail{Reason: "turn 3 is damaged", Damaged: true})
	}, view.WaitDamaged, 0, "what is on record of it cannot be read: turn 3 is damaged; " + Mend},
	"no code": {nil, func(s *roomtest.Scene, r *roomtest.Run) { r.Await(core.Detail{}) }, view.WaitCode, 0, "no node has its code; start an engine that registers it"},
	"timer":   {func(w *roomtest.Work) (any, error) { return nil, w.Wait(w.StartTimer("nap", time.Minute)) }, nothing, view.WaitTimer, 1, "it sleeps until 2027-01-15T08:01:00Z"},
	"signal":  {func(w *roomtest.Work) (any, error) { return nil, w.Wait(w.AwaitSignal("paid")) }, nothing, view.WaitSignal, 1, `it waits for the signal "paid"`},
	"child": {func(w *roomtest.Work) (any, error) {
		return nil, w.Wait(w.StartChild(core.StartChild{Workflow: "order", WorkflowID: "the child"}))
	}, nothing, view.WaitChild, 1, "call 1 (order) waits for its child workflow"},
	"queue":           {charges(roomtest.In("gpu")), func(s *roomtest.Scene, r *roomtest.Run) { attend(s, "w", "gpu", "charge") }, view.WaitQueue, 1, "waits in the queue gpu for a process that serves it and is free"},
	"unserved queue":  {charges(roomtest.In("gpu")), nothing, view.WaitUnserved, 1, "waits in the queue gpu: no process serves queue gpu; start one (perdure.ServeQueue)"},
	"other worker":    {charges(roomtest.In("gpu")), func(s *roomtest.Scene, r *roomtest.Run) { attend(s, "w", "gpu", "render") }, view.WaitUnserved, 1, "no process that serves queue gpu has activity charge"},
	"paused activity": {charges(roomtest.In("gpu")), func(s *roomtest.Scene, r *roomtest.Run) { pauseActivity(s, "charge") }, view.WaitActivityPaused, 1, "activity charge is paused by eve (enough); resume it with ops.ResumeActivity"},
	"gate":            {charges(roomtest.Through(door)), func(s *roomtest.Scene, r *roomtest.Run) { s.Serve() }, view.WaitGate, 1, "call 1 (charge) waits at a gate door"},
	"paused gate":     {charges(roomtest.Through(door)), func(s *roomtest.Scene, r *roomtest.Run) { s.Serve(); tellGate(s, core.ToGate{Word: core.GatePause}) }, view.WaitGatePaused, 1, "call 1 (charge) waits at gate door, which is paused by eve (the bank is down); resume it with ops.ResumeGate"},
	"breaker": {charges(roomtest.Through(fragile)), func(s *roomtest.Scene, r *roomtest.Run) {
		s.Serve()
		s.Latest("first").Fails(1, "Busy", "not now")
		s.Serve()
	}, view.WaitBreaker, 1, "call 1 (charge) waits at gate door, whose circuit breaker is open until 2027-01-15T09:00:00Z"},
}

// TestE66_EachWaitHasItsSentence: what a run waits for, and what to do about it; the same is in
// lists, and what one has alone is in no other.
func TestE66_EachWaitHasItsSentence(t *testing.T) {
	for name, c := range standstills {
		t.Run(name, func(t *testing.T) {
			s, in := scene(t)
			if c.code == nil {
				c.code = charges(roomtest.Seconds(5))
			}
			s.Define("order", c.code)
			if strings.Contains(name, "gate") || name == "breaker" {
				s.Begin("order", "first")
				s.Serve() // it is inside
			}
			r := s.Begin("order", "order-17")
			c.do(s, r)
			why, err := in.Why(t.Context(), "order-17", "")
			if err != nil || !strings.Contains(why, c.says) {
				t.Errorf("it says %q, %v; want %q", why, err, c.says)
			}
			runs, err := in.List(t.Context(), view.Filter{IDPrefix: "order-17", Waits: true})
			if err != nil || len(runs) != 1 || runs[0].Wait == nil || runs[0].Wait.For != c.wait || runs[0].Wait.Call != c.call {
				t.Fatalf("listed is %+v, %v", runs, err)
			}
		})
	}
}

// TestE66_ARunThatNobodyServesSaysSoFirst: and then what else it waits for, if that does not end
// by itself; a closed run waits for nothing.
func TestE66_ARunThatNobodyServesSaysSoFirst(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Seconds(5)))
	s.Begin("order", "runs")
	s.Begin("order", "held").Asks(core.Control{Operation: core.PauseTheRun, By: "ann"})
	closed := s.Begin("order", "closed")
	closed.Completes(1, nil)
	s.Must(s.DB.Leave(t.Context(), roomtest.Node))
	for id, want := range map[string]string{
		"runs":   "no live node serves it; start an engine",
		"held":   "no live node serves it; start an engine, and it is paused by ann; resume it with ops.ResumeRun",
		"closed": "",
	} {
		if why, err := in.Why(t.Context(), id, ""); why != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", id, why, err, want)
		}
	}
	in.group.Name = "blue"
	if why, _ := in.Why(t.Context(), "runs", ""); !strings.Contains(why, `start an engine of the group "blue"`) {
		t.Errorf("in a group: %q", why)
	}
}

// TestE102_ARunInLineHasNotBegun: its wait says so, since it was created.
func TestE102_ARunInLineHasNotBegun(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges())
	r, created := s.Create("order", "order-17"), s.Time()
	row := *r.Row()
	s.Pass(0) // it begins
	row.Status, row.Wake = store.Running, store.InLine(0, row.Created)
	w := heldRun(&row)
	if w == nil || w.For != view.WaitSlot || w.Call != 0 || !isTime(w.Since, created) || !strings.Contains(sentence(w), "it has not begun: it waits for a free slot") {
		t.Errorf("it waits for %+v: %s", w, sentence(w))
	}
	if why, err := in.Why(t.Context(), "order-17", ""); !strings.Contains(why, "call 1 (charge) runs") || err != nil {
		t.Errorf("once begun it says %q, %v", why, err)
	}
}

// TestF12_ARunIsListedByItsMostSeriousWait: and how many of its calls wait for something else,
// retry, or are paused.
func TestF12_ARunIsListedByItsMostSeriousWait(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		return nil, w.Wait(w.StartTimer("nap", time.Hour), w.Start("charge", roomtest.Seconds(5)), w.Start("reserve", roomtest.Seconds(5)), w.Start("ship", roomtest.Seconds(5)), w.AwaitSignal("paid"))
	})
	r := s.Begin("order", "order-17")
	wait := func() view.Wait {
		t.Helper()
		runs, err := in.List(t.Context(), view.Filter{Waits: true})
		if err != nil || len(runs) != 1 || runs[0].Wait == nil {
			t.Fatal(runs, err)
		}
		return *runs[0].Wait
	}
	if w := wait(); w.For != view.WaitAttempt || w.Name != "charge" || w.Others != 4 || w.Retrying != 0 || w.Paused != 0 {
		t.Errorf("first it waits for %+v", w)
	}
	r.Fails(3, "Busy", "no room")
	if w := wait(); w.For != view.WaitBackoff || w.Name != "reserve" || w.Others != 4 || w.Retrying != 1 || w.Error != "no room" || w.ErrorType != "Busy" {
		t.Errorf("with a failure it waits for %+v", w)
	}
	r.Fails(4, "Busy", "no cars")
	r.Asks(core.Control{Operation: core.PauseCall, Calls: core.Selection{Name: "ship"}, By: "ann"})
	if w := wait(); w.For != view.WaitPaused || w.Name != "ship" || w.Others != 4 || w.Retrying != 1 || w.Paused != 1 || w.By != "ann" {
		t.Errorf("with a paused call it waits for %+v", w)
	}
	if runs, err := in.List(t.Context(), view.Filter{}); err != nil || runs[0].Wait != nil {
		t.Errorf("a list that was not asked says %+v, %v", runs[0].Wait, err)
	}
}

// TestF12_ALongHistoryIsNotReadForAList: of such a run the calls with a row are known, and
// otherwise when it wakes.
func TestF12_ALongHistoryIsNotReadForAList(t *testing.T) {
	s, in := scene(t)
	s.Define("long", func(w *roomtest.Work) (any, error) {
		for range shortHistory + 5 {
			if err := w.Wait(w.AwaitSignal("next")); err != nil {
				return nil, err
			}
		}
		if err := w.Wait(w.AwaitSignal("last")); err != nil {
			return nil, err
		}
		if err := w.Wait(w.StartTimer("nap", time.Hour)); err != nil {
			return nil, err
		}
		return nil, w.Call("charge", roomtest.Seconds(5))
	})
	r := s.Begin("long", "l")
	for range shortHistory + 5 {
		r.Signals("next", 1)
	}
	check := func(kind string, call int64) {
		t.Helper()
		runs, err := in.List(t.Context(), view.Filter{Waits: true})
		if err != nil || runs[0].Wait == nil || runs[0].Wait.For != kind || runs[0].Wait.Call != call {
			t.Errorf("it waits for %+v, %v; want %s", runs[0].Wait, err, kind)
		}
	}
	check(view.WaitMessage, 0)
	if why, _ := in.Why(t.Context(), "l", ""); why != "it waits for a message" {
		t.Errorf("it says %q", why)
	}
	r.Signals("last", 1)
	check(view.WaitTimer, 0)
	s.Pass(time.Hour)
	r.Fails(shortHistory+8, "Busy", "not now")
	check(view.WaitBackoff, shortHistory+8)
}
