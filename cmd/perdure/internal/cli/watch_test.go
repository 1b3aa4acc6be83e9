package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestF11_WatchingEndsByAnInterrupt: the status is shown again and again until it is
// interrupted, and that is no error.
func TestF11_WatchingEndsByAnInterrupt(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		serveFor(t, "shop", time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		var stdout, stderr bytes.Buffer
		code := Run(ctx, Env{
			Args: []string{"status", "--watch", "--db", "shop.db"}, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			Getenv: func(string) string { return "" }, Now: time.Now,
		})
		if n := strings.Count(stdout.String(), "WAITS FOR"); code != exitOK || n != 5 || stderr.Len() > 0 {
			t.Errorf("exit code %d, shown %d times\n%s%s", code, n, stdout.String(), stderr.String())
		}
		if !strings.Contains(stdout.String(), "No node serves this database. Work waits until an engine starts.") {
			t.Error("it does not say that no node serves")
		}
	})
}
