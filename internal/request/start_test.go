package request

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestE11_StartingAnExistingIDAttaches: to a run of the same workflow and input, open or closed;
// what differs is refused and says so.
func TestE11_StartingAnExistingIDAttaches(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", charges())
		run := a.start("order", "o")
		try := func(want string, set ...func(*Start)) {
			a.Helper()
			req := Start{WorkflowID: "o", Type: "order", Input: roomtest.Payload(1)}
			for _, s := range set {
				s(&req)
			}
			got, attached, err := a.StartRun(a.ctx, req)
			var inUse *IDInUseError
			switch {
			case want == "" && (got != run || !attached || err != nil):
				a.Errorf("it is %s, %v, %v; not %s", got, attached, err, run)
			case want != "" && (!errors.As(err, &inUse) || !strings.Contains(inUse.Difference, want) || inUse.Run != run || inUse.WorkflowID != "o"):
				a.Errorf("it is refused with %v, not because %q", err, want)
			}
		}
		for range 2 {
			try("")
			try("its input differs", func(s *Start) { s.Input = roomtest.Payload(2) })
			try(`it is of workflow "order", not "other"`, func(s *Start) { s.Type = "other" })
			try("the start requires a new run", func(s *Start) { s.MustBeNew = true })
			try("", func(s *Start) { s.Memo = roomtest.Payload("another") })
			anyInput := func(s *Start) { s.Input, s.AnyInput = roomtest.Payload(2), true }
			try("", anyInput)
			try(`it is of workflow "order", not "other"`, anyInput, func(s *Start) { s.Type = "other" })
			if start, err := record.Start(a.state("o")); err != nil || string(start.Input.Data) != "1" {
				a.Errorf("its input is %s, %v", start.Input, err)
			}
			if start, err := record.Start(a.state("o")); err != nil || !start.Memo.Absent() {
				a.Errorf("its memo is %s, %v", start.Memo, err)
			}
			if a.state("o").Status.Open() { // and now of a closed run
				a.Latest("o").Completes(1, 1)
			}
		}
	})
}

// TestE11_JSONIsComparedByValue: whoever repeats a start, an update, a fork or the spec of a
// schedule may write the same value in another way.
func TestE11_JSONIsComparedByValue(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", twoCalls)
		a.Define("counter", counter)
		as := func(text string) history.Payload { return roomtest.Payload(json.RawMessage(text)) }
		one, again, other := as(`{"id":17,"item":{"a":1,"b":2.0}}`), as(`{"item":{"b":2,"a":1},"id":17}`), as(`{"id":17,"item":{"a":1,"b":3}}`)
		inUse := func(err error) bool { return errors.As(err, new(*IDInUseError)) }

		run := a.start("order", "o", func(s *Start) { s.Input = one })
		a.Latest("o").Completes(1, 1)
		start := func(in history.Payload) (string, bool, error) {
			return a.StartRun(a.ctx, Start{WorkflowID: "o", Type: "order", Input: in})
		}
		if got, attached, err := start(again); got != run || !attached || err != nil {
			a.Errorf("the start again: %s, %v, %v", got, attached, err)
		}
		if _, _, err := start(other); !inUse(err) {
			a.Errorf("another start: %v", err)
		}

		fork := func(in history.Payload) (bool, error) {
			_, attached, err := a.ForkRun(a.ctx, Fork{WorkflowID: "o", NewID: "p", Call: 2, Input: &in, CallInput: &in})
			a.settle()
			return attached, err
		}
		if attached, err := fork(one); attached || err != nil {
			a.Fatal(err)
		}
		if attached, err := fork(again); !attached || err != nil {
			a.Errorf("the fork again: %v, %v", attached, err)
		}
		if _, err := fork(other); !inUse(err) {
			a.Errorf("another fork: %v", err)
		}

		a.start("counter", "c")
		for _, u := range []struct {
			input history.Payload
			same  bool
		}{{one, true}, {again, true}, {other, false}} {
			if got, err := a.Update(a.ctx, "c", "add", "u", u.input); u.same != (err == nil && string(got.Data) == "1") {
				a.Errorf("the update with %s: %s, %v", u.input, got, err)
			}
		}

		for n, in := range []history.Payload{one, again, other} {
			a.Must(a.SetSchedule(a.ctx, "hourly", schedule.Spec{Every: time.Hour}, Start{Type: "order", Input: in, Settings: history.Settings{Memo: in}}))
			a.settle()
			s, err := a.read.DescribeSchedule(a.ctx, "hourly")
			if err != nil || len(s.Log) != max(n, 1) {
				a.Errorf("set to %s, its log has %d entries: %v", in, len(s.Log), err)
			}
		}
	})
}

// TestE49_StartNewAfterAnEnd: by how the last run has ended; the new one is later and knows the
// one before.
func TestE49_StartNewAfterAnEnd(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", charges(roomtest.Seconds(1)))
		for _, c := range []struct {
			end   func(r *roomtest.Run)
			after Ending
			fresh bool
		}{
			{nil, AnyEnd, false}, {nil, Failure, false},
			{func(r *roomtest.Run) { r.Completes(1, 1) }, AnyEnd, true},
			{func(r *roomtest.Run) { r.Completes(1, 1) }, Failure, false},
			{func(r *roomtest.Run) { r.Fails(1, "Busy", "no") }, AnyEnd, true},
			{func(r *roomtest.Run) { r.Fails(1, "Busy", "no") }, Failure, true},
			{func(r *roomtest.Run) { r.Step(core.Control{Operation: core.TerminateTheRun}) }, Failure, true},
			{func(r *roomtest.Run) { r.Step(core.Control{Operation: core.TerminateTheRun}) }, NoEnd, false},
		} {
			id := "o" + a.Time().String()[11:19]
			before := a.start("order", strings.ReplaceAll(id, ":", "-"))
			id = strings.ReplaceAll(id, ":", "-")
			if c.end != nil {
				c.end(a.Latest(id))
			}
			run, attached, err := a.StartRun(a.ctx, Start{WorkflowID: id, Type: "order", Input: roomtest.Payload(1), NewAfter: c.after})
			if err != nil || attached == c.fresh || (run != before) != c.fresh || run < before {
				a.Errorf("%+v: %s after %s, attached %v, %v", c, run, before, attached, err)
			}
			if c.fresh {
				a.settle()
				start, err := record.Start(a.state(id))
				if err != nil || start.After != before || start.Run != run {
					a.Errorf("it begins as %+v, %v", start, err)
				}
			}
			time.Sleep(time.Second)
		}
	})
}

// TestE49_StartOptionsAreOnRecord: delay, deadline of the chain, attributes, headers, memo,
// priority.
func TestE49_StartOptionsAreOnRecord(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", charges())
		began := a.Now()
		a.start("order", "o", func(s *Start) {
			s.Delay, s.ChainTimeout, s.RunTimeout, s.Priority = time.Hour, time.Minute, time.Second, 7
			s.Attributes, s.Headers, s.Memo = map[string]string{"customer": "ann"}, map[string]string{"tenant": "9"}, roomtest.Payload("memo")
			s.Trace = "00-trace"
		})
		start, err := record.Start(a.state("o"))
		if err != nil || start.FirstTurn != began+int64(time.Hour) || start.ChainDeadline != began+int64(time.Hour+time.Minute) || start.RunTimeout != time.Second ||
			start.Priority != 7 || start.Attributes["customer"] != "ann" || start.Headers["tenant"] != "9" || string(start.Memo.Data) != `"memo"` || start.Trace != "00-trace" || start.Created != began {
			a.Errorf("on record is %+v, %v", start, err)
		}
	})
}

// TestE103_AStartElsewhereStandsInLine: a run that can wait does, by its priority; one with a delay
// or a deadline does not.
func TestE103_AStartElsewhereStandsInLine(t *testing.T) {
	elsewhere(t, func(a *asker) {
		a.Define("order", charges())
		for id, c := range map[string]struct {
			set    func(*Start)
			inLine bool
		}{
			"plain": {func(*Start) {}, true}, "first": {func(s *Start) { s.Priority = 9 }, true},
			"later": {func(s *Start) { s.Delay = time.Hour }, false}, "limited": {func(s *Start) { s.RunTimeout = time.Hour }, false},
		} {
			req := Start{WorkflowID: id, Type: "order", Input: roomtest.Payload(1)}
			c.set(&req)
			if _, _, err := a.StartRun(a.ctx, req); err != nil {
				a.Fatal(err)
			}
			if row := a.state(id); store.IsInLine(row.Wake) != c.inLine {
				a.Errorf("%s wakes at %d", id, row.Wake)
			}
		}
		if first, plain := a.state("first").Wake, a.state("plain").Wake; first >= plain {
			a.Errorf("the priority does not count: %d, %d", first, plain)
		}
	})
}

// TestE7_AStartWhosePartitionIsLostIsMadeByTheNextOwner: a refusal under an old epoch is not the
// caller's.
func TestE7_AStartWhosePartitionIsLostIsMadeByTheNextOwner(t *testing.T) {
	here(t, func(a *asker) {
		fenced := &fencedOnce{owner: a.owner}
		a.local = fenced
		run, attached, err := a.StartRun(a.ctx, Start{WorkflowID: "o", Type: "order"})
		if err != nil || attached || fenced.asked != 2 || a.state("o").ID != run {
			a.Errorf("%s, %v, %v after %d tries", run, attached, err, fenced.asked)
		}
	})
}

// fencedOnce loses the partition while it creates a run, and does not serve it afterwards.
type fencedOnce struct {
	*owner
	asked int
}

func (f *fencedOnce) Create(context.Context, *store.Run, *history.Start, bool) (bool, error) {
	f.asked++
	return f.asked == 1, store.ErrFenced
}

// TestI22_StartsOutOfBoundsAreRefused: by name, and nothing is recorded.
func TestI22_StartsOutOfBoundsAreRefused(t *testing.T) {
	here(t, func(a *asker) {
		long, fault := strings.Repeat("x", 100_000), errors.New("a bad option")
		for name, set := range map[string]func(*Start){
			"no ID":            func(s *Start) { s.WorkflowID = "" },
			"a long ID":        func(s *Start) { s.WorkflowID = long },
			"the ID of a gate": func(s *Start) { s.WorkflowID = "#gate/door" },
			"no workflow":      func(s *Start) { s.Type = "" },
			"a long workflow":  func(s *Start) { s.Type = long },
			"a negative delay": func(s *Start) { s.Delay = -1 },
			"a long trace":     func(s *Start) { s.Trace = long },
			"an unknown end":   func(s *Start) { s.NewAfter = 17 },
			"a negative end":   func(s *Start) { s.NewAfter = -1 },
			"a timeout":        func(s *Start) { s.RunTimeout = -time.Second },
			"a chain timeout":  func(s *Start) { s.ChainTimeout = -time.Second },
			"an attribute":     func(s *Start) { s.Attributes = map[string]string{"": "x"} },
			"a priority":       func(s *Start) { s.Priority = 10_000 },
			"new, and any":     func(s *Start) { s.MustBeNew, s.AnyInput = true, true },
		} {
			req := Start{WorkflowID: "o", Type: "order"}
			set(&req)
			_, _, err := a.StartRun(a.ctx, req)
			if input, limit := (*history.InputError)(nil), (*history.LimitError)(nil); !errors.As(err, &input) && !errors.As(err, &limit) {
				a.Errorf("%s: %v", name, err)
			}
		}
		for want, req := range map[string]Start{
			"the memo is 16386 bytes long; the limit is 16384": {Settings: history.Settings{Memo: roomtest.Payload(strings.Repeat("x", history.MaxMemo))}},
			"the delay is -1s; it is zero or more":             {Delay: -time.Second},
		} {
			req.WorkflowID, req.Type = "o", "order"
			if _, _, err := a.StartRun(a.ctx, req); err == nil || err.Error() != want {
				a.Errorf("got %v, want %s", err, want)
			}
		}
		if _, _, err := a.StartRun(a.ctx, Start{WorkflowID: "o", Type: "order", Fault: fault}); !errors.Is(err, fault) {
			a.Errorf("with the fault of an option: %v", err)
		}
		var none context.Context
		if _, _, err := a.StartRun(none, Start{WorkflowID: "o", Type: "order"}); err == nil {
			a.Error("a nil context is taken")
		}
		if rows, err := a.DB.List(a.ctx, store.Filter{}); len(rows) != 0 || err != nil {
			a.Errorf("on record are %+v, %v", rows, err)
		}
	})
}

// TestE113_WhatLacksACodecSendsNoPayload: and reads and ends runs all the same.
func TestE113_WhatLacksACodecSendsNoPayload(t *testing.T) {
	here(t, func(a *asker) {
		a.Define("order", charges())
		a.start("order", "o")
		a.lacks = errors.New("the codec is missing")
		for name, verb := range map[string]func() error{
			"start":  func() error { _, _, err := a.StartRun(a.ctx, Start{WorkflowID: "p", Type: "order"}); return err },
			"signal": func() error { return a.Signal(a.ctx, "o", "paid", "", roomtest.Payload(1)) },
			"query":  func() error { _, err := a.Query(a.ctx, "o", "", "state", history.Payload{}); return err },
			"update": func() error { _, err := a.Update(a.ctx, "o", "add", "", roomtest.Payload(1)); return err },
			"skip": func() error {
				_, err := a.Control(a.ctx, "o", "", core.Control{Operation: core.Skip, Result: roomtest.Payload(1)})
				return err
			},
			"reset": func() error {
				_, err := a.Control(a.ctx, "o", "", core.Control{Operation: core.ResetTheRun, Call: 1})
				return err
			},
			"fork": func() error { _, _, err := a.ForkRun(a.ctx, Fork{WorkflowID: "o", NewID: "p", Call: 1}); return err },
			"complete": func() error {
				return a.CompleteAttempt(a.ctx, a.Token(Attempt{a.place("o"), a.state("o").ID, 1, 1}), roomtest.Payload(1))
			},
		} {
			if err := verb(); !errors.Is(err, a.lacks) {
				a.Errorf("%s: %v", name, err)
			}
		}
		if _, err := a.Control(a.ctx, "o", "", core.Control{Operation: core.PauseTheRun}); err != nil {
			a.Errorf("a pause: %v", err)
		}
		if err := a.Terminate(a.ctx, "o", "", By{}); err != nil || a.state("o").Status != store.Terminated {
			a.Errorf("an end: %v", err)
		}
	})
}

// TestE67_AResultIsThatOfTheChain: whoever waits learns it, from the run that ended last.
func TestE67_AResultIsThatOfTheChain(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("poller", func(w *roomtest.Work) (any, error) {
			if err := w.Wait(w.AwaitSignal("next")); err != nil {
				return nil, err
			}
			if string(w.Began().Input.Data) == "3" {
				return "done", nil
			}
			w.Continue("poller", roomtest.Payload(3))
			return nil, roomtest.ErrEnded
		})
		first := a.start("poller", "p")
		type outcome struct {
			run   string
			state core.State
			err   error
		}
		results := make(chan outcome, 3)
		for _, run := range []string{"", first, ""} {
			go func() {
				last, s, err := a.Result(a.ctx, "p", run)
				results <- outcome{last, s, err}
			}()
		}
		time.Sleep(10 * time.Second)
		for range 2 {
			a.Must(a.Signal(a.ctx, "p", "next", "", roomtest.Payload(1)))
			time.Sleep(2 * time.Second)
		}
		for range 3 {
			o := <-results
			d, err := core.DecodeDetail(o.state.Detail)
			if o.err != nil || err != nil || o.state.Status != core.StatusCompleted || string(d.Result.Data) != `"done"` || o.run != a.state("p").ID || o.run == first {
				a.Errorf("the result is %+v of %s, %v", d, o.run, o.err)
			}
		}
		if last, s, err := a.Result(a.ctx, "p", first); err != nil || last == first || s.Status != core.StatusCompleted { // at once
			a.Errorf("of an ended chain %s, %+v, %v", last, s, err)
		}
		if last, s, err := a.Result(a.ctx, "another's", first); !errors.Is(err, store.ErrNotFound) {
			a.Errorf("under another workflow ID it ended as %+v in %s, %v", s, last, err)
		}
	})
}

// TestE66_AWaitThatTakesTooLongSaysWhy: it stays a deadline exceeded; of a run that does not exist
// there is nothing to wait for.
func TestE66_AWaitThatTakesTooLongSaysWhy(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", charges(roomtest.Seconds(5)))
		a.start("order", "o")
		ctx, cancel := context.WithTimeout(a.ctx, time.Minute)
		defer cancel()
		began := time.Now()
		_, _, err := a.Result(ctx, "o", "")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the run has not ended: call 1 (charge) runs: ") || time.Since(began) != time.Minute {
			a.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, _, err := a.Result(a.ctx, "nobody", ""); !errors.Is(err, store.ErrNotFound) {
			a.Errorf("of no run: %v", err)
		}
		if _, _, err := a.Result(a.ctx, "", ""); err == nil {
			a.Error("a wait for no ID")
		}
	})
}

// TestE67_AWaitForARunThatIsRemovedEnds: from elsewhere within the time of a doubt.
func TestE67_AWaitForARunThatIsRemovedEnds(t *testing.T) {
	elsewhere(t, func(a *asker) {
		a.Define("order", charges())
		run := a.start("order", "o")
		go func() {
			time.Sleep(time.Minute)
			a.Latest("o").Step(core.Control{Operation: core.TerminateTheRun})
			_, err := a.DB.Delete(a.ctx, store.Deletion{Partition: a.place("o"), Runs: []string{run}})
			if err != nil {
				a.Error(err)
			}
		}()
		_, s, err := a.Result(a.ctx, "o", run)
		if err == nil && s.Status != core.StatusTerminated || err != nil && !errors.Is(err, store.ErrNotFound) {
			a.Errorf("it ended as %+v, %v", s, err)
		}
	})
}

// TestE64_AClosedClientEndsEveryWait: with ErrStopped, as does each verb from then on.
func TestE64_AClosedClientEndsEveryWait(t *testing.T) {
	elsewhere(t, func(a *asker) {
		a.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Wait(w.AwaitSignal("never")) })
		a.start("order", "o")
		time.Sleep(100 * time.Millisecond) // the owner has just looked
		waits := map[string]func() error{
			"result": func() error { _, _, err := a.Result(a.ctx, "o", ""); return err },
			"update": func() error { _, err := a.Update(a.ctx, "o", "add", "", roomtest.Payload(1)); return err },
		}
		ended := make(chan error, len(waits))
		for _, wait := range waits {
			go func() { ended <- wait() }()
		}
		time.Sleep(500 * time.Millisecond)
		a.Close()
		for range waits {
			if err := <-ended; !errors.Is(err, ErrStopped) {
				a.Errorf("it ended with %v", err)
			}
		}
		for name, verb := range waits {
			if err := verb(); !errors.Is(err, ErrStopped) {
				a.Errorf("%s: %v", name, err)
			}
		}
		if err := a.Signal(a.ctx, "o", "paid", "", roomtest.Payload(1)); !errors.Is(err, ErrStopped) {
			a.Errorf("a signal: %v", err)
		}
	})
}

// TestE64_ARefusingClientRefusesEverything: with its reason.
func TestE64_ARefusingClientRefusesEverything(t *testing.T) {
	fault := errors.New("no database")
	c, ctx := Refusing(fault), t.Context()
	for name, verb := range map[string]func() error{
		"start":   func() error { _, _, err := c.StartRun(ctx, Start{WorkflowID: "o", Type: "w"}); return err },
		"signal":  func() error { return c.Signal(ctx, "o", "s", "", history.Payload{}) },
		"cancel":  func() error { return c.Cancel(ctx, "o", "", By{}) },
		"result":  func() error { _, _, err := c.Result(ctx, "o", ""); return err },
		"query":   func() error { _, err := c.Query(ctx, "o", "", "q", history.Payload{}); return err },
		"update":  func() error { _, err := c.Update(ctx, "o", "u", "", history.Payload{}); return err },
		"control": func() error { _, err := c.Control(ctx, "o", "", core.Control{Operation: core.RetryNow}); return err },
		"bulk": func() error {
			_, err := c.ControlAll(ctx, view.Filter{}, core.Control{Operation: core.RetryNow}, true)
			return err
		},
		"complete": func() error { return c.CompleteAttempt(ctx, "token", history.Payload{}) },
		"gate":     func() error { return c.PauseGate(ctx, "door", true, By{}) },
		"schedule": func() error { return c.PauseSchedule(ctx, "s", true, By{}) },
		"switch":   func() error { _, err := c.SwitchActivity(ctx, "charge", true, 0, "", By{}); return err },
		"transact": func() error { return c.Transact(ctx, func(context.Context, any) error { return nil }) },
		"canary":   func() error { _, err := c.SetCanary(ctx, "build-2", 5, false, By{}); return err },
	} {
		if err := verb(); !errors.Is(err, fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
