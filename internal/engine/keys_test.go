package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
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

// TestI20_MessagesUnderOldKeysAreRead: an inbox holds what an earlier version has
// written, under keys without lengths. Each counts, and is known when it comes again under
// its new key.
func TestI20_MessagesUnderOldKeysAreRead(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		reader := workflow.New("reader", func(wf *workflow.Context, _ int) (string, error) {
			var read []string
			for {
				v, err := workflow.Receive(wf, poke)
				if err != nil {
					return strings.Join(read, " "), nil
				}
				read = append(read, v)
			}
		})
		e := w.start(d.flow, d.activity, reader)
		asked := begin(t, e, d.flow, "asked", 0)
		run := begin(t, e, reader, "reads", 0)
		stops := begin(t, e, reader, "stops", 0)
		begin(t, e, reader, "ends", 0)
		pass(time.Second)
		w.kill(e)
		s, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		type data = map[string]any
		old := func(workflowID, run, kind, key string, d any) {
			t.Helper()
			data, err := json.Marshal(d)
			err = errors.Join(err, s.Post(t.Context(), store.Message{WorkflowID: workflowID, Run: run, Kind: kind, Key: key, Data: data}))
			if err != nil {
				t.Fatal(err)
			}
		}
		value := func(v any) history.Payload {
			p, err := history.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		old("reads", "", "signal", "signal/poke/id/1", data{"name": "poke", "id": "1", "value": value("one")})
		old("reads", "", "signal", "signal/poke/once/5f0c", data{"name": "poke", "value": value("two")})
		old("reads", run, "control", "control/stop", data{"control": data{"id": "stop", "operation": "pause-run", "by": "ann"}})
		old("stops", "", "cancel", "cancel/run", data{"reason": "late", "by": "ann", "chain": stops})
		old("stops", "", "terminate", "terminate/chain", data{"reason": "not this one", "chain": "another"})
		old("ends", "", "terminate", "terminate/run", data{"reason": "enough", "by": "bob"})
		old("asked", asked, message.KindAttempt, "attempt/1.1/end", message.Data{Call: 1, Attempt: 1, Outcome: core.Completed, Value: value("old")})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		e = w.open(w.config(d.flow, d.activity, reader))
		signal(t, e, "reads", "poke", "1", "one again")
		isError(t, say(t, e, d.token(t, "asked", 1), "new"), nil)
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if found := describe(t, e, "reads"); found.Paused == nil || found.Paused.By != "ann" {
			t.Errorf("the run is not paused: %+v", found)
		}
		_, err = e.Control(t.Context(), "reads", "", core.Control{Operation: core.ResumeTheRun})
		isError(t, err, nil)
		_, err = e.Control(t.Context(), "reads", "", core.Control{Operation: core.CancelTheRun})
		isError(t, err, nil)
		if got, err := finish[string](t, e, "reads"); got != "one two" || err != nil {
			t.Errorf("the workflow has read %q, %v", got, err)
		}
		if got, err := finish[string](t, e, "stops"); got != "" || err != nil {
			t.Errorf("the canceled workflow returned %q, %v", got, err)
		}
		if ended := describe(t, e, "ends"); ended.Status != "terminated" || ended.Reason != "enough" {
			t.Errorf("the terminated run is %+v", ended)
		}
		if got, err := finish[string](t, e, "asked"); got != "old" || err != nil {
			t.Errorf("the attempt ended with %q, %v", got, err)
		}
	})
}
