package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// An account is a workflow that lives by its updates: it has code of its own only to
// wait until it is closed.
var (
	deposit = workflow.NewUpdate[int, int]("deposit")
	closeIt = workflow.NewUpdate[string, int]("close")
	check   = activity.New("check", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Minute) })
)

func accounts(version string) workflow.Workflow[string, int] {
	return workflow.New("account", func(wf *workflow.Context, _ string) (int, error) {
		balance := 0
		closed := workflow.NewChannel[string](wf, 1)
		workflow.HandleUpdate(wf, deposit, func(wf *workflow.Context, n int) (int, error) {
			switch {
			case n == 13:
				return 0, fmt.Errorf("unlucky: %w", errRefused)
			case n == 666:
				panic("a mistake")
			case n >= 100:
				if _, err := workflow.Call(wf, check, n); err != nil {
					return 0, err
				}
			}
			balance += n
			return balance, nil
		}, workflow.Validator(func(n int) error {
			if n == -1 {
				panic("no way")
			}
			if n <= 0 {
				return fmt.Errorf("%w after %d", errRefused, balance)
			}
			return nil
		}))
		workflow.HandleUpdate(wf, closeIt, func(wf *workflow.Context, why string) (int, error) {
			return balance, closed.Send(wf, why)
		})
		why, err := closed.Receive(wf)
		for why == "break" {
			if version == "1" {
				panic("a mistake")
			}
			why, err = closed.Receive(wf)
		}
		if why == "in order" {
			err = workflow.FinishUpdates(wf)
		}
		return balance, err
	}, workflow.Version(version))
}

// change asks for an update as the root does.
func change[In, Out any](ctx context.Context, e *engine.Engine, id, updateID string, u workflow.Update[In, Out], in In) (out Out, err error) {
	input, err := history.Encode(in)
	if err != nil {
		return out, err
	}
	answer, err := e.Update(ctx, id, u.Name(), updateID, input)
	if err != nil {
		return out, err
	}
	return out, answer.Decode(&out)
}

// kinds are those of a history that are about updates.
func updateEvents(t *testing.T, e *engine.Engine, id string) (text string) {
	t.Helper()
	for _, ev := range eventsOf(t, e, id) {
		switch ev.Kind {
		case history.UpdateAccepted:
			text += fmt.Sprintf(" +%s in %d", ev.Input, ev.Turn)
		case history.UpdateCompleted:
			text += fmt.Sprintf(" =%s in %d", ev.Result, ev.Turn)
		}
	}
	return strings.TrimSpace(text)
}

// TestE40_Updates: an update is validated, carried out and answered, to its owner
// and to others. What is accepted is on record in the turn in which its handler
// begins; what is rejected leaves nothing there. Errors of validators and handlers
// come back as themselves.
func TestE40_Updates(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, accounts("1"), check)
		begin(t, e, accounts("1"), "a", "")
		want := 0
		for i, from := range all {
			for range 3 {
				want++
				if got, err := change(t.Context(), from, "a", "", deposit, 1); got != want || err != nil {
					t.Fatalf("asked from %d the answer is %d, %v; want %d", i, got, err, want)
				}
			}
		}
		if text := updateEvents(t, e, "a"); !strings.HasPrefix(text, "+1 in 2 =1 in 2 +1 in 3 =2 in 3 +1 in 4 =3 in 4") {
			t.Errorf("on record is %s", text)
		}
		before := len(eventsOf(t, e, "a"))
		for _, from := range all {
			_, err := change(t.Context(), from, "a", "again", deposit, 0)
			var rejected *workflow.RejectedError
			if !errors.As(err, &rejected) || rejected.Update != "deposit" || !errors.Is(err, errRefused) || !strings.Contains(err.Error(), fmt.Sprint("after ", want)) {
				t.Errorf("the validator says %v", err)
			}
			if _, err = change(t.Context(), from, "a", "", deposit, -1); !errors.As(err, &rejected) || !strings.Contains(err.Error(), "no way") {
				t.Errorf("a validator that panics says %v", err)
			}
			if _, err = change(t.Context(), from, "a", "", workflow.NewUpdate[int, int]("other"), 1); !errors.Is(err, workflow.ErrNoHandler) || !strings.Contains(err.Error(), "it has close, deposit") {
				t.Errorf("one that there is no handler for: %v", err)
			}
			if _, err = change(t.Context(), from, "a", "", workflow.NewUpdate[string, int]("deposit"), "x"); !errors.As(err, &rejected) {
				t.Errorf("one of another type: %v", err)
			}
			if _, err = change(t.Context(), from, "none", "", deposit, 1); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("of no workflow: %v", err)
			}
		}
		settle()
		if after := len(eventsOf(t, e, "a")); after != before {
			t.Errorf("rejected updates left %d events", after-before)
		}
		for _, from := range all { // the ID of a rejected one is free
			if _, err := change(t.Context(), from, "a", "again", deposit, 13); !errors.Is(err, errRefused) || !strings.HasPrefix(err.Error(), "unlucky: ") {
				t.Errorf("the handler says %v", err)
			}
		}
		pass(2 * time.Minute)
		if holds := w.inInbox(); holds != 0 {
			t.Errorf("%d messages are left in the inbox", holds)
		}
	})
}

// TestE40_AHandlerMayWait: a handler calls activities and sleeps; others are
// answered meanwhile, and the run is where it was after a crash. Its answer reaches
// whoever waits for it, wherever. A run that ends in good order waits for it.
func TestE40_AHandlerMayWait(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, accounts("1"), check)
		begin(t, e, accounts("1"), "a", "")
		type answer struct {
			n   int
			err error
		}
		answers := make(chan answer, 2*len(all))
		ask := func(from *engine.Engine) {
			go func() {
				n, err := change(t.Context(), from, "a", "large", deposit, 100)
				answers <- answer{n, err}
			}()
		}
		for _, from := range all[1:] {
			ask(from)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := change(short, e, "a", "large", deposit, 100); !errors.Is(err, request.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who does not wait gets %v", err)
		}
		if n, err := change(t.Context(), e, "a", "", deposit, 1); n != 1 || err != nil {
			t.Errorf("meanwhile it answers %d, %v", n, err)
		}
		d := describe(t, e, "a")
		if len(d.Updates) != 1 || d.Updates[0].ID != "large" || d.Updates[0].Name != "deposit" || len(d.Pending) != 1 {
			t.Errorf("under way are %+v and %+v", d.Updates, d.Pending)
		}
		w.kill(e)
		pass(time.Minute)
		e = w.start(accounts("1"), check)
		ask(e)
		for range all {
			if a := <-answers; a.n != 101 || a.err != nil {
				t.Errorf("the answer is %d, %v", a.n, a.err)
			}
		}
		if _, err := change(t.Context(), e, "a", "large", deposit, 99); !isInputError(err) {
			t.Errorf("the same ID with another input: %v", err)
		}
		go change(t.Context(), e, "a", "last", deposit, 200)
		settle()
		if n, err := change(t.Context(), e, "a", "", closeIt, "in order"); n != 101 || err != nil {
			t.Errorf("it is closed with %d, %v", n, err)
		}
		if n, err := finish[int](t, e, "a"); n != 301 || err != nil {
			t.Errorf("it ended with %d, %v", n, err)
		}
		for _, from := range []*engine.Engine{e, all[len(all)-1]} {
			if from == all[0] {
				continue // it was killed
			}
			for id, want := range map[string]int{"large": 101, "last": 301} {
				in := 100
				if id == "last" {
					in = 200
				}
				if n, err := change(t.Context(), from, "a", id, deposit, in); n != want || err != nil {
					t.Errorf("asked again when it has ended: %d, %v; want %d", n, err, want)
				}
			}
			if _, err := change(t.Context(), from, "a", "new", deposit, 1); !errors.Is(err, store.ErrClosed) {
				t.Errorf("a new one when it has ended: %v", err)
			}
		}
	})
}

func isInputError(err error) bool {
	var input *history.InputError
	return errors.As(err, &input)
}

// TestE40_UpdatesWait: one that comes before the code has begun waits for it, as one
// does that comes while it is missing, parked or paused; nothing is left of one whose
// run ends first, and its caller is told.
func TestE40_UpdatesWait(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(accounts("1"), check)
		for _, id := range []string{"later", "never"} {
			beginWith(t, e, accounts("1"), id, "", request.Start{Delay: 2 * time.Minute})
		}
		begin(t, e, accounts("1"), "parked", "")
		begin(t, e, accounts("1"), "paused", "")
		got := map[string]chan error{}
		ask := func(id string, n, want int) {
			answer := make(chan error, 1)
			got[id] = answer
			go func() {
				out, err := change(t.Context(), e, id, "the one", deposit, n)
				if err == nil && out != want {
					err = fmt.Errorf("the answer is %d", out)
				}
				answer <- err
			}()
			settle()
		}
		if _, err := e.Control(t.Context(), "paused", "", core.Control{Operation: core.PauseTheRun}); err != nil {
			t.Fatal(err)
		}
		ask("later", 1, 1)
		ask("never", 1, 1)
		// The handler has answered when the code that it wakes panics: the turn is not made.
		breaking := make(chan error, 1)
		go func() {
			_, err := change(t.Context(), e, "parked", "break", closeIt, "break")
			breaking <- err
		}()
		settle()
		ask("parked", 3, 3)
		ask("paused", 2, 2)
		pass(time.Minute)
		if d := describe(t, e, "parked"); d.Status != string(core.StatusParked) || !strings.Contains(d.Reason, "a mistake") || len(d.Updates) != 0 {
			t.Errorf("code that panics leaves it %s: %s", d.Status, d.Reason)
		}
		for id, answer := range got {
			select {
			case err := <-answer:
				t.Errorf("%s: it was answered too early: %v", id, err)
			default:
			}
		}
		if err := e.Terminate(t.Context(), "never", "", request.By{Who: "so"}); err != nil {
			t.Fatal(err)
		}
		if err := <-got["never"]; !errors.Is(err, store.ErrClosed) {
			t.Errorf("a run that never began answers %v", err)
		}
		if _, err := e.Control(t.Context(), "paused", "", core.Control{Operation: core.ResumeTheRun}); err != nil {
			t.Fatal(err)
		}
		if err := <-got["paused"]; err != nil {
			t.Errorf("a resumed run answers %v", err)
		}
		pass(2 * time.Minute)
		if err := <-got["later"]; err != nil {
			t.Errorf("a run that has begun answers %v", err)
		}
		stop(t, e)
		for _, answer := range []chan error{got["parked"], breaking} {
			if err := <-answer; !errors.Is(err, request.ErrStopped) {
				t.Errorf("who waits at an engine that stops gets %v", err)
			}
		}
		e = w.start(accounts("2"), check)
		ask("parked", 3, 3)
		if err := <-got["parked"]; err != nil {
			t.Errorf("mended code answers %v", err)
		}
		pass(2 * time.Hour)
		if d := describe(t, e, "parked"); d.Status != string(core.StatusRunning) {
			t.Errorf("mended code leaves it %s", d.Status)
		}
		if text := updateEvents(t, e, "parked"); strings.Count(text, "+") != 2 || strings.Count(text, "=") != 2 {
			t.Errorf("on record is %s", text)
		}
		if n := w.inInbox(); n != 0 {
			t.Errorf("%d messages are left in the inbox", n)
		}
	})
}

// TestE40_UpdatesThatCannotBeAnswered: a run that ends while a handler is under way
// tells its caller, whatever ends it, and for ever.
func TestE40_UpdatesThatCannotBeAnswered(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, accounts("1"), check)
		ends := map[string]func(id string) error{
			"ends":       func(id string) error { _, err := change(t.Context(), e, id, "", closeIt, "now"); return err },
			"terminated": func(id string) error { return e.Terminate(t.Context(), id, "", request.By{Who: "so"}) },
			"times out":  func(string) error { pass(40 * time.Second); return nil },
		}
		for id, end := range ends {
			beginWith(t, e, accounts("1"), id, "", request.Start{Settings: history.Settings{RunTimeout: 30 * time.Second}})
			answers := make(chan error, len(all))
			for _, from := range all {
				go func() {
					_, err := change(t.Context(), from, id, "the one", deposit, 100)
					answers <- err
				}()
			}
			settle()
			pass(time.Second)
			if err := end(id); err != nil {
				t.Fatal(err)
			}
			for range all {
				if err := <-answers; !errors.Is(err, request.ErrUpdateUnfinished) {
					t.Errorf("%s: the answer is %v", id, err)
				}
			}
			if _, err := change(t.Context(), e, id, "the one", deposit, 100); !errors.Is(err, request.ErrUpdateUnfinished) {
				t.Errorf("%s: asked again, the answer is %v", id, err)
			}
		}
	})
}

// TestE11_UpdatesOfAChain: the IDs of updates live with the chain: what an earlier
// run has answered is answered the same, and what it left unfinished is not begun
// again. What no run has accepted goes on to the next one.
func TestE11_UpdatesOfAChain(t *testing.T) {
	round := workflow.Declare[int, int]("round")
	on := workflow.NewUpdate[string, int]("on")
	code := round.Impl(func(wf *workflow.Context, n int) (int, error) {
		if n == 2 { // no handler at first
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return 0, err
			}
		}
		next := workflow.NewChannel[string](wf, 10)
		workflow.HandleUpdate(wf, on, func(wf *workflow.Context, in string) (int, error) {
			if in == "long" {
				return 0, workflow.Sleep(wf, time.Hour)
			}
			return n, next.Send(wf, in)
		})
		for {
			in, err := next.Receive(wf)
			if err != nil || in == "end" {
				return n, err
			}
			if in == "next" {
				return workflow.ContinueAsNew(wf, round, n+1)
			}
		}
	})
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, code)
		begin(t, e, round, "r", 1)
		long := make(chan error, 1)
		go func() {
			_, err := change(t.Context(), e, "r", "long", on, "long")
			long <- err
		}()
		settle()
		for i, in := range []string{"stay", "next"} {
			if n, err := change(t.Context(), e, "r", in, on, in); n != 1 || err != nil {
				t.Fatalf("update %d: %d, %v", i+1, n, err)
			}
		}
		if err := <-long; !errors.Is(err, request.ErrUpdateUnfinished) {
			t.Errorf("one that was under way: %v", err)
		}
		if _, err := change(t.Context(), e, "r", "early", on, "stay"); !errors.Is(err, workflow.ErrNoHandler) {
			t.Errorf("before the second run has set a handler: %v", err)
		}
		pass(time.Minute)
		again := func() {
			t.Helper()
			for _, from := range all {
				for _, in := range []string{"stay", "next"} {
					if n, err := change(t.Context(), from, "r", in, on, in); n != 1 || err != nil {
						t.Errorf("asked again: %d, %v", n, err)
					}
				}
				if _, err := change(t.Context(), from, "r", "long", on, "long"); !errors.Is(err, request.ErrUpdateUnfinished) {
					t.Errorf("asked again: %v", err)
				}
			}
		}
		again()
		if n, err := change(t.Context(), e, "r", "early", on, "stay"); n != 2 || err != nil {
			t.Errorf("now it answers %d, %v", n, err)
		}
		if n, err := change(t.Context(), e, "r", "", on, "end"); n != 2 || err != nil {
			t.Errorf("it ends with %d, %v", n, err)
		}
		again() // when the chain has ended
		if d := describe(t, e, "r"); len(d.Chain) != 2 {
			t.Errorf("the chain is %+v", d.Chain)
		}
	})
}

// TestE40_UpdatesOfTwoNodes: an update whose handler is under way when its run is
// taken over is answered once, by the new owner, to a caller on either node.
func TestE40_UpdatesOfTwoNodes(t *testing.T) {
	needsTransactions.inAGroup(t, func(t *testing.T, w *world) {
		first, second := w.config(accounts("1"), check), w.config(accounts("1"), check)
		first.Node, second.Node = "one", "two"
		a := w.startWith(first)
		const runs = 8
		for i := range runs {
			begin(t, a, accounts("1"), fmt.Sprint(i), "")
		}
		b := w.startWith(second)
		pass(time.Minute)
		answers := make(chan error, 2*runs)
		ask := func(from *engine.Engine) {
			for i := range runs {
				go func() {
					n, err := change(t.Context(), from, fmt.Sprint(i), "the one", deposit, 100)
					if err == nil && n != 100 {
						err = fmt.Errorf("the answer is %d", n)
					}
					answers <- err
				}()
			}
		}
		ask(b)
		pass(20 * time.Second)
		w.kill(a)
		ask(b)
		for range 2 * runs {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		for i := range runs {
			if text := updateEvents(t, b, fmt.Sprint(i)); strings.Count(text, "+") != 1 || strings.Count(text, "=") != 1 {
				t.Errorf("on record of %d is %s", i, text)
			}
		}
	})
}
