package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestE87_ARunThatIsAtWorkIsTriedAgainToo: the workflow of two runs is held as a whole, and a person
// lets one of them go. The other is tried again as well, although a turn of it waits for the
// transaction of another client at that moment.
func TestE87_ARunThatIsAtWorkIsTriedAgainToo(t *testing.T) {
	order := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) { return workflow.Receive(wf, poke) })
	inVirtualTime(t, func(t *testing.T, w *world) {
		db := blockTurns(w)
		config := w.config(order)
		config.Build = "1"
		e := w.startWith(config)
		ids := []string{"a", "b"}
		runs := map[string]string{}
		for _, id := range ids {
			runs[id] = begin(t, e, order, id, 0)
		}
		settle()
		stop(t, e)
		log, err := db.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Switch(t.Context(), store.Switch{
			Kind: store.SwitchWorkflow, Name: store.CrashName("order", "1"), Off: true, Request: "died a on node", Why: "its code ended its process",
		}); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		e = w.startWith(config)
		for _, id := range ids {
			signal(t, e, id, poke.Name(), "", "for "+id)
			pass(time.Second)
			same(t, "run "+id, describe(t, e, id).Status, "parked")
		}
		db.block(runs["b"])
		signal(t, e, "b", poke.Name(), "", "again")
		pass(time.Second)
		control(t, e, "a", core.Control{Operation: core.ResumeTheRun})
		if got, err := finish[string](t, e, "a"); got != "for a" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		pass(time.Second)
		db.release()
		pass(time.Minute)
		if d := describe(t, e, "b"); d.Status != "completed" {
			t.Errorf("the other is %s: %s", d.Status, d.Reason)
		}
	})
}
