package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// TestE29_CompletionAtAShell: a holder of a token ends an attempt with the database alone
// with the command, while no engine runs.
func TestE29_CompletionAtAShell(t *testing.T) {
	t.Chdir(t.TempDir())
	tokens := make(chan string, 10)
	ask := activity.New("ask", func(ctx context.Context, _ int) (string, error) {
		tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	}, activity.Retry(retry.Policy{
		AttemptTimeout: time.Hour, Backoff: retry.None, NonRetryable: []string{"Declined"},
	}))
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (string, error) { return workflow.Call(wf, ask, n) })
	begin := func() *perdure.Engine {
		e, err := perdure.Open(t.Context(), sqlite.File("desk.db"), perdure.Register(flow, ask))
		if err == nil {
			err = e.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	await := func(e *perdure.Engine, ids ...string) {
		for _, id := range ids {
			for state := ""; state != "external"; time.Sleep(time.Millisecond) {
				d, err := e.Workflow(id).Describe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				state = d.Pending[0].State
			}
		}
	}
	e := begin()
	asked := map[string]string{}
	for _, id := range []string{"yes", "no"} {
		if _, err := perdure.Start(t.Context(), e, flow, id, 1); err != nil {
			t.Fatal(err)
		}
		asked[id] = <-tokens
	}
	await(e, "yes", "no")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		out  string
		code int
	}{
		{[]string{"complete", asked["yes"], "nonsense"}, "The result is not JSON", 2},
		{[]string{"complete", asked["yes"][1:], `"fine"`}, "The token is not of an attempt in this database", 2},
		{[]string{"show", "yes"}, "the attempt times out", 0},
		{[]string{"complete", asked["yes"], `"fine"`}, "Recorded", 0},
		{[]string{"fail-attempt", asked["no"], "the card", "--as", ""}, "The --as is empty", 2},
		{[]string{"fail-attempt", asked["no"], "the card was declined", "--type", "Declined", "-o", "jsonl"}, `{"sent":"fail-attempt"}`, 0},
	} {
		stdout, stderr, code := call(t, append(c.args, "--db", "desk.db")...)
		if code != c.code || !strings.Contains(stdout+stderr, c.out) {
			t.Errorf("%q: exit %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
	e = begin()
	defer e.Close()
	if got, err := perdure.Attach[string](e, "yes").Result(t.Context()); got != "fine" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := perdure.Attach[string](e, "no").Result(t.Context()); err == nil || !strings.Contains(err.Error(), "Declined is not retried") {
		t.Error(err)
	}
	_, stderr, code := call(t, "complete", asked["no"], "1", "--db", "desk.db")
	if code != 1 || !strings.Contains(stderr, "The attempt is over: it has the outcome failed.") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
