package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/view"
)

// TestF48_TheCommandOperatesOnThoseNamed: and on no other, whether the IDs are in a flag or on
// standard input.
func TestF48_TheCommandOperatesOnThoseNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		serveFor(t, "shop", 10*time.Second)
		for _, id := range []string{"one", "two", "a,b", "three"} {
			if _, stderr, code := call(t, "start", "hold", id, "--db", "shop.db"); code != 0 {
				t.Fatal(stderr)
			}
		}
		dry := func(stdin string, args ...string) []string {
			t.Helper()
			out, stderr, code := callWith(t, stdin, append(args, "--dry-run", "-o", "json", "--db", "shop.db")...)
			var result view.BulkResult
			if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 {
				t.Fatal(out, stderr, code, err)
			}
			var ids []string
			for _, r := range result.Records {
				ids = append(ids, r.WorkflowID)
			}
			slices.Sort(ids)
			return slices.Compact(ids)
		}
		for _, c := range []struct {
			stdin string
			args  []string
			want  []string
		}{
			{"", []string{"pause-run", "--ids", "one,two"}, []string{"one", "two"}},
			{"", []string{"cancel", "--ids", "one", "--ids", `"a,b"`}, []string{"a,b", "one"}},
			{"two\r\n\na,b\n", []string{"terminate", "--ids", "-"}, []string{"a,b", "two"}},
			{"", []string{"signal", "--ids", "one", "go", "1"}, []string{"one"}},
		} {
			if got := dry(c.stdin, c.args...); !slices.Equal(got, c.want) {
				t.Errorf("%v means %v, want %v", c.args, got, c.want)
			}
		}
		for says, args := range map[string][]string{
			"There are both --ids and --all":            {"cancel", "--all", "--ids", "one"},
			"There are both an ID and --ids":            {"cancel", "one", "--ids", "two"},
			"--type selects among all workflows":        {"cancel", "--ids", "one", "--type", "hold"},
			"--selected is for many workflows":          {"cancel", "--ids", "one", "--selected", "x.json"},
			"--call is the number of a call in one":     {"retry-now", "--ids", "one", "--call", "1"},
			"The IDs on standard input are longer than": {"cancel", "--ids", "-"},
		} {
			if _, stderr, code := callWith(t, strings.Repeat("x", 5<<20), append(args, "--db", "shop.db")...); code == 0 || !strings.Contains(stderr, says) {
				t.Errorf("%v: %d %s", args, code, stderr)
			}
		}
		if out, stderr, code := callWith(t, "", "cancel", "--ids", "-", "--db", "shop.db"); code == 0 {
			t.Errorf("no ID at all: %d %s%s", code, out, stderr)
		}
	})
}
