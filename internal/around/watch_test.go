package around_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
)

// watcher notes what it is told, and panics where it is to.
type watcher struct {
	panics string
	told   []string
}

func (w *watcher) Begins(ctx context.Context, op intercept.Op) (context.Context, around.Parent, any) {
	w.tell("begins")
	return ctx, around.Parent{Trace: "parent", State: "state"}, op.Name
}

func (w *watcher) Ends(mark any, err error, returned bool) {
	w.tell(fmt.Sprintf("%s ends: %v, %v", mark, err, returned))
}

func (w *watcher) Idle(start *history.Start) (context.Context, bool) {
	return context.Background(), start.Run == "idle"
}

func (w *watcher) tell(what string) {
	w.told = append(w.told, what)
	if w.panics != "" && strings.Contains(what, w.panics) {
		panic("oh")
	}
}

// does does an operation with a watcher alone, or with an interceptor inside of it.
func does(t *testing.T, w *watcher, alone bool, do func() error) error {
	t.Helper()
	var all []intercept.Interceptor
	if !alone {
		all = append(all, intercept.New("inside", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
			w.tell("inside of " + op.Headers["traceparent"] + " " + op.Headers["tracestate"])
			return next(ctx)
		}))
	}
	chain, err := around.New(all, []around.Placed{{Watcher: w, Name: "watcher"}})
	if err != nil {
		t.Fatal(err)
	}
	op := intercept.Op{Kind: intercept.Start, Name: "pay"}
	if !alone {
		return chain.Do(t.Context(), &op, func(context.Context) error { return do() })
	}
	_, err = around.Watched(t.Context(), chain.Watcher(intercept.Start), op, func(_ context.Context, p around.Parent) (int, error) {
		w.tell("inside of " + p.Trace + " " + p.State)
		return 0, do()
	})
	return err
}

// TestE112_WatchersAreTold: a watcher is told of what it stands around, alone and outside of an
// interceptor, and how it ended; its own panic is an error with its name, and one that it
// stands around goes on.
func TestE112_WatchersAreTold(t *testing.T) {
	refused := errors.New("refused")
	for _, alone := range []bool{true, false} {
		for _, c := range []struct {
			panics string
			do     func() error
			want   string
			told   []string
		}{
			{"", func() error { return nil }, "<nil>", []string{"begins", "inside of parent state", "pay ends: <nil>, true"}},
			{"", func() error { return refused }, "refused", []string{"begins", "inside of parent state", "pay ends: refused, true"}},
			{"begins", func() error { return nil }, `interceptor "watcher" around start "pay" panicked: panic: oh`, []string{"begins"}},
			{"ends", func() error { return nil }, `interceptor "watcher" around start "pay" panicked: panic: oh`, []string{"begins", "inside of parent state", "pay ends: <nil>, true"}},
			{"", func() error { panic("no card") }, "panic: no card", []string{"begins", "inside of parent state", "pay ends: <nil>, false"}},
		} {
			w := &watcher{panics: c.panics}
			got := func() (text string) {
				defer func() {
					if v := recover(); v != nil {
						text = fmt.Sprint("panic: ", v)
					}
				}()
				return fmt.Sprint(does(t, w, alone, c.do))
			}()
			if got != c.want || !slices.Equal(w.told, c.told) {
				t.Errorf("alone: %v: it comes to %q, want %q; the watcher was told %q, want %q", alone, got, c.want, w.told, c.told)
			}
		}
	}
}

// TestF51_IdleWatchersStandAside: around the attempts of a run for which a watcher is idle stand
// the others only, in their order, and their bodies find the values that it gives.
func TestF51_IdleWatchersStandAside(t *testing.T) {
	note := func(name string) intercept.Interceptor {
		return intercept.New(name, func(ctx context.Context, _ *intercept.Op, next intercept.Next) error { return next(ctx) }, intercept.Attempt)
	}
	chain, err := around.New([]intercept.Interceptor{note("first"), note("last")}, []around.Placed{{Watcher: &watcher{}, Name: "watcher", At: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range map[string]string{"idle": "first last", "busy": "first watcher last"} {
		a := chain.OfRun(&history.Start{Run: run})
		if got := a.String(); got != want || (a.Values != nil) != (run == "idle") {
			t.Errorf("around attempts of the run %s stand %s, with values %v; want %s", run, got, a.Values, want)
		}
	}
	alone, err := around.New(nil, []around.Placed{{Watcher: &watcher{}, Name: "watcher"}})
	if err != nil {
		t.Fatal(err)
	}
	if a := alone.OfRun(&history.Start{Run: "idle"}); a.Any() {
		t.Errorf("around attempts of an idle run stands %s", a.String())
	}
}
