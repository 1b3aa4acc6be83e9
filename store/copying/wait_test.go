package copying_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/store/copying"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestG2_WhoStandsAtAGateIsNotImported: a run that has a place at a gate, or waits for one there, and
// one that is bounded by perdure.PerKey, would wait for ever beside a gate that does not know it.
func TestG2_WhoStandsAtAGateIsNotImported(t *testing.T) {
	ctx := t.Context()
	body := activity.New("body", func(ctx context.Context, _ int) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	job := workflow.New("job", func(wf *workflow.Context, gated bool) (int, error) {
		if gated {
			return workflow.Call(wf, body, 0, activity.Through(gate.New("one", 1)))
		}
		return workflow.Call(wf, body, 0)
	})
	from := memory.New()
	e := started(t, from, perdure.Register(job, body), perdure.PerKey(1))
	for id, gated := range map[string]bool{"g1": true, "g2": true, "k1": false, "k2": false} {
		var options []perdure.StartOption
		if !gated {
			options = append(options, workflow.Key("k"))
		}
		if _, err := perdure.Start(ctx, e, job, id, gated, options...); err != nil {
			t.Fatal(err)
		}
	}
	var runs []view.Run
	for waiting := 0; waiting < 2; time.Sleep(10 * time.Millisecond) {
		var err error
		if runs, err = e.List(ctx, view.Filter{Waits: true}); err != nil || len(runs) != 4 {
			t.Fatal(runs, err)
		}
		waiting = 0
		for _, r := range runs {
			if r.Wait != nil && r.Wait.For == view.WaitGate {
				waiting++
			}
		}
	}
	e.Close()
	db, err := from.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	to, err := sqlite.File(filepath.Join(t.TempDir(), "lab.db")).Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for _, r := range runs {
		rows, err := copying.Read(ctx, db, "", r.WorkflowID, r.RunID)
		if err != nil {
			t.Fatal(err)
		}
		file := &bytes.Buffer{}
		if err := copying.Write(file, rows, false); err != nil {
			t.Fatal(err)
		}
		all, err := copying.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := copying.Import(ctx, to, "runs.jsonl", all, 1); err == nil || !strings.Contains(err.Error(), r.RunID) || !strings.Contains(err.Error(), "has a place at a gate") {
			t.Errorf("%s: %v", r.WorkflowID, err)
		}
	}
	if seal, err := to.Sealed(ctx); err != nil || seal.Closed() {
		t.Errorf("the database is closed: %+v, %v", seal, err)
	}
}
