package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// asCommand lets the test binary be the command, with these arguments, one a line.
const asCommand = "PERDURE_TEST_AS_COMMAND"

// beCommand runs the command instead of the tests. It never returns from writing the
// result: what kills it then kills it between the end on record and its own.
func beCommand(args string) int {
	return Run(context.Background(), Env{
		Args: strings.Split(args, "\n"), Stdin: os.Stdin, Stdout: stuck{}, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	})
}

type stuck struct{}

func (stuck) Write(p []byte) (int, error) {
	fmt.Println("stuck") // for the parent
	select {}
}

// TestW14_TheSameCommandDoesNothingTwice: not after it was killed when the end of the
// run was on record, not with --id and not without; --again is a new run.
func TestW14_TheSameCommandDoesNothingTwice(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1) }))
	defer server.Close()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("job.flow", []byte("@http.post(url=\""+server.URL+"\")\nreturn \"done\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, extra := range [][]string{nil, {"--id", "tonight"}} {
		requests.Store(0)
		args := append([]string{"flow", "run", "job.flow", "--db", filepath.Join(t.TempDir(), "x.db")}, extra...)
		killStuck(t, args)
		for range 2 {
			var out, news bytes.Buffer
			code := Run(t.Context(), Env{Args: args, Stdout: &out, Stderr: &news, Getenv: os.Getenv, Now: time.Now})
			if code != 0 || out.String() != "\"done\"\n" || requests.Load() != 1 || !strings.Contains(news.String(), "ended on") || strings.Contains(news.String(), "http.post") {
				t.Errorf("%q: exit %d, %d requests, %q, %q", extra, code, requests.Load(), out.String(), news.String())
			}
		}
		var out bytes.Buffer
		if code := Run(t.Context(), Env{Args: append(args, "--again"), Stdout: &out, Stderr: &out, Getenv: os.Getenv, Now: time.Now}); code != 0 || requests.Load() != 2 {
			t.Errorf("%q --again: exit %d, %d requests, %q", extra, code, requests.Load(), out.String())
		}
	}
}

// killStuck runs the command as a process and kills it, by kill -9, when it writes its
// result.
func killStuck(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asCommand+"="+strings.Join(args, "\n"))
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("stuck"))
	if _, err := said.Read(line); err != nil || string(line) != "stuck" {
		t.Errorf("%q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
