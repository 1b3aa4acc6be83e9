package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// refused asks for something that is refused with a status and a code.
func (c *client) refused(status int, code, method, path string, body any) {
	c.t.Helper()
	if a := c.want(status, method, path, body); a.Body["code"] != code {
		c.t.Errorf("%s %s: %s, want the code %s", method, path, a.Raw, code)
	}
}

// TestF9_AStartIsLikeAnother: with its input and settings; a dry run starts nothing; a run of another
// workflow is not told from one that there is not.
func TestF9_AStartIsLikeAnother(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		c, _, _ := serveOn(t, db, perdure.Register(checkout))
		c.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": "a", "input": order{"grinder"}, "memo": "m", "key": "ann", "priority": 3, "attributes": object{"city": "Paris"}})
		like := object{"workflow": "checkout", "workflow_id": "b", "like": "a", "key": "bob", "dry_run": true}
		if a := c.want(200, "POST", "/api/runs", like); a.Body["dry_run"] != true || a.Body["run_id"] != "" {
			t.Errorf("the dry run says %s", a.Raw)
		}
		c.refused(404, "not-found", "GET", "/api/runs/b", nil)
		like["dry_run"] = false
		c.want(201, "POST", "/api/runs", like)
		b := c.want(200, "GET", "/api/runs/b", nil)
		for name, want := range map[string]any{"key": "bob", "priority": 3.0} {
			if b.Body[name] != want {
				t.Errorf("the %s is %v in %s", name, b.Body[name], b.Raw)
			}
		}
		for _, part := range []string{`"grinder"`, `"city":"Paris"`, `"memo":{"json":"m"}`} {
			if !strings.Contains(string(b.Raw), part) {
				t.Errorf("it has no %s: %s", part, b.Raw)
			}
		}
		none := c.want(400, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": "c", "like": "nobody"}).Body["detail"]
		other := c.want(400, "POST", "/api/runs", object{"workflow": "other", "workflow_id": "c", "like": "a"}).Body["detail"]
		if fmt.Sprint(none) != strings.NewReplacer(`"a"`, `"nobody"`, "other", "checkout").Replace(fmt.Sprint(other)) {
			t.Errorf("%v\n%v", none, other)
		}
	})
}

// TestF40_SchedulesByRequest: a schedule is made, looked at, paused, fired by hand for now
// and for the past, and deleted.
func TestF40_SchedulesByRequest(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		tick := workflow.New("tick", func(*workflow.Context, int) (int, error) { return 1, nil })
		c, _, _ := serveOn(t, db, perdure.Register(tick))
		const path = "/api/schedules/nightly"
		spec := object{"workflow": "tick", "input": 1, "spec": object{"cron": "0 3 1 1 *"}}
		if a := c.want(200, "PUT", path, spec); count(a.Body, "next") != 3 {
			t.Errorf("%s", a.Raw)
		}
		read := c.want(200, "GET", path, nil).Body["set"]
		spec["input"], spec["unchanged_since"] = 2, read
		c.want(200, "PUT", path, spec)
		c.want(200, "PUT", path, spec) // it is so
		spec["input"] = 3
		c.refused(409, "changed", "PUT", path, spec)
		spec["dry_run"] = true
		c.refused(409, "changed", "PUT", path, spec)
		if a := c.want(200, "GET", path, nil); !strings.Contains(string(a.Raw), `"input":{"json":2}`) || a.Body["set"] == read {
			t.Errorf("an edit of what is no more overwrites it: %s", a.Raw)
		}
		c.refused(400, "bad-request", "PUT", path, object{"workflow": "tick", "spec": object{"cron": "whenever"}})
		c.refused(400, "bad-request", "PUT", path, object{"spec": object{"cron": "0 3 1 1 *"}})
		c.want(200, "POST", path+"/pause", object{"why": "holidays"})
		c.until(path, func(a answer) bool { return a.Body["paused"] != nil })
		c.refused(400, "bad-request", "POST", path+"/trigger", object{"overlap": "sometimes"})
		id := c.want(200, "POST", path+"/trigger", object{}).Body["workflow_id"].(string)
		c.until(path, func(a answer) bool { return a.Body["started"] == 1.0 && count(a.Body, "open") == 0 })
		if a := c.want(200, "GET", "/api/runs/"+strings.ReplaceAll(id, "/", "%2F"), nil); a.Body["status"] != "completed" {
			t.Errorf("%s", a.Raw)
		}
		if a := c.want(200, "POST", path+"/backfill", object{"from": "2025-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}); a.Body["times"] != 2.0 {
			t.Errorf("%s", a.Raw)
		}
		c.until(path, func(a answer) bool { return a.Body["started"] == 3.0 && count(a.Body, "open") == 0 })
		c.refused(400, "bad-request", "POST", path+"/backfill", object{"from": "2026-01-02T00:00:00Z", "until": "2025-01-01T00:00:00Z"})
		c.want(200, "POST", path+"/resume", object{})
		c.until(path, func(a answer) bool { return a.Body["paused"] == nil })
		c.want(200, "DELETE", path+"?why=done", nil)
		for c.ask("GET", path, nil).Status != 404 {
		}
		c.refused(404, "not-found", "POST", path+"/trigger", object{})
		c.refused(404, "not-found", "DELETE", path, nil)
	})
}

// TestF40_GatesByRequest: an open breaker is probed and reset, a gate is paused and edited;
// what a gate cannot do is refused.
func TestF40_GatesByRequest(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		door := gate.New("door", 4, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}))
		call := activity.New("call", func(context.Context, string) (string, error) { return "", errors.New("no") },
			activity.Through(door), activity.Retry(retry.Policy{MaxAttempts: 50, Backoff: retry.Fixed(time.Millisecond)}))
		flow := workflow.New("through", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, call, in) })
		c, _, _ := serveOn(t, db, perdure.Register(flow, call))
		c.want(201, "POST", "/api/runs", object{"workflow": "through", "workflow_id": "a", "input": "x"})
		const path = "/api/gates/door"
		open := func(a answer) bool { return a.Body["breaker"] == "open" }
		c.until(path, open)
		attempts := func(n float64) { // have failed; probes are not charged as failures
			t.Helper()
			c.until("/api/runs/a", func(a answer) bool { next, _ := at(a.Body, "pending", 0, "attempt").(float64); return next > n })
		}
		attempts(1)
		if a := c.want(200, "POST", path+"/probe", object{"dry_run": true}); a.Body["dry_run"] != true || a.Body["outcome"] != "applied" {
			t.Errorf("%s", a.Raw)
		}
		c.want(200, "POST", path+"/probe", object{"why": "is it back?"})
		attempts(2)
		c.until(path, open)
		c.want(200, "POST", path+"/reset", object{"breaker": true})
		attempts(3)
		c.want(200, "POST", path+"/pause", object{"why": "the bank asks for it"})
		c.until(path, func(a answer) bool { return a.Body["paused"] != nil })
		c.refused(400, "bad-request", "POST", path+"/probe", object{})
		c.want(200, "POST", path+"/resume", object{})
		c.until(path, func(a answer) bool { return a.Body["paused"] == nil })
		c.want(200, "POST", path+"/edit", object{"limit": 9})
		c.until(path, func(a answer) bool { return a.Body["limit"] == 9.0 })
		c.refused(400, "bad-request", "POST", path+"/edit", object{})
		c.refused(400, "bad-request", "POST", path+"/edit", object{"limit": -1})
		c.refused(400, "bad-request", "POST", path+"/reset", object{})
		if a := c.want(200, "POST", path+"/reset", object{"budget": true}); a.Body["outcome"] != "unchanged" { // it has none
			t.Errorf("%s", a.Raw)
		}
		c.refused(404, "not-found", "POST", "/api/gates/none/edit", object{"limit": 1})
	})
}

// TestF40_RunsByRequest: fork, reset, tokens of external attempts, the doctor and the sweep.
func TestF40_RunsByRequest(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		tokens := make(chan string, 9)
		ask := activity.New("ask", func(ctx context.Context, _ string) (string, error) {
			tokens <- activity.Token(ctx)
			return "", activity.ErrPending
		}, activity.Retry(retry.Policy{MaxAttempts: 3, AttemptTimeout: time.Hour}))
		flow := workflow.New("asks", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, ask, in) })
		c, _, _ := serveOn(t, db, perdure.Register(flow, ask))
		c.want(201, "POST", "/api/runs", object{"workflow": "asks", "workflow_id": "a", "input": "x"})
		token := <-tokens
		c.want(202, "POST", "/api/attempts/heartbeat", object{"token": token, "details": 3})
		c.refused(400, "invalid-token", "POST", "/api/attempts/complete", object{"token": "x" + token, "result": "yes"})
		for range 2 { // an answer was lost
			c.want(202, "POST", "/api/attempts/complete", object{"token": token, "result": "yes"})
		}
		if a := c.want(200, "GET", "/api/runs/a/result", nil); a.Body["result"] != "yes" {
			t.Errorf("%s", a.Raw)
		}
		c.refused(409, "stale-token", "POST", "/api/attempts/fail", object{"token": token, "error": "late"})

		if a := c.want(200, "POST", "/api/runs/a/fork", object{"new_id": "b", "call": 1, "dry_run": true}); a.Body["keeps"] == "" {
			t.Errorf("%s", a.Raw)
		}
		for range 2 {
			c.want(200, "POST", "/api/runs/a/fork", object{"new_id": "b", "call": 1})
		}
		c.want(202, "POST", "/api/attempts/complete", object{"token": <-tokens, "result": "again"})
		if a := c.want(200, "GET", "/api/runs/b/result", nil); a.Body["result"] != "again" {
			t.Errorf("%s", a.Raw)
		}
		c.refused(409, "refused", "POST", "/api/runs/a/fork", object{"new_id": "c", "call": 99})
		c.refused(404, "not-found", "POST", "/api/runs/none/fork", object{"new_id": "c", "call": 1})

		c.want(200, "POST", "/api/runs/b/operations", object{"operation": "reset", "call": 1})
		c.want(202, "POST", "/api/attempts/fail", object{"token": <-tokens, "error": "no", "as": "Refused", "terminal": true})
		if a := c.want(200, "GET", "/api/runs/b/result", nil); a.Body["status"] != "failed" {
			t.Errorf("%s", a.Raw)
		}
		c.refused(400, "bad-request", "POST", "/api/runs/b/operations", object{"operation": "reset"})

		if a := c.want(200, "GET", "/api/doctor", nil); a.Body["runs"].(float64) < 3 {
			t.Errorf("%s", a.Raw)
		}
		c.refused(400, "bad-request", "GET", "/api/doctor?limit=99999", nil)
		c.refused(400, "bad-request", "POST", "/api/sweep", object{})
		if a := c.want(200, "POST", "/api/sweep", object{"completed": "1ns", "dry_run": true}); a.Body["runs"] != 1.0 { // what b was before its reset is kept with b
			t.Errorf("%s", a.Raw)
		}
		c.want(200, "GET", "/api/runs/a", nil)
		if a := c.want(200, "POST", "/api/sweep", object{"completed": "1ns"}); a.Body["runs"] != 1.0 {
			t.Errorf("%s", a.Raw)
		}
		if a := c.want(200, "POST", "/api/sweep", object{"completed": "1ns", "failed": "1ns"}); a.Body["runs"] != 2.0 {
			t.Errorf("%s", a.Raw)
		}
		c.refused(404, "not-found", "GET", "/api/runs/a", nil)
	})
}

// TestF40_WhatIsWrongIsSaidInTheWordsOfTheRequest: an answer names the field and what it has to
// be, or what there is, in place of names of the server's code.
func TestF40_WhatIsWrongIsSaidInTheWordsOfTheRequest(t *testing.T) {
	c, _ := serve(t, false)
	for _, try := range []struct {
		method, path string
		body         any
		want         string
	}{
		{"GET", "/api/runs?status=open", nil, `The status is "open", which is none; use one of: running, `},
		{"GET", "/api/runs?before=yesterday", nil, `The start of the page, "yesterday", is not a run ID`},
		{"PUT", "/api/schedules/x", object{"workflow": "w", "spec": object{"cron": []string{"* * *"}}}, "spec.cron is of the JSON type array and has to be a string."},
		{"POST", "/api/operations", object{"operation": "pause", "wait": 5}, "wait is of the JSON type number and has to be a string."},
		{"POST", "/api/operations", object{"operation": "reset", "call": "2"}, "call is of the JSON type string and has to be a whole number."},
		{"POST", "/api/operations", object{"runs": object{"status": "running"}}, "runs.status is of the JSON type string and has to be an array."},
		{"POST", "/api/operations", object{"calls": "all"}, "calls is of the JSON type string and has to be an object."},
		{"POST", "/api/operations", []int{1}, "the whole is of the JSON type array and has to be an object."},
		{"POST", "/api/operations", object{"dryrun": true}, `The body has no field "dryrun". Did you mean dry_run?`},
		{"POST", "/api/operations", object{"runs": object{"workfow": "x"}}, `The body has no field "workfow". Did you mean workflow?`},
		{"PUT", "/api/schedules/nightly", object{"spec": object{"every": "1h", "jiter": "5m"}}, `The body has no field "jiter". The document at /api/openapi.json has all.`},
		{"POST", "/api/runs", object{"zebra": true}, `The body has no field "zebra". The document at /api/openapi.json has all.`},
		{"POST", "/api/gates/none/pause", object{}, "it is made when the first call comes to it, and forgotten a week after the last."},
		{"POST", "/api/operations", object{"dry_run": "yes"}, "dry_run is of the JSON type string and has to be true or false."},
	} {
		status := 400
		if strings.Contains(try.path, "/none/") {
			status = 404
		}
		if p := c.want(status, try.method, try.path, try.body).Body; !strings.Contains(fmt.Sprint(p["detail"]), try.want) || strings.Contains(fmt.Sprint(p["detail"]), "no such run") {
			t.Errorf("%s %v: %v", try.path, try.body, p["detail"])
		}
	}
}

// TestF40_CallsInQueues: a call that failed and waits in its queue is among those that retry,
// runs are found by it, and operations select it.
func TestF40_CallsInQueues(t *testing.T) {
	db := memory.New()
	fails := activity.Declare[string, string]("fails", activity.Queue("gpu"), activity.Retry(retry.Policy{MaxAttempts: retry.Unlimited, Within: retry.Forever, Backoff: retry.Fixed(time.Millisecond)}))
	body := fails.Impl(func(context.Context, string) (string, error) { return "", errors.New("no") })
	flow := workflow.New("renders", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, fails, in) })
	c, _, _ := serveOn(t, db, perdure.Register(flow))
	worker, err := perdure.Open(t.Context(), db, perdure.NodeName("worker"), perdure.ServeQueue("gpu", 1), perdure.Register(body))
	if err == nil {
		err = worker.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	c.want(201, "POST", "/api/runs", object{"workflow": "renders", "workflow_id": "a", "input": "x"})
	c.until("/api/runs/a", func(a answer) bool { f, _ := at(a.Body, "pending", 0, "failures").(float64); return f > 0 })
	if err := worker.Close(); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"call=offered", "retrying=true"} {
		c.until("/api/runs?"+query, func(a answer) bool { return count(a.Body, "runs") == 1 })
	}
	c.refused(400, "bad-request", "GET", "/api/runs?call=open", nil)
	c.refused(400, "bad-request", "POST", "/api/operations", object{"operation": "pause", "runs": object{"call": "open"}})
	offered := object{"operation": "pause", "runs": object{"call": "offered"}, "calls": object{"states": []string{"offered"}}}
	// What the worker reported last is in the inbox, perhaps: then the offered call fails once
	// more before it stays where it is.
	for t.Context().Err() == nil && c.want(200, "POST", "/api/operations", offered).Body["applied"] != 1.0 {
	}
}

// event is one of a stream.
type event struct {
	id, name string
	data     object
}

// follow opens a stream. The function returns its next event, false at its end.
func (c *client) follow(path, last string) (next func() (event, bool)) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.URL+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := c.server.Client().Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d", path, res.StatusCode)
	}
	lines := bufio.NewScanner(res.Body)
	return func() (ev event, ok bool) {
		for lines.Scan() {
			switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
			case "id":
				ev.id = value
			case "event":
				ev.name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &ev.data); err != nil {
					c.t.Error(err)
				}
			case "":
				if value == "unchanged" || ev.name != "" {
					return ev, true
				}
			}
		}
		return ev, false
	}
}

// TestF40_AStreamTellsAllInOrder: views come in their order, one who comes back with the ID
// of what it has gets no second copy, the stream ends with the run, and another one when
// the engine is closed, so that a server can be shut down.
func TestF40_AStreamTellsAllInOrder(t *testing.T) {
	c, e := serve(t, true)
	c.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": "a", "input": order{"grinder"}})
	c.until("/api/runs/a", func(a answer) bool {
		return at(a.Body, "pending", 0, "kind") == "signal" || count(a.Body, "pending") == 0
	})
	next := c.follow("/api/live/runs/a?every=1s", "")
	first, ok := next()
	if !ok || first.name != "view" || first.data["status"] != "running" {
		t.Fatalf("%+v", first)
	}
	for first.data["closed"] == nil { // until it stands still
		again := c.follow("/api/live/runs/a?every=1s", first.id)
		ev, ok := again()
		if ok && ev.name == "" {
			break // a sign of life, and no copy
		}
		first = ev
	}
	c.want(202, "POST", "/api/runs/a/signals/approved", object{"value": true})
	var last event
	for ev, ok := next(); ok; ev, ok = next() {
		if ev.name == "view" {
			last = ev
		}
	}
	if last.data["status"] != "completed" {
		t.Errorf("the last view: %+v", last)
	}
	c.refused(404, "not-found", "GET", "/api/live/runs/none", nil)
	c.refused(400, "bad-request", "GET", "/api/live/status?every=1ms", nil)

	next = c.follow("/api/live/status?every=1s", "")
	if ev, ok := next(); !ok || ev.name != "view" {
		t.Fatalf("%+v", ev)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	last = event{}
	for ev, ok := next(); ok; ev, ok = next() {
		last = ev
	}
	if last.data["code"] != "stopping" {
		t.Errorf("the end of a stream whose engine stops: %+v", last)
	}
}

// TestF40_AStreamEndsWithTheRights: a stream lasts no longer than what let its caller in, and
// tells why it ends.
func TestF40_AStreamEndsWithTheRights(t *testing.T) {
	e, err := perdure.Open(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	var out atomic.Bool
	h, err := api.Handler(e, access.Rules{Identify: func(*http.Request) access.Identity {
		if out.Load() {
			return access.Identity{}
		}
		return access.Identity{Name: "ann", Role: access.Viewer}
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, server: httptest.NewServer(h)}
	t.Cleanup(c.server.Close)
	next := c.follow("/api/live/runs?every=1s", "")
	if ev, ok := next(); !ok || ev.name != "view" {
		t.Fatalf("%+v", ev)
	}
	out.Store(true)
	var last event
	for ev, ok := next(); ok; ev, ok = next() {
		last = ev
	}
	if last.name != "problem" || last.data["code"] != "no-token" {
		t.Errorf("the end of the stream: %+v", last)
	}
}

// TestF40_AWaitForAResult: a wait ends when its time is over, when its caller goes, and with
// the last run of a chain.
func TestF40_AWaitForAResult(t *testing.T) {
	again := workflow.NewSignal[bool]("again")
	flow := workflow.New("chain", func(wf *workflow.Context, n int) (int, error) {
		if _, err := workflow.Receive(wf, again); err != nil || n == 2 {
			return n, err
		}
		return workflow.ContinueAsNew(wf, workflow.Declare[int, int]("chain"), n+1)
	})
	c, _, _ := serveOn(t, memory.New(), perdure.Register(flow))
	first := c.want(201, "POST", "/api/runs", object{"workflow": "chain", "workflow_id": "a", "input": 0}).Body["run_id"].(string)
	if a := c.want(202, "GET", "/api/runs/a/result?wait=0s", nil); a.Body["closed"] != false {
		t.Errorf("%s", a.Raw)
	}
	c.refused(400, "bad-request", "GET", "/api/runs/a/result?wait=2m", nil)
	c.refused(404, "not-found", "GET", "/api/runs/none/result?wait=0s", nil)

	gone, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(gone, http.MethodGet, c.server.URL+"/api/runs/a/result?wait=1m", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	left := make(chan error, 1)
	go func() {
		res, err := c.server.Client().Do(r)
		if err == nil {
			res.Body.Close()
		}
		left <- err
	}()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("one that goes: %v", err)
	}
	waited := make(chan answer, 1)
	go func() { waited <- c.ask("GET", "/api/runs/a/result?wait=1m&run="+first, nil) }()
	for range 3 {
		for c.ask("POST", "/api/runs/a/signals/again", object{"value": true}).Status != 202 {
		}
	}
	if a := <-waited; a.Status != 200 || a.Body["result"] != 2.0 || a.Body["run_id"] == first {
		t.Errorf("of a chain: %s", a.Raw)
	}
}
