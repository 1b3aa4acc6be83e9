package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE49_SetAttribute: what code gives its run, it is found by from that turn on, also
// when it has ended, and so are the runs that follow it; what it takes away it is not
// found by any more. It is as many events as changes.
func TestE49_SetAttribute(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		stages := workflow.Declare[string, string]("stages")
		def := stages.Impl(func(wf *workflow.Context, stage string) (string, error) {
			for range 3 { // one change
				if err := workflow.SetAttribute(wf, "stage", stage); err != nil {
					return "", err
				}
			}
			workflow.RemoveAttribute(wf, "draft")
			workflow.RemoveAttribute(wf, "draft")
			if err := workflow.Sleep(wf, time.Hour); err != nil {
				return "", err
			}
			if stage == "first" {
				return workflow.ContinueAsNew(wf, stages, "second")
			}
			return "", workflow.SetAttribute(wf, "stage", "")
		})
		e := w.start(def)
		input, _ := history.Encode("first")
		_, _, err := e.StartRun(t.Context(), request.Start{
			WorkflowID: "w", Type: "stages", Input: input,
			Settings: history.Settings{Attributes: map[string]string{"draft": "yes", "stage": "zeroth", "tier": "gold"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		settle()
		found := func(name, value, want string) {
			t.Helper()
			runs, err := e.List(t.Context(), view.Filter{Attributes: map[string]string{name: value}})
			var got []string
			for _, r := range runs {
				got = append(got, r.Status)
			}
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("by %s=%s are found %q, %v; want %q", name, value, got, err, want)
			}
		}
		found("stage", "first", "running")
		found("stage", "zeroth", "")
		found("draft", "yes", "")
		if d := describe(t, e, "w"); !maps.Equal(d.Attributes, map[string]string{"stage": "first", "tier": "gold"}) || d.HistoryLength != 3 {
			t.Errorf("the run has %v, and %d events", d.Attributes, d.HistoryLength)
		}
		stop(t, e)
		e = w.start() // without the code
		signal(t, e, "w", "look", "", 1)
		settle()
		found("stage", "first", "waiting-for-code")
		stop(t, e)
		e = w.start(def)
		pass(time.Hour + time.Second)
		found("stage", "first", "continued")
		found("stage", "second", "running")
		found("tier", "gold", "running continued")
		pass(time.Hour)
		found("stage", "", "completed")
		found("stage", "second", "")
	})
}

// TestE49_SetAttributeRefused: an attribute that no filter could find, or one attribute too
// many, is refused permanently and leaves nothing behind.
func TestE49_SetAttributeRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var seen []string
		def := workflow.New("refused", func(wf *workflow.Context, _ int) (string, error) {
			seen = nil
			for _, a := range [][2]string{
				{"", "no name"}, {strings.Repeat("n", 65), "long name"}, {"long value", strings.Repeat("v", 257)}, {"no text", "\xff"}, {"NUL", "a\x00"},
			} {
				value := a[1]
				err := workflow.SetAttribute(wf, a[0], value)
				if _, wrong := errors.AsType[*history.InputError](err); !wrong || !retry.Classify(err).Terminal {
					seen = append(seen, fmt.Sprintf("%q: %v", value, err))
				}
			}
			for n := range history.MaxAttributes {
				if err := workflow.SetAttribute(wf, fmt.Sprint("n", n), ""); err != nil {
					seen = append(seen, err.Error())
				}
			}
			err := workflow.SetAttribute(wf, "more", "")
			workflow.RemoveAttribute(wf, "n0")
			return fmt.Sprint(err), workflow.SetAttribute(wf, "more", "")
		})
		e := w.start(def)
		if got, want := complete(t, e, def, "w", 1), `the attribute "more" is one too many; a run has at most 16`; got != want || len(seen) > 0 {
			t.Errorf("got %s, want %s; %q", got, want, seen)
		}
		if d := describe(t, e, "w"); len(d.Attributes) != history.MaxAttributes {
			t.Errorf("the run has %v", d.Attributes)
		}
	})
}

// TestE49_AttributesOfAResetRun: attributes that the code set before the call to which its run
// is reset are kept, and the next run is found by them. The code sets later ones again.
func TestE49_AttributesOfAResetRun(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		def := workflow.New("stages", func(wf *workflow.Context, _ int) (string, error) {
			workflow.RemoveAttribute(wf, "draft")
			for _, stage := range []string{"one", "two", "three"} {
				if err := workflow.SetAttribute(wf, "stage", stage); err != nil {
					return "", err
				}
				if _, err := workflow.Receive(wf, poke); err != nil {
					return "", err
				}
			}
			return "", nil
		})
		e := w.start(def)
		input, _ := history.Encode(1)
		_, _, err := e.StartRun(t.Context(), request.Start{
			WorkflowID: "w", Type: "stages", Input: input,
			Settings: history.Settings{Priority: 4, Attributes: map[string]string{"draft": "yes", "tier": "gold"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		settle()
		signal(t, e, "w", poke.Name(), "", "1")
		settle()
		if d := describe(t, e, "w"); !maps.Equal(d.Attributes, map[string]string{"stage": "two", "tier": "gold"}) {
			t.Errorf("before, the run has %v", d.Attributes)
		}
		same(t, "outcome", reset(t, e, "w", core.Control{ID: "r", Call: 1}).Outcome, "applied")
		settle()
		d := describe(t, e, "w") // it has read the signal again
		if len(d.Chain) != 2 || d.Priority != 4 || !maps.Equal(d.Attributes, map[string]string{"stage": "two", "tier": "gold"}) {
			t.Errorf("the next run has %v and priority %d", d.Attributes, d.Priority)
		}
		same(t, "outcome", reset(t, e, "w", core.Control{ID: "s", Call: 2}).Outcome, "applied")
		settle()
		if d := describe(t, e, "w"); len(d.Chain) != 3 || d.Priority != 4 || !maps.Equal(d.Attributes, map[string]string{"stage": "two", "tier": "gold"}) {
			t.Errorf("the third run has %v and priority %d", d.Attributes, d.Priority)
		}
	})
}
