package cli

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// fulfilment waits for a parcel and for a letter that no code can write, and lets an
// audit go.
var (
	parcel = workflow.New("parcel", func(wf *workflow.Context, d time.Duration) (string, error) {
		return "delivered", workflow.Sleep(wf, d)
	})
	letter = workflow.Declare[string, string]("letter")

	fulfilment = workflow.New("fulfilment", func(wf *workflow.Context, _ string) (string, error) {
		id := workflow.GetInfo(wf).WorkflowID
		if _, err := workflow.StartDetached(wf, parcel, 24*time.Hour, workflow.ChildID(id+"/audit")); err != nil {
			return "", err
		}
		sent := workflow.RunChildAsync(wf, parcel, time.Hour, workflow.ChildID(id+"/parcel"))
		//perdure:deterministic no process has its code, which is what the test shows
		written := workflow.RunChildAsync(wf, letter, "dear", workflow.ChildID(id+"/letter"), workflow.OnParentClose(workflow.ParentCloseTerminate))
		out, err := sent.Get(wf)
		if err != nil {
			return "", err
		}
		_, err = written.Get(wf)
		return out, err
	})
)

func workOnFamilies(t *testing.T, db store.Opener, d time.Duration) {
	t.Helper()
	engine, err := perdure.Open(t.Context(), db, perdure.Register(fulfilment, parcel),
		perdure.NodeName("node-1"), perdure.Build("v1.2.0"), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err == nil {
		err = engine.Start(t.Context())
	}
	if err == nil {
		_, err = perdure.Start(t.Context(), engine, fulfilment, "order-17", "in")
	}
	time.Sleep(d)
	if err := errors.Join(err, engine.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// TestE40_FamilyScripts: parents and children as the command shows them.
func TestE40_FamilyScripts(t *testing.T) {
	scripts(t, filepath.Join("testdata", "family", "*.txt"), func(t *testing.T, dir, script string) (got string) {
		synctest.Test(t, func(t *testing.T) {
			got = (&player{t: t, dir: dir, db: shopFile(), work: workOnFamilies}).play(script)
		})
		return got
	})
}
