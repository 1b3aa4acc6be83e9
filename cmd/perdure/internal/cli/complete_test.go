package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestF2_ShellsCanCompleteNames: activities, types of workflows and errors, gates and
// schedules are offered wherever they are named.
func TestF2_ShellsCanCompleteNames(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		serveFor(t, "shop", 10*time.Second)
		for _, c := range []struct {
			words string
			want  string
		}{
			{"list --type b", "buy"}, {"attempts --type b", "buy"}, {"pause --activity r", "reserve"},
			{"attempts --activity r", "reserve"}, {"start b", "buy"}, {"list --error-type ", "Unavailable"},
		} {
			args := append([]string{"__complete", "--db", "shop.db"}, strings.Split(c.words, " ")...)
			stdout, stderr, code := call(t, args...)
			offers := strings.Split(stdout, "\n")
			if code != 0 || !strings.HasPrefix(offers[0], c.want) {
				t.Errorf("%q is completed to %q (%d, %s), want %s", c.words, stdout, code, stderr, c.want)
			}
		}
	})
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		serveFor(t, "gates", time.Second)
		if _, stderr, code := call(t, "schedules", "create", "nightly", "sweep", "--cron", "0 3 * * *", "--db", "shop.db"); code != 0 {
			t.Fatal(stderr)
		}
		for words, want := range map[string]string{"gates pause f": "fuse\n", "gates resume t": "till\n", "schedules trigger n": "nightly\tsweep\n", "schedules delete n": "nightly\tsweep\n"} {
			stdout, stderr, code := call(t, append([]string{"__complete", "--db", "shop.db"}, strings.Split(words, " ")...)...)
			if code != 0 || !strings.HasPrefix(stdout, want) || strings.Count(stdout, "\n") != 2 {
				t.Errorf("%q is completed to %q (%d, %s), want %q", words, stdout, code, stderr, want)
			}
		}
	})
}
