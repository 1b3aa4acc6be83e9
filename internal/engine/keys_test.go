package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestI20_SignalsThatLookAlikeAllArrive: names and IDs of which one is part of the other,
// and the longest there are. All are acknowledged while nobody reads the inbox.
func TestI20_SignalsThatLookAlikeAllArrive(t *testing.T) {
	const ends = "a/id/b"
	listener := workflow.New("listener", func(wf *workflow.Context, _ int) (string, error) {
		var read []string
		for _, name := range []string{"a", "a", "a/id", ends, "1:a", strings.Repeat("/", history.MaxName)} {
			v, err := workflow.Receive(wf, workflow.NewSignal[string](name))
			if err != nil {
				return "", err
			}
			read = append(read, v)
		}
		return strings.Join(read, " "), nil
	})
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		e := w.open(w.config(listener))
		id := strings.Repeat("w", history.MaxID)
		begin(t, e, listener, id, 0)
		for i, s := range [][2]string{
			{"a", "b/id/c"}, {ends, "c"}, {"a", "b"}, {"1:a", "b"}, {"a/id", "b"}, {strings.Repeat("/", history.MaxName), strings.Repeat("/", history.MaxID)},
		} {
			signal(t, e, id, s[0], s[1], fmt.Sprint(i))
			signal(t, e, id, s[0], s[1], "the same again")
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if d := describe(t, e, id); d.Status != view.StatusCompleted {
			t.Fatalf("the workflow waits for a signal that was acknowledged: %+v", d.Pending)
		}
		if got, err := finish[string](t, e, id); got != "0 2 4 1 3 5" || err != nil {
			t.Errorf("the workflow has read %q, %v", got, err)
		}
	})
}
