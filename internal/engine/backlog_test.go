package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/workflow"
)

// TestE48_SignalBacklog: a run with as many unread signals as it may have gets no more, from
// any sender, even while it has no code and after a restart; the sender gets the reason.
// Warnings come earlier. Signals from other workflows are not lost. When the code has read a
// fifth of them, the run takes signals again, and its code reads all accepted ones in order.
func TestE48_SignalBacklog(t *testing.T) {
	const limit = 10
	inBothModes(t, func(t *testing.T, w *world) {
		lazy := workflow.Declare[int, string]("lazy")
		def := lazy.Impl(func(wf *workflow.Context, round int) (string, error) {
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return "", err
			}
			if round == 1 {
				return workflow.ContinueAsNew(wf, lazy, 2)
			}
			var read []string
			for range 2 {
				v, err := workflow.Receive(wf, poke)
				if err != nil {
					return "", err
				}
				read = append(read, v)
			}
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return "", err
			}
			for len(read) < limit+3 {
				v, err := workflow.Receive(wf, poke)
				if err != nil {
					return "", err
				}
				read = append(read, v)
			}
			return strings.Join(read, " "), nil
		})
		friend := workflow.New("friend", func(wf *workflow.Context, v string) (int, error) {
			return 0, workflow.Send(wf, "w", poke, v)
		})
		config := func(definitions ...any) settings.Engine {
			c := w.config(definitions...)
			c.MaxSignalBacklog = limit
			return c
		}
		e := w.startWith(config(def, friend))
		client := w.config()
		client.Node = "client"
		other := w.open(client)
		begin(t, e, def, "w", 1)
		n := 0
		send := func(by *engine.Engine) error {
			value, _ := history.Encode(fmt.Sprint(n + 1))
			err := by.Signal(t.Context(), "w", poke.Name(), "", value)
			if err == nil {
				n++
			}
			settle()
			pass(time.Second) // those who only listen to the database hear of it
			return err
		}
		refused := func(when string) {
			t.Helper()
			for _, by := range []*engine.Engine{e, other} {
				var tooMany *history.LimitError
				if err := send(by); !errors.As(err, &tooMany) || tooMany.What != "unread signals" || !strings.Contains(err.Error(), "the run has as many unread signals as it may: send it again") {
					t.Errorf("%s, one more: %v", when, err)
				}
			}
		}
		for n < limit {
			if warned := len(describe(t, e, "w").Warnings); warned != n/8 {
				t.Errorf("with %d signals there are %d warnings", n, warned)
			}
			if err := send([]*engine.Engine{e, other}[n%2]); err != nil {
				t.Fatalf("signal %d: %v", n, err)
			}
		}
		if d := describe(t, e, "w"); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "it has 10 unread signals; with 10") {
			t.Errorf("the warnings are %q", d.Warnings)
		}
		if n := w.log.count("a run has many unread signals"); n != 1 {
			t.Errorf("a warning was logged %d times", n)
		}
		refused("full")
		value, _ := history.Encode("by hand")
		records, err := e.Control(t.Context(), "w", "", core.Control{Operation: core.SignalTheRun, Signal: poke.Name(), Value: value})
		if err == nil || len(records) != 1 || records[0].Outcome != core.Refused {
			t.Errorf("a signal as an operation: %+v, %v", records, err)
		}
		complete(t, e, friend, "friend", "11")
		settle()
		stop(t, e)
		e = w.startWith(config()) // without the code
		refused("without code")
		stop(t, e)
		e = w.startWith(config(def))
		pass(time.Hour) // it goes on in a new run, with all of them
		refused("in the next run")
		pass(time.Hour + time.Second) // it has read two: nine are left
		refused("one read too few")
		pass(time.Hour)
		n = limit + 1
		for range 2 {
			if err := send(e); err != nil {
				t.Errorf("when they are read: %v", err)
			}
		}
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i+1))
		}
		if got, err := finish[string](t, e, "w"); got != strings.Join(all, " ") || err != nil {
			t.Errorf("read were %s, %v", got, err)
		}
	})
}
