package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// signaled is code that collects signals until one says so, or it is canceled.
func signaled(w *roomtest.Work) (any, error) {
	var all []string
	for {
		next := w.AwaitSignal("number")
		w.Until(func() bool { return next.Done || w.Canceled })
		if w.Canceled {
			return nil, errors.New("canceled after " + strings.Join(all, " "))
		}
		if all = append(all, string(next.Result.Data)); all[len(all)-1] == "0" {
			return strings.Join(all, " "), nil
		}
	}
}

// TestE8_SignalsArriveInOrderAndOnce: those with an ID however often they are sent.
func TestE8_SignalsArriveInOrderAndOnce(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("sum", signaled)
		a.start("sum", "s")
		send := func(id string, n int) {
			a.Helper()
			a.Must(a.Signal(a.ctx, "s", "number", id, roomtest.Payload(n)))
		}
		send("", 1)
		send("two", 2)
		send("two", 2)
		a.settle()
		send("two", 9) // its code has read it
		send("", 1)
		a.settle()
		send("end", 0)
		a.settle()
		if got := string(a.detail("s").Result.Data); got != `"1 2 1 0"` {
			a.Errorf("the code read %s", got)
		}
		for id, want := range map[string]error{"s": store.ErrClosed, "nobody": store.ErrNotFound} {
			if err := a.Signal(a.ctx, id, "number", "", roomtest.Payload(1)); !errors.Is(err, want) || !strings.Contains(err.Error(), fmt.Sprintf("workflow %q", id)) {
				a.Errorf("a signal to %s: %v", id, err)
			}
		}
	})
}

// TestE48_AFullRunTakesNoSignal: the error is a limit and says what to do.
func TestE48_AFullRunTakesNoSignal(t *testing.T) {
	here(t, func(a *asker) {
		a.Config = func(c *core.Config) { c.MaxBacklog = 3 }
		a.Define("idle", func(w *roomtest.Work) (any, error) { return nil, w.Wait(w.AwaitSignal("other")) })
		a.start("idle", "i")
		var limit *history.LimitError
		for n := range 4 {
			if err := a.Signal(a.ctx, "i", "number", "", roomtest.Payload(n)); (n == 3) != errors.As(err, &limit) {
				a.Errorf("signal %d: %v", n, err)
			}
		}
		if limit.What != "unread signals" || !strings.Contains(limit.Hint, "send it again") {
			a.Errorf("the limit is %+v", limit)
		}
	})
}

// TestE48_WhatAFullRunWaitsForPasses: unread signals of one name do not keep out the one for which
// the run waits, from any sender. One is enough: another one of that name has to wait.
func TestE48_WhatAFullRunWaitsForPasses(t *testing.T) {
	both(t, func(a *asker) {
		a.Config = func(c *core.Config) { c.MaxBacklog = 3 }
		a.Define("idle", func(w *roomtest.Work) (any, error) {
			for range 2 {
				if err := w.Wait(w.AwaitSignal("approve")); err != nil {
					return nil, err
				}
			}
			return nil, w.Wait(w.AwaitSignal("end"))
		})
		a.start("idle", "i")
		send := func(name, id string) error {
			err := a.Signal(a.ctx, "i", name, id, roomtest.Payload(1))
			a.settle()
			return err
		}
		operate := func(name string) string {
			records, err := a.Control(a.ctx, "i", "", core.Control{Operation: core.SignalTheRun, Signal: name, Value: roomtest.Payload(1)})
			if len(records) != 1 {
				a.Fatal(err)
			}
			return records[0].Outcome
		}
		for range 3 {
			a.Must(send("noise", ""))
		}
		for _, name := range []string{"noise", "end"} { // it does not wait for the end yet
			if err := send(name, ""); !errors.As(err, new(*history.LimitError)) {
				a.Errorf("%s: %v", name, err)
			}
			if got := operate(name); got != core.Refused {
				a.Errorf("%s as an operation is %s", name, got)
			}
		}
		a.Must(send("approve", "one"))
		if got := operate("approve"); got != core.Applied {
			a.Errorf("what it waits for as an operation is %s", got)
		}
		if err := send("approve", ""); !errors.As(err, new(*history.LimitError)) {
			a.Errorf("another one: %v", err)
		}
		if d := a.detail("i"); !a.state("i").Full || len(d.Awaited) != 1 || d.Awaited[0] != "end" {
			a.Errorf("its row says that it waits for %q", d.Awaited)
		}
		a.Must(send("end", ""))
		if row := a.state("i"); row.Status != store.Completed {
			a.Errorf("it is %s", row.Status)
		}
	})
}

// TestI22_RequestsOutOfBoundsAreRefused: each argument by name.
func TestI22_RequestsOutOfBoundsAreRefused(t *testing.T) {
	here(t, func(a *asker) {
		a.Define("order", charges())
		a.start("order", "o")
		long := strings.Repeat("x", 100_000)
		control := func(c core.Control) error { _, err := a.Control(a.ctx, "o", "", c); return err }
		for name, err := range map[string]error{
			"signal without a name":     a.Signal(a.ctx, "o", "", "", history.Payload{}),
			"signal to nobody":          a.Signal(a.ctx, "", "s", "", history.Payload{}),
			"signal with a long ID":     a.Signal(a.ctx, "o", "s", long, history.Payload{}),
			"cancel of nothing":         a.Cancel(a.ctx, "", "", By{}),
			"cancel with a long reason": a.Cancel(a.ctx, "o", "", By{Why: long}),
			"cancel by a long name":     a.Terminate(a.ctx, "o", "", By{Who: long}),
			"an unknown operation":      control(core.Control{Operation: "dance"}),
			"a long request":            control(core.Control{Operation: core.RetryNow, ID: long}),
			"an unknown state":          control(core.Control{Operation: core.RetryNow, Calls: core.Selection{States: []string{"asleep"}}}),
			"a negative call":           control(core.Control{Operation: core.RetryNow, Calls: core.Selection{Call: -1}}),
			"a long call name":          control(core.Control{Operation: core.RetryNow, Calls: core.Selection{Name: long}}),
			"a long error type":         control(core.Control{Operation: core.RetryNow, Calls: core.Selection{ErrorType: long}}),
			"an edit without a policy":  control(core.Control{Operation: core.EditPolicy}),
			"a failure without error":   control(core.Control{Operation: core.FailNow}),
			"calls of a run operation":  control(core.Control{Operation: core.PauseTheRun, Calls: core.Selection{Call: 1}}),
			"a reset to no call":        control(core.Control{Operation: core.ResetTheRun}),
			"a move to nowhere":         control(core.Control{Operation: core.MoveTheRun, From: "b"}),
			"a move to where it is":     control(core.Control{Operation: core.MoveTheRun, From: "b", To: "b"}),
			"a signal without a name":   control(core.Control{Operation: core.SignalTheRun}),
			"a fork to no ID":           second(a.PreviewFork(a.ctx, Fork{WorkflowID: "o", Call: 1})),
			"a fork from no call":       second(a.PreviewFork(a.ctx, Fork{WorkflowID: "o", NewID: "p"})),
			"a query without a name":    second(a.Query(a.ctx, "o", "", "", history.Payload{})),
			"an update without a name":  second(a.Update(a.ctx, "o", "", "", history.Payload{})),
			"a gate without a name":     a.PauseGate(a.ctx, "", true, By{}),
			"an empty edit of a gate":   second(a.EditGate(a.ctx, "door", view.GateEdit{}, true, By{})),
			"an activity without name":  second(a.SwitchActivity(a.ctx, "", true, 0, "", By{})),
			"a share over everything":   second(a.SetCanary(a.ctx, "b", 101, true, By{})),
			"a share of nothing":        second(a.SetCanary(a.ctx, "", 5, true, By{})),
			"the end of no canary":      second(a.EndCanary(a.ctx, false, By{})),
			"no runs":                   second(a.ControlChosen(a.ctx, nil, core.Control{Operation: core.RetryNow}, true)),
			"too many runs":             second(a.ControlChosen(a.ctx, make([]string, 1), core.Control{Operation: core.RetryNow}, true)),
			"an unknown filter":         second(a.ControlAll(a.ctx, view.Filter{Status: []string{"open"}}, core.Control{Operation: core.RetryNow}, true)),
			"no selection":              second(a.ControlSelected(a.ctx, "x", core.Control{Operation: core.RetryNow}, true)),
		} {
			if input, limit := (*history.InputError)(nil), (*history.LimitError)(nil); !errors.As(err, &input) && !errors.As(err, &limit) {
				a.Errorf("%s: %v", name, err)
			}
		}
		bad := control(core.Control{Operation: core.EditPolicy, Change: "[retry: many]"})
		if bad == nil || !strings.Contains(bad.Error(), "many") {
			a.Errorf("a policy that cannot be read: %v", bad)
		}
		if messages, err := a.DB.Inbox(a.ctx, a.group.All(), store.InboxRead{}); len(messages) != 0 || err != nil || len(a.audit("o")) != 0 {
			a.Errorf("on record are %+v, %v", messages, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func (a *asker) audit(id string) []view.ControlRecord {
	a.Helper()
	all, err := a.read.Audit(a.ctx, id, "")
	a.Must(err)
	return all
}

// TestE45_CancelAndTerminate: the first asks the code, the second does not; the history says who
// and why, and a run that has ended says so.
func TestE45_CancelAndTerminate(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("sum", signaled)
		for id, verb := range map[string]func(context.Context, string, string, By) error{"c": a.Cancel, "t": a.Terminate} {
			a.start("sum", id)
			a.Must(a.Signal(a.ctx, id, "number", "", roomtest.Payload(7)))
			a.settle()
			a.Must(verb(a.ctx, id, "", by("")))
			a.settle()
			if err := verb(a.ctx, id, "", By{}); !errors.Is(err, store.ErrClosed) {
				a.Errorf("once more: %v", err)
			}
			audit := a.audit(id)
			if len(audit) != 1 || audit[0].By != "ann" || audit[0].Why != "on trial" {
				a.Errorf("of %s the audit is %+v", id, audit)
			}
		}
		if row := a.state("c"); row.Status != store.Canceled || a.detail("c").Failure.Message != "canceled after 7" {
			a.Errorf("canceled it is %s, %+v", row.Status, a.detail("c").Failure)
		}
		if row := a.state("t"); row.Status != store.Terminated {
			a.Errorf("terminated it is %s", row.Status)
		}
		a.start("sum", "n")
		a.Must(a.Terminate(a.ctx, "n", "", By{}))
		a.settle()
		if audit := a.audit("n"); audit[0].By != "asker-1" {
			a.Errorf("nobody's name is that of the process: %+v", audit)
		}
	})
}

// waiting is code with a call in backoff, one that runs and one that waits outside.
func waiting(w *roomtest.Work) (any, error) {
	outside := roomtest.Retry(retry.Policy{AttemptTimeout: time.Hour})
	return nil, w.Wait(w.Start("backoff", roomtest.Retry(retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Hour)})), w.Start("runs", roomtest.Seconds(5)), w.Start("outside", outside), w.AwaitSignal("never"))
}

// wait starts a run of waiting.
func (a *asker) wait(id string) *roomtest.Run {
	a.Helper()
	a.Define("waiting", waiting)
	a.start("waiting", id)
	r := a.Latest(id)
	r.Fails(1, "Busy", "not now")
	r.End(3, core.Pending, history.Payload{}, nil)
	return r
}

// errRefused stands for a *RefusedError.
var errRefused = errors.New("refused")

// TestE60_AnOperationReturnsWhatWasDone: to each selected call, once that is durable.
func TestE60_AnOperationReturnsWhatWasDone(t *testing.T) {
	both(t, func(a *asker) {
		for i, c := range []struct {
			in   core.Control
			want string // calls and outcomes
			err  error
		}{
			{core.Control{Operation: core.RetryNow}, "1 applied, 2 unchanged, 3 unchanged", nil},
			{core.Control{Operation: core.RetryNow, Calls: core.Selection{States: []string{view.CallBackoff}}}, "1 applied", nil},
			{core.Control{Operation: core.RetryNow, Calls: core.Selection{ErrorType: "Busy"}}, "1 applied", nil},
			{core.Control{Operation: core.PauseCall, Calls: core.Selection{Name: "runs"}}, "2 applied", nil},
			{core.Control{Operation: core.Skip, Calls: core.Selection{Call: 1}, Result: roomtest.Payload(1)}, "1 applied", nil},
			{core.Control{Operation: core.FailNow, Calls: core.Selection{Call: 1}, Failure: history.FromError(errors.New("no"))}, "1 applied", nil},
			{core.Control{Operation: core.EditPolicy, Calls: core.Selection{Call: 2}, Change: "[retry: 9]"}, "2 applied", nil},
			{core.Control{Operation: core.EditPolicy, Calls: core.Selection{Call: 2}, Policy: &retry.Policy{MaxAttempts: 2}}, "2 applied", nil},
			{core.Control{Operation: core.ResumeCall, Calls: core.Selection{Call: 2}}, "2 unchanged", nil},
			{core.Control{Operation: core.PauseTheRun}, "0 applied", nil},
			{core.Control{Operation: core.ResumeTheRun}, "0 unchanged", nil},
			{core.Control{Operation: core.SignalTheRun, Signal: "hello", Value: roomtest.Payload(1)}, "0 applied", nil},
			{core.Control{Operation: core.CancelTheRun}, "0 applied", nil},
			{core.Control{Operation: core.TerminateTheRun}, "0 applied", nil},
			{core.Control{Operation: core.RetryNow, Calls: core.Selection{Name: "nothing"}}, "0 not-pending", ErrNotPending},
			{core.Control{Operation: core.RetryNow, Calls: core.Selection{Call: 4}}, "4 refused", errRefused},
		} {
			id := fmt.Sprint("w", i)
			a.wait(id)
			c.in.By, c.in.Reason, c.in.ID = "ann", "on trial", fmt.Sprint("r", i)
			for range 2 { // the second time only the answer comes back
				records, err := a.Control(a.ctx, id, "", c.in)
				var got []string
				for _, r := range records {
					got = append(got, fmt.Sprint(r.Call, " ", r.Outcome))
					if r.By != "ann" || r.Why != "on trial" || r.Request != c.in.ID || r.WorkflowID != id || r.Operation != string(c.in.Operation) {
						a.Errorf("%s is recorded as %+v", c.in.Operation, r)
					}
				}
				var refused *RefusedError
				if errors.As(err, &refused) {
					err = errRefused
				}
				if s := strings.Join(got, ", "); s != c.want || !errors.Is(err, c.err) || err != nil && c.err == nil {
					a.Errorf("%s of %+v: %s, %v; want %s", c.in.Operation, c.in.Calls, s, err, c.want)
				}
			}
			if n := len(a.audit(id)); n != len(strings.Split(c.want, ",")) {
				a.Errorf("%s: %d are on record", c.in.Operation, n)
			}
		}
	})
}

// TestE60_ARefusalIsAnError: with what the call said, unless another call took the operation.
func TestE60_ARefusalIsAnError(t *testing.T) {
	both(t, func(a *asker) {
		a.wait("w")
		records, err := a.Control(a.ctx, "w", "", core.Control{Operation: core.EditPolicy, Calls: core.Selection{Call: 3}, Policy: &retry.Policy{MaxAttempts: 2}})
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Record.Call != 3 || refused.Record.Note == "" || len(records) != 1 || records[0].Outcome != view.Refused {
			a.Errorf("it is %+v, %v", records, err)
		}
		if _, err := a.Control(a.ctx, "nobody", "", core.Control{Operation: core.RetryNow}); !errors.Is(err, store.ErrNotFound) {
			a.Errorf("of nobody: %v", err)
		}
		a.Must(a.Terminate(a.ctx, "w", "", By{}))
		a.settle()
		if _, err := a.Control(a.ctx, "w", "", core.Control{Operation: core.RetryNow}); !errors.Is(err, store.ErrClosed) {
			a.Errorf("of a closed run: %v", err)
		}
		if _, err := a.Preview(a.ctx, "w", core.Control{Operation: core.RetryNow}); !errors.Is(err, store.ErrClosed) {
			a.Errorf("a look at a closed run: %v", err)
		}
	})
}

// TestE60_ARequestIDIsOfOneOperation: used for another one nothing is done.
func TestE60_ARequestIDIsOfOneOperation(t *testing.T) {
	both(t, func(a *asker) {
		a.wait("w")
		control := func(c core.Control) error { c.ID = "r"; _, err := a.Control(a.ctx, "w", "", c); return err }
		a.Must(control(core.Control{Operation: core.SignalTheRun, Signal: "one"}))
		for _, c := range []core.Control{{Operation: core.PauseTheRun}, {Operation: core.SignalTheRun, Signal: "two"}, {Operation: core.RetryNow}} {
			if input := (*history.InputError)(nil); !errors.As(control(c), &input) || !strings.Contains(input.Problem, `"r" was used for signal one`) {
				a.Errorf("%s %s: %v", c.Operation, c.Signal, input)
			}
		}
		if n := len(a.audit("w")); n != 1 {
			a.Errorf("%d are on record", n)
		}
	})
}

// TestE60_WhoeverDoesNotServeLeavesTheRequest: the caller's time ends, the request stays, and its
// ID asks again.
func TestE60_WhoeverDoesNotServeLeavesTheRequest(t *testing.T) {
	elsewhere(t, func(a *asker) {
		a.wait("w")
		time.Sleep(100 * time.Millisecond) // the owner has just looked
		ctx, cancel := context.WithTimeout(a.ctx, 100*time.Millisecond)
		defer cancel()
		in := core.Control{Operation: core.PauseTheRun, ID: "r"}
		if _, err := a.Control(ctx, "w", "", in); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
			a.Errorf("in time: %v", err)
		}
		if records, err := a.Control(a.ctx, "w", "", in); err != nil || len(records) != 1 || len(a.audit("w")) != 1 {
			a.Errorf("asked again: %+v, %v", records, err)
		}
	})
}

// TestE60_APreviewIsWhatWouldBeDone: by call, and nothing is done.
func TestE60_APreviewIsWhatWouldBeDone(t *testing.T) {
	here(t, func(a *asker) {
		a.wait("w")
		for _, c := range []struct {
			in   core.Control
			want string
		}{
			{core.Control{Operation: core.RetryNow}, "1 backoff backoff, 2 runs an attempt is running already, 3 outside an attempt is running already"},
			{core.Control{Operation: core.RetryNow, Calls: core.Selection{States: []string{view.CallBackoff, view.CallExternal}}}, "1 backoff backoff, 3 outside an attempt is running already"},
			{core.Control{Operation: core.RetryNow, Calls: core.Selection{ErrorType: "Busy"}}, "1 backoff backoff"},
			{core.Control{Operation: core.PauseTheRun}, "0  waiting, running"},
			{core.Control{Operation: core.SignalTheRun, Signal: "hello"}, "0 hello waiting, running"},
			{core.Control{Operation: core.ResetTheRun, Call: 2}, "2  keeps 1 turn"},
		} {
			records, err := a.Preview(a.ctx, "w", c.in)
			var got []string
			for _, r := range records {
				got = append(got, fmt.Sprint(r.Call, " ", r.Name, " ", r.Note))
				if not := strings.HasSuffix(r.Note, "already"); (r.Outcome == view.Unchanged) != not || !not && r.Outcome != view.Selected || !r.Time.IsZero() {
					a.Errorf("%s: %+v", c.in.Operation, r)
				}
			}
			if s := strings.Join(got, ", "); err != nil || s != c.want && c.in.Operation != core.ResetTheRun {
				a.Errorf("%s: %q, %v; want %q", c.in.Operation, s, err, c.want)
			}
		}
		if _, err := a.Preview(a.ctx, "w", core.Control{Operation: core.RetryNow, Calls: core.Selection{Name: "nothing"}}); !errors.Is(err, ErrNotPending) {
			a.Errorf("of no call: %v", err)
		}
		if len(a.audit("w")) != 0 {
			a.Error("something was done")
		}
	})
}

// TestE60_BulkIsDoneToWhatTheFilterSelects: in batches, with one request ID, and again does the
// rest only.
func TestE60_BulkIsDoneToWhatTheFilterSelects(t *testing.T) {
	both(t, func(a *asker) {
		const n = bulkPage + 7
		a.Define("order", charges(roomtest.Retry(retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Hour)})))
		for i := range n {
			id := fmt.Sprintf("o-%03d", i)
			_, _, err := a.StartRun(a.ctx, Start{WorkflowID: id, Type: "order", Input: roomtest.Payload(i)})
			a.Must(err)
		}
		a.settle()
		for i := range n {
			r := a.Latest(fmt.Sprintf("o-%03d", i))
			if i%2 == 0 {
				r.Fails(1, "Busy", "no")
			}
			if i%10 == 9 {
				r.Step(core.Control{Operation: core.TerminateTheRun})
			}
		}
		in := core.Control{Operation: core.RetryNow, ID: "again", By: "ann", Calls: core.Selection{States: []string{view.CallBackoff}}}
		dry, err := a.ControlAll(a.ctx, view.Filter{}, in, true)
		if err != nil || dry.Runs != (n+1)/2 || dry.Calls != (n+1)/2 || dry.Applied != 0 || dry.Selection == "" || !dry.DryRun || dry.Request != "" {
			a.Fatalf("a dry run says %+v, %v", dry, err)
		}
		one, err := a.ControlAll(a.ctx, view.Filter{IDPrefix: "o-000"}, in, false)
		if err != nil || one.Runs != 1 || one.Applied != 1 || one.Request != "again" {
			a.Errorf("of one it says %+v, %v", one, err)
		}
		rest, err := a.ControlSelected(a.ctx, dry.Selection, in, false)
		if err != nil || rest.Applied != (n+1)/2-1 || rest.Gone != 1 || len(rest.Records) != (n+1)/2-1 {
			a.Errorf("of the selection it says %+v, %v", rest.Applied, err)
		}
		again, err := a.ControlAll(a.ctx, view.Filter{}, in, false)
		if err != nil || again.Runs != 0 {
			a.Errorf("again it says %+v, %v", again, err)
		}
		chosen, err := a.ControlChosen(a.ctx, []string{"o-001", "o-009", "nobody", "o-001"}, core.Control{Operation: core.PauseTheRun}, false)
		if err != nil || chosen.Applied != 1 || chosen.Ended != 1 || !slices.Equal(chosen.Unknown, []string{"nobody"}) {
			a.Errorf("of chosen ones it says %+v, %v", chosen, err)
		}
		if a.state("o-001").Status != store.OnHold {
			a.Error("it is not paused")
		}
	})
}

// TestE60_ASelectionIsTakenForWhatItWasMade: and nothing else; no text is taken for one.
func TestE60_ASelectionIsTakenForWhatItWasMade(t *testing.T) {
	here(t, func(a *asker) {
		a.wait("w")
		in := core.Control{Operation: core.RetryNow}
		dry, err := a.ControlAll(a.ctx, view.Filter{}, in, true)
		a.Must(err)
		for name, c := range map[string]core.Control{
			"operation": {Operation: core.PauseCall}, "call": {Operation: core.RetryNow, Call: 3}, "build": {Operation: core.RetryNow, To: "b"},
		} {
			if _, err := a.ControlSelected(a.ctx, dry.Selection, c, true); err == nil {
				a.Errorf("it is taken for another %s", name)
			}
		}
		for i := range len(dry.Selection) {
			cut := dry.Selection[:i]
			if _, err := readSelection(cut); err == nil {
				a.Errorf("%d characters of it are taken", i)
			}
			bad := []byte(dry.Selection)
			if bad[i]++; bad[i] == '=' {
				continue
			}
			if s, err := readSelection(string(bad)); err == nil && !slices.Equal(s.IDs, nil) {
				a.Errorf("with another character at %d it is taken", i)
			}
		}
		a.Group.Name = "" // the group of the scene
		a.group.Name = "blue"
		if _, err := a.ControlSelected(a.ctx, dry.Selection, in, true); err == nil || !strings.Contains(err.Error(), "was made in the group") {
			a.Errorf("in another group: %v", err)
		}
	})
}
