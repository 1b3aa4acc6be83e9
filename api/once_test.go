package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// lose sends a request whose answer is lost: the server carries it out, and the line is cut
// before a byte of the answer is sent.
func lose(t *testing.T, e *perdure.Engine, path, body, key string) {
	t.Helper()
	rules := webtest.Rules()
	rules.Hosts = nil
	h, err := api.Handler(e, rules)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		into := httptest.NewRecorder()
		h.ServeHTTP(into, r)
		done <- into.Code
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+webtest.OperatorSecret)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	server.Client().Transport.(*http.Transport).DisableKeepAlives = true // Go repeats requests with a key on lines that were used
	if res, err := server.Client().Do(r); err == nil {
		res.Body.Close()
		t.Fatalf("an answer that was to be lost: %d", res.StatusCode)
	}
	if status := <-done; status != http.StatusOK {
		t.Fatalf("%s: %d", path, status)
	}
}

// TestF39_ATriggerWhoseAnswerIsLost: with the same key a schedule fires once and the answer
// is the same, whether an engine has obeyed meanwhile, or has not, or is another one.
func TestF39_ATriggerWhoseAnswerIsLost(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		tick := workflow.New("tick", func(*workflow.Context, int) (int, error) { return 1, nil })
		c, e, end := serveOn(t, db, perdure.Register(tick))
		const path = "/api/schedules/nightly"
		c.want(200, "PUT", path, object{"workflow": "tick", "input": 1, "spec": object{"cron": "0 3 1 1 *", "overlap": "allow_all"}})
		fires := func(c *client, n float64) answer {
			return c.until(path, func(a answer) bool { return a.Body["started"] == n && count(a.Body, "open") == 0 })
		}
		lose(t, e, path+"/trigger", `{"why": "the night was short"}`, "k1")
		fires(c, 1)
		again := c.want(200, "POST", path+"/trigger", object{}, "Idempotency-Key", "k1")
		same := c.want(200, "POST", path+"/trigger", object{}, "Idempotency-Key", "k1")
		if id := again.Body["workflow_id"]; id == nil || id != same.Body["workflow_id"] {
			t.Errorf("%s %s", again.Raw, same.Raw)
		}
		if a := c.want(200, "GET", "/api/runs/"+strings.ReplaceAll(again.Body["workflow_id"].(string), "/", "%2F")+"/result", nil); a.Body["status"] != "completed" {
			t.Errorf("%s", a.Raw)
		}
		const past = `{"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}`
		lose(t, e, path+"/backfill", past, "b1")
		fires(c, 2)
		if a := c.want(200, "POST", path+"/backfill", past, "Idempotency-Key", "b1"); a.Body["times"] != 1.0 {
			t.Errorf("%s", a.Raw)
		}
		end()

		// No engine serves: both requests are in the inbox.
		idle, err := perdure.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		lose(t, idle, path+"/trigger", `{}`, "k2")
		lose(t, idle, path+"/trigger", `{}`, "k2")
		lose(t, idle, path+"/trigger", `{}`, "k1")
		if err := idle.Close(); err != nil {
			t.Fatal(err)
		}
		c, _, _ = serveOn(t, db, perdure.Register(tick))
		c.want(200, "POST", path+"/trigger", object{}) // without a key each one counts, and comes last
		c.want(200, "POST", path+"/trigger", object{})
		a := fires(c, 5)
		if n := count(a.Body, "recent"); n != 5 {
			t.Errorf("%d fires: %s", n, a.Raw)
		}
		if a := c.want(404, "POST", "/api/schedules/none/trigger", object{}, "Idempotency-Key", "k1"); a.Body["code"] != "not-found" {
			t.Errorf("%s", a.Raw)
		}
	})
}

// TestF39_AGateChangeWhoseAnswerIsLost: sent again it does not undo what came after it.
func TestF39_AGateChangeWhoseAnswerIsLost(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		door := gate.New("door", 4, gate.WithBreaker(gate.Breaker{Failures: 3, Cooldown: time.Hour}))
		call := activity.New("call", func(context.Context, string) (string, error) { return "", errors.New("no") }, activity.Through(door))
		flow := workflow.New("through", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, call, in) })
		c, e, _ := serveOn(t, db, perdure.Register(flow, call))
		c.want(201, "POST", "/api/runs", object{"workflow": "through", "workflow_id": "a", "input": "x"})
		const path = "/api/gates/door"
		limit := func(n float64) func(answer) bool {
			return func(a answer) bool { return at(a.Body, "limit") == n }
		}
		c.until(path, limit(4))
		lose(t, e, path+"/edit", `{"limit": 2}`, "e1")
		c.until(path, limit(2))
		c.want(200, "POST", path+"/edit", object{"limit": 7}, "Idempotency-Key", "e2")
		c.until(path, limit(7))
		if a := c.want(200, "POST", path+"/edit", object{"limit": 2}, "Idempotency-Key", "e1"); a.Body["outcome"] != "applied" {
			t.Errorf("%s", a.Raw)
		}
		c.want(200, "POST", path+"/edit", object{"rate": object{"per_second": 100}}, "Idempotency-Key", "e3") // comes after all
		a := c.until(path, func(a answer) bool { return at(a.Body, "spec", "rate") != nil })
		if !limit(7)(a) {
			t.Errorf("an edit that was sent again: %s", a.Raw)
		}
		if count(a.Body, "log") != 3 || at(a.Body, "log", 2, "request") != "e1" {
			t.Errorf("the log: %s", a.Raw)
		}
	})
}

// TestF39_APauseWhoseAnswerIsLost: a pause, a resume or a deletion that is sent again under its key does
// not undo what came after it, on gates and schedules alike.
func TestF39_APauseWhoseAnswerIsLost(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		door := gate.New("door", 4)
		call := activity.New("call", func(context.Context, string) (string, error) { return "done", nil }, activity.Through(door))
		flow := workflow.New("through", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, call, in) })
		c, e, _ := serveOn(t, db, perdure.Register(flow, call))
		c.want(201, "POST", "/api/runs", object{"workflow": "through", "workflow_id": "a", "input": "x"})
		c.want(200, "GET", "/api/runs/a/result", nil)
		nightly := object{"workflow": "through", "input": "x", "spec": object{"cron": "0 3 1 1 *"}}
		c.want(200, "PUT", "/api/schedules/nightly", nightly)
		paused := func(path string, is bool) {
			t.Helper()
			c.until(path, func(a answer) bool { return (a.Body["paused"] != nil) == is })
		}
		for _, path := range []string{"/api/gates/door", "/api/schedules/nightly"} {
			lose(t, e, path+"/pause", `{"why": "too much"}`, "p1")
			paused(path, true)
			lose(t, e, path+"/resume", `{}`, "r1")
			paused(path, false)
			if a := c.want(200, "POST", path+"/pause", object{"why": "too much"}, "Idempotency-Key", "p1"); a.Body["operation"] != "pause" {
				t.Errorf("%s", a.Raw)
			}
			c.want(200, "POST", path+"/pause", object{}, "Idempotency-Key", "p2")
			paused(path, true)
			c.want(200, "POST", path+"/resume", object{}, "Idempotency-Key", "r1")
			c.want(200, "POST", path+"/pause", object{"why": "the last"}, "Idempotency-Key", "p3") // comes after all
			a := c.until(path, func(a answer) bool { return at(a.Body, "log", 0, "request") == "p3" })
			var log []string
			for i := range count(a.Body, "log") {
				if key, is := at(a.Body, "log", i, "request").(string); is {
					log = append(log, key)
				}
			}
			if got := strings.Join(log, " "); got != "p3 p2 r1 p1" || a.Body["paused"] == nil {
				t.Errorf("the log of %s has %s: %s", path, got, a.Raw)
			}
		}

		// A schedule that was deleted, made again and is told once more of the deletion.
		remove := func() answer {
			t.Helper()
			return c.want(200, "DELETE", "/api/schedules/nightly", nil, "Idempotency-Key", "d1")
		}
		remove()
		gone := func() bool { return c.ask("GET", "/api/schedules/nightly", nil).Status == http.StatusNotFound }
		for !gone() {
		}
		remove() // the answer of then, and no 404
		c.want(404, "DELETE", "/api/schedules/nightly", nil, "Idempotency-Key", "d2")
		c.want(200, "PUT", "/api/schedules/nightly", nightly)
		for gone() {
		}
		remove()
		c.want(200, "POST", "/api/schedules/nightly/pause", object{}, "Idempotency-Key", "p4") // comes after it
		paused("/api/schedules/nightly", true)
		if gone() {
			t.Error("a deletion that was sent again deleted the schedule that was made since")
		}
	})
}

// TestF40_AKeyBelongsToOneOperation: an operation on a run under the key of another one is
// refused, and is not answered as if it had been done; the same one is answered as then.
func TestF40_AKeyBelongsToOneOperation(t *testing.T) {
	c, _ := serve(t, true)
	c.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": "a", "input": order{"grinder"}})
	operate := func(status int, address string, body object) object {
		t.Helper()
		return c.want(status, "POST", address, body, "Idempotency-Key", "k").Body
	}
	const one, many = "/api/runs/a/operations", "/api/operations"
	first := operate(200, one, object{"operation": "signal", "signal": "x"})
	for _, other := range []object{{"operation": "terminate"}, {"operation": "pause-run"}, {"operation": "signal", "signal": "y"}, {"operation": "retry-now"}} {
		for _, address := range []string{one, many} { // in this order: runs belongs to many alone
			if address == many && other["operation"] == "retry-now" {
				continue // no call is pending, so nothing is asked
			}
			if address == many {
				other["runs"] = object{}
			}
			if p := operate(400, address, other); p["code"] != "bad-request" || !strings.Contains(fmt.Sprint(p["detail"]), `"k" was used for signal x on workflow "a", so nothing is done`) {
				t.Errorf("%v: %v", other, p)
			}
		}
	}
	if again := operate(200, one, object{"operation": "signal", "signal": "x"}); !reflect.DeepEqual(again, first) {
		t.Errorf("the same again: %v, then %v", first, again)
	}
	if a := c.want(200, "GET", "/api/runs/a", nil); a.Body["status"] != "running" {
		t.Errorf("the run is %v", a.Body["status"])
	}
}

// away is a store that cannot be read while it is away.
type away struct {
	store.Store
	opener store.Opener
	away   atomic.Bool
}

func (a *away) Open(ctx context.Context) (store.Store, error) {
	db, err := a.opener.Open(ctx)
	a.Store = db
	return a, err
}

func (a *away) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	if a.away.Load() {
		return nil, &store.UnavailableError{Op: "List", Err: errors.New("the disk is gone")}
	}
	return a.Store.List(ctx, filter)
}

// TestF49_ARequestThatFailedTellsItsKey: one that brought no key can be sent again all the same,
// and is not obeyed twice.
func TestF49_ARequestThatFailedTellsItsKey(t *testing.T) {
	db := &away{opener: memory.New()}
	hold := workflow.New("hold", func(wf *workflow.Context, _ int) (int, error) { return 1, workflow.Sleep(wf, time.Hour) })
	c, _, _ := serveOn(t, db, perdure.Register(hold))
	c.want(201, "POST", "/api/runs", object{"workflow": "hold", "workflow_id": "one", "input": 1})
	pause := object{"operation": "pause-run", "runs": object{"workflow": "hold"}, "wait": "20s"}
	db.away.Store(true)
	failed := c.want(503, "POST", "/api/operations", pause)
	key, _ := failed.Body["request"].(string)
	if next, _ := failed.Body["next"].(string); key == "" || !strings.Contains(next, "Idempotency-Key: "+key) {
		t.Fatalf("%s", failed.Raw)
	}
	db.away.Store(false)
	for _, what := range []string{"again", "once more, after it was resumed"} {
		if a := c.want(200, "POST", "/api/operations", pause, "Idempotency-Key", key); a.Body["applied"] != 1.0 || a.Body["request"] != key {
			t.Errorf("%s: %s", what, a.Raw)
		}
		c.want(200, "POST", "/api/runs/one/operations", object{"operation": "resume-run", "wait": "20s"})
	}
	if a := c.want(200, "GET", "/api/runs/one", nil); a.Body["status"] != "running" {
		t.Errorf("it is paused by a request that was obeyed before: %s", a.Raw)
	}
	if a := c.want(400, "POST", "/api/operations", object{"operation": "none"}); a.Body["request"] != nil {
		t.Errorf("a request that is wrong: %s", a.Raw)
	}
}
