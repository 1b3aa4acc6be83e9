package cli

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE119_MoveRuns shows what would become of runs, moves those of one build, and says which
// build they wait for.
func TestE119_MoveRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		sleep := func(wf *workflow.Context, _ int) (string, error) { return "", workflow.Sleep(wf, 24*time.Hour) }
		pinned, free := workflow.New("pinned", sleep, workflow.Pinned()), workflow.New("free", sleep)
		e, err := perdure.Open(t.Context(), sqlite.File("shop.db"), perdure.Register(pinned, free), perdure.NodeName("node-1"), perdure.Build("v1"), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = e.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close() }()
		for _, w := range []workflow.Workflow[int, string]{pinned, free} {
			for n := range 3 {
				if _, err := perdure.Start(t.Context(), e, w, fmt.Sprintf("%s-%d", w.Name(), n), n); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Second)
		says := func(want string, args ...string) string {
			t.Helper()
			stdout, stderr, _ := call(t, append(args, "--db", "shop.db")...)
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v says\n%s%s, want %s", args, stdout, stderr, want)
			}
			return stdout
		}
		says("v1", "show", "pinned-0")
		says("The build to which workflows move is missing.", "move-runs", "--from", "v1")
		says("The build from which workflows move is missing.", "move-runs", "--to", "v2")
		says("is the same as the source build", "move-runs", "--from", "v1", "--to", "v1")
		says("No workflow was selected.", "move-runs", "--from", "v7", "--to", "v2")
		says("refuses: it stays on no build", "move-runs", "free-0", "--to", "v2", "--dry-run")
		says("3 workflows would be moved", "move-runs", "--from", "v1", "--to", "v2", "--dry-run")
		var plan view.BulkResult
		if err := json.Unmarshal([]byte(says("", "move-runs", "--from", "v1", "--to", "v2", "--dry-run", "-o", "json")), &plan); err != nil || plan.Runs != 3 || plan.Selection == "" {
			t.Fatalf("the plan is %+v, %v", plan, err)
		}
		for _, r := range plan.Records {
			if r.Name != "v2" || !strings.HasSuffix(r.Note, "no node is remembered that has this workflow in build v2: it would wait for one") {
				t.Errorf("of %s: %q", r.WorkflowID, r.Note)
			}
		}
		says("3 moved", "move-runs", "--from", "v1", "--to", "v2", "--reason", "v1 charges twice", "--by", "ann")
		says("It stays on build v2, and no node is remembered that had it.", "show", "pinned-1")
		says("it stays on build v2, which no node is remembered to have had", "status")
		says("it stays on build v2", "list", "--type", "pinned")
		says("v1 charges twice", "audit", "pinned-2")
		says("2 moved", "move-runs", "--ids", "pinned-0,pinned-1", "--from", "v2", "--to", "v1")
		says("running", "show", "pinned-1")
		says("waiting-for-code", "show", "pinned-2")
		says("running", "show", "free-0")
	})
}
