package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/internal/kill"
	"github.com/perdure/perdure/perduretest"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// ask makes a request and returns what came back, as one line.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(resp.Status[:3] + " " + strings.TrimSpace(string(text)))
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// A claim is submitted to one process, decided at the next, after kill -9, and its
// result read from a third, after a SIGTERM.
func TestAClaimOutlivesItsProcesses(t *testing.T) {
	db := filepath.Join(t.TempDir(), "web.db")
	life := func() (*kill.Process, string) {
		p := kill.Start(t, "-addr", "localhost:0", "-db", db)
		return p, p.Says(t, "listening on ")
	}
	const lunch = `{"who":"ada","what":"lunch","cents":1200}`
	first, url := life()
	expect(t, ask(t, "GET", url+"/readyz", ""), "200")
	expect(t, ask(t, "PUT", url+"/expenses/lunch", "lunch"), "400 the body is no claim: invalid character 'l' looking for beginning of value")
	expect(t, ask(t, "PUT", url+"/expenses/lunch", lunch), `202 {"status":"accepted"}`)
	expect(t, ask(t, "PUT", url+"/expenses/lunch", lunch), `200 {"status":"known"}`)
	if got := ask(t, "GET", url+"/expenses/dinner", ""); !strings.HasPrefix(got, "404 ") {
		t.Errorf("a claim that nobody made: %s", got)
	}
	first.Kill()

	second, url := life()
	expect(t, ask(t, "GET", url+"/expenses/lunch", ""), `200 {"progress":"waiting for a decision","status":"running"}`)
	expect(t, ask(t, "POST", url+"/expenses/lunch/decision", `{"approved":true,"by":"grace"}`), "202")
	if got := ask(t, "GET", url+"/expenses/lunch/result", ""); !strings.HasPrefix(got, `200 {"paid":true,"payment":"payment-`) {
		t.Errorf("the result is %s", got)
	}
	second.Terminate(t)
	second.Output(t)

	_, url = life()
	expect(t, ask(t, "GET", url+"/expenses/lunch", ""), `200 {"status":"completed"}`)
	if got := ask(t, "POST", url+"/expenses/lunch/decision", `{"approved":false,"by":"grace"}`); !strings.HasPrefix(got, "409 ") {
		t.Errorf("a decision too late: %s", got)
	}
}

// A month passes without a decision. A declined claim is not paid.
func TestWhatIsNotPaid(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(Expense, Pay)
		s, err := perduretest.Run(env, Expense, "lunch", Claim{"ada", "lunch", 1200})
		if s != (Settlement{Why: "no decision within 30 days"}) || err != nil {
			t.Errorf("without a decision: %+v, %v", s, err)
		}
		h, err := perduretest.Start(env, Expense, "dinner", Claim{"ada", "dinner", 9900})
		if err != nil {
			t.Fatal(err)
		}
		if err := Decide.Send(t.Context(), h, Decision{By: "grace"}); err != nil {
			t.Fatal(err)
		}
		if s, err := h.Result(); s != (Settlement{Why: "declined by grace"}) || err != nil {
			t.Errorf("declined: %+v, %v", s, err)
		}
		env.ExpectCalls("dinner")
	})
}

// The probes and the errors of requests while the database is away. In virtual time an
// idle engine reads the database once an hour, so the outage takes several.
func TestTheDatabaseIsAway(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(Expense, Pay)
		web := server{env.Engine()}.routes()
		status := func(path string) int {
			w := httptest.NewRecorder()
			web.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Code
		}
		env.Outage(5 * time.Hour)
		time.Sleep(2 * time.Hour) // in virtual time
		if live, ready := status("/livez"), status("/readyz"); live != 200 || ready != 503 {
			t.Errorf("in the outage livez is %d, readyz %d; want 200 and 503", live, ready)
		}
		if got := status("/expenses/lunch"); got != 503 {
			t.Errorf("in the outage a request gets %d, want 503", got)
		}
		time.Sleep(4 * time.Hour)
		if live, ready := status("/livez"), status("/readyz"); live != 200 || ready != 200 {
			t.Errorf("after the outage livez is %d, readyz %d", live, ready)
		}
	})
}
