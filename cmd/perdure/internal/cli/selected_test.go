package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/view"
)

// TestF34_TheCommandDoesWhatItsDryRunShowed: what comes after the dry run is left alone.
func TestF34_TheCommandDoesWhatItsDryRunShowed(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		serveFor(t, "shop", 10*time.Second)
		dry, stderr, code := call(t, "pause-run", "--all", "--type", "hold", "--dry-run", "-o", "json", "--db", "shop.db")
		var plan view.BulkResult
		if err := json.Unmarshal([]byte(dry), &plan); err != nil || code != 0 || plan.Runs == 0 {
			t.Fatal(dry, stderr, code, err)
		}
		if err := os.WriteFile("plan.json", []byte(dry), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := call(t, "start", "hold", "later", "--db", "shop.db"); code != 0 {
			t.Fatal(stderr)
		}
		again, stderr, code := call(t, "pause-run", "--all", "--selected", "plan.json", "--dry-run", "-o", "json", "--db", "shop.db")
		var left view.BulkResult
		if err := json.Unmarshal([]byte(again), &left); err != nil || code != 0 || left.Runs != plan.Runs || left.Gone != 0 {
			t.Error(again, stderr, code, err)
		}
		for _, r := range left.Records {
			if r.WorkflowID == "later" {
				t.Error("a workflow that came later is selected")
			}
		}
		for says, args := range map[string][]string{
			"There are both --selected and --type": {"pause-run", "--all", "--selected", "plan.json", "--type", "hold"},
			"--selected is for many workflows":     {"pause-run", "later", "--selected", "plan.json"},
			"cannot be read":                       {"pause-run", "--all", "--selected", "none.json"},
			"was made for pause-run and not for":   {"cancel", "--all", "--selected", "plan.json"},
		} {
			if _, stderr, code := call(t, append(args, "--db", "shop.db")...); code == 0 || !strings.Contains(stderr, says) {
				t.Errorf("%v: %d %s", args, code, stderr)
			}
		}
	})
}
