package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// explosive is a value of a user whose methods panic for some texts.
type explosive string

func (x *explosive) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*string)(x)); err != nil {
		return err
	}
	if *x == "read me not" {
		panic("cannot be read")
	}
	return nil
}

func (x explosive) MarshalJSON() ([]byte, error) {
	if x == "write me not" {
		panic("cannot be written")
	}
	return json.Marshal(string(x))
}

// shown is an error of a user that cannot be read back.
type shown struct{ N int }

func (e *shown) Error() string                { return fmt.Sprint("shown ", e.N) }
func (e *shown) UnmarshalJSON(_ []byte) error { panic("an error that cannot be read") }

func init() { retry.RegisterErrorType[*shown]("outsider.shown") }

var (
	prod  = workflow.NewUpdate[explosive, explosive]("prod")
	toss  = workflow.NewSignal[explosive]("toss")
	peek  = workflow.NewQuery[explosive, explosive]("peek")
	leave = workflow.NewSignal[string]("leave")
)

// host is a workflow that outsiders may ask for what panics. It returns how many
// updates its handler has begun, and what it heard of the signals.
func host(mended bool) workflow.Workflow[string, string] {
	return workflow.New("host", func(wf *workflow.Context, _ string) (string, error) {
		begun, heard := 0, ""
		workflow.HandleUpdate(wf, prod, func(wf *workflow.Context, in explosive) (explosive, error) {
			begun++
			switch in {
			case "panic":
				if !mended {
					panic("the handler panics")
				}
			case "exit":
				if !mended {
					exitGoroutine()
				}
			case "panic by an address":
				if !mended {
					panic(fmt.Sprintf("at %p", &begun))
				}
			case "panic later":
				if err := workflow.Sleep(wf, time.Second); err != nil || !mended {
					panic(errRefused)
				}
			case "panic apart":
				_, err := workflow.Map(wf, []int{1, 2}, func(wf *workflow.Context, n int) (int, error) {
					if err := workflow.Sleep(wf, time.Duration(n)*time.Second); err != nil || n == 2 {
						panic("a part of the handler panics")
					}
					return n, nil
				})
				return "", err
			case "panicking error":
				return "", &shown{N: 7}
			}
			return in, nil
		})
		workflow.HandleQuery(wf, peek, func(in explosive) (explosive, error) {
			if in == "exit" {
				exitGoroutine()
			}
			if in == "panic" {
				panic("the handler panics")
			}
			return in, nil
		})
		workflow.Go(wf, func(wf *workflow.Context) {
			for {
				value, err := workflow.Receive(wf, toss)
				if err != nil {
					value = explosive(err.Error())
				}
				heard += fmt.Sprintf("[%s]", value)
			}
		})
		if _, err := workflow.Receive(wf, leave); err != nil {
			return "", err
		}
		err := workflow.FinishUpdates(wf)
		return fmt.Sprint(begun, " ", heard), err
	}, workflow.Version(fmt.Sprint(mended)))
}

// TestI14_ARequestThatPanicsIsRefused: an update whose handler, decoding or encoding
// panics, a signal whose value panics when it is read, and such a query, are errors of
// whoever sent them, on record where the code saw them. The run goes on, and goes on
// after a replay, with the same code and with code that is mended.
func TestI14_ARequestThatPanicsIsRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, host(false))
		begin(t, e, host(false), "h", "")
		asked := 0
		for n, from := range all {
			for in, want := range map[explosive]string{
				"panic":               "the handler panics",
				"exit":                "runtime.Goexit",
				"panic by an address": "at 0x",
				"panic later":         errRefused.Error(),
				"panic apart":         "a part of the handler panics",
				"panicking error":     "shown 7",
				"write me not":        "cannot be written",
				"read me not":         "cannot be read",
			} {
				_, err := changeRaw(t, from, "h", fmt.Sprint(in, n), prod.Name(), in)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the update %q asked from %d: %v, want %q", in, n, err, want)
				}
				if in == "panic later" && !errors.Is(err, errRefused) {
					t.Errorf("the value of the panic is lost: %v", err)
				}
				if rejected := (*workflow.RejectedError)(nil); errors.As(err, &rejected) != (in == "read me not") {
					t.Errorf("the update %q: %v", in, err)
				}
				if in != "read me not" {
					asked++
				}
			}
			if out, err := changeRaw(t, from, "h", "", prod.Name(), "fine"); err != nil || !strings.Contains(out.String(), "fine") {
				t.Errorf("an update afterwards: %s, %v", out, err)
			}
			asked++
			for in, want := range map[explosive]string{"panic": "the handler panics", "exit": "runtime.Goexit", "read me not": "cannot be read", "write me not": "cannot be written"} {
				if _, err := queryRaw(t, from, "h", peek.Name(), in); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the query %q asked from %d: %v", in, n, err)
				}
			}
		}
		for _, value := range []string{"one", "read me not", "two"} {
			signal(t, e, "h", toss.Name(), "", value)
		}
		settle()
		if d := describe(t, e, "h"); d.Status != string(core.StatusRunning) || d.Reason != "" {
			t.Errorf("it is %s: %s", d.Status, d.Reason)
		}
		for _, mended := range []bool{false, true} {
			w.kill(e)
			e = w.start(host(mended))
			pass(time.Minute)
			if d := describe(t, e, "h"); d.Status != string(core.StatusRunning) {
				t.Errorf("after a replay with mended %v it is %s: %s", mended, d.Status, d.Reason)
			}
			if _, err := changeRaw(t, e, "h", "panic0", prod.Name(), "panic"); err == nil || !strings.Contains(err.Error(), "the handler panics") {
				t.Errorf("asked again: %v", err)
			}
		}
		signal(t, e, "h", leave.Name(), "", "")
		got, err := finish[string](t, e, "h")
		if err != nil || !strings.HasPrefix(got, fmt.Sprint(asked, " [one][")) || !strings.HasSuffix(got, "[two]") || !strings.Contains(got, "cannot be read") {
			t.Errorf("it ended with %q, %v", got, err)
		}
	})
}

// TestE109_AHandlerThatExitsItsGoroutineIsRefused: an update, its validator and a query.
// What else the run does goes on.
func TestE109_AHandlerThatExitsItsGoroutineIsRefused(t *testing.T) {
	strict := workflow.NewUpdate[string, string]("strict")
	w := workflow.New("exits", func(wf *workflow.Context, _ string) (string, error) {
		workflow.HandleUpdate(wf, strict, func(_ *workflow.Context, in string) (string, error) { return in, nil },
			workflow.Validator(func(in string) error {
				if in == "exit" {
					exitGoroutine()
				}
				return nil
			}))
		workflow.HandleQuery(wf, peek, func(in explosive) (explosive, error) {
			exitGoroutine()
			return in, nil
		})
		return workflow.Receive(wf, leave)
	})
	inBothModes(t, func(t *testing.T, world *world) {
		e := world.start(w)
		begin(t, e, w, "x", "")
		settle()
		_, err := changeRaw(t, e, "x", "", strict.Name(), "exit")
		if rejected := (*workflow.RejectedError)(nil); !errors.As(err, &rejected) || !strings.Contains(err.Error(), "runtime.Goexit") {
			t.Errorf("the update: %v", err)
		}
		if _, err := queryRaw(t, e, "x", peek.Name(), "how"); err == nil || !strings.Contains(err.Error(), "runtime.Goexit") {
			t.Errorf("the query: %v", err)
		}
		signal(t, e, "x", leave.Name(), "", "bye")
		if got, err := finish[string](t, e, "x"); got != "bye" || err != nil {
			t.Errorf("it ended with %q, %v", got, err)
		}
	})
}

// raw is the payload of a text, whatever the methods of its type do.
func raw(t *testing.T, text explosive) history.Payload {
	t.Helper()
	p, err := history.Encode(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func changeRaw(t *testing.T, e *engine.Engine, id, updateID, name string, in explosive) (history.Payload, error) {
	t.Helper()
	return e.Update(t.Context(), id, name, updateID, raw(t, in))
}

func queryRaw(t *testing.T, e *engine.Engine, id, name string, in explosive) (history.Payload, error) {
	t.Helper()
	return e.Query(t.Context(), id, "", name, raw(t, in))
}

// exitGoroutine is runtime.Goexit under a name that the analyzer does not refuse: what it
// does to workflow code is the subject here.
var exitGoroutine = runtime.Goexit
