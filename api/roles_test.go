package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// TestF8_WhatStartersAndWorkersReach: the addresses that a role for programs reaches are these,
// whatever the table says of others.
func TestF8_WhatStartersAndWorkersReach(t *testing.T) {
	want := map[access.Role][]string{
		access.Starter: {"awaitResult", "describeRun", "signalRun", "startRun", "whoami"},
		access.Worker:  {"completeAttempt", "failAttempt", "heartbeatAttempt", "whoami"},
	}
	for role, names := range want {
		var got []string
		for _, r := range api.Routes(nil) {
			if r.Role != "" && r.Admits(role) {
				got = append(got, r.Name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, names) {
			t.Errorf("%s reaches %v, want %v", web.InWords(role), got, names)
		}
	}
	for _, r := range api.Routes(nil) {
		if r.Role != "" && r.Admits("") || r.Writes && r.Admits(access.Viewer) || !r.Writes && r.Role != "" && !r.Admits(access.Viewer) {
			t.Errorf("%s needs %q", r.Name, r.Needs(""))
		}
	}
}

// trade has workflows that wait for a signal, and one whose activities are ended by a token: in
// the queue gpu, and in none.
type trade struct {
	*client
	token map[string]string // of the attempt of an activity
}

var (
	render = activity.New("render", held, activity.Queue("gpu"), activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Hour), AttemptTimeout: time.Hour}))
	review = activity.New("review", held, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Hour), AttemptTimeout: time.Hour}))
	tokens = make(chan [2]string, 2)
)

func held(ctx context.Context, name string) (string, error) {
	tokens <- [2]string{name, activity.Token(ctx)}
	return "", activity.ErrPending
}

func newTrade(t *testing.T, roles ...access.Role) *trade {
	t.Helper()
	waits := func(name string) workflow.Workflow[string, bool] {
		return workflow.New(name, func(wf *workflow.Context, _ string) (bool, error) { return workflow.Receive(wf, approved) })
	}
	film := workflow.New("film", func(wf *workflow.Context, _ string) (string, error) {
		first := workflow.Async(wf, render, "render")
		second := workflow.Async(wf, review, "review")
		a, err := first.Get(wf)
		if err != nil {
			return "", err
		}
		b, err := second.Get(wf)
		return a + b, err
	})
	e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(waits("checkout"), waits("refund"), waits("flow"), film, render, review), perdure.ServeQueue("gpu", 2))
	if err == nil {
		err = e.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	rules := access.Rules{}
	for _, role := range roles {
		rules.Tokens = append(rules.Tokens, access.Token{Name: web.InWords(role), Role: role, Secret: secretOf(role)})
	}
	return &trade{client: &client{t: t, server: serverOf(t, e, rules)}, token: map[string]string{}}
}

func secretOf(role access.Role) string {
	return "the-secret-of-" + strings.ReplaceAll(string(role), " ", "-")
}

// as asks with the token of a role.
func (w *trade) as(role access.Role) *client { return &client{w.t, w.server, secretOf(role)} }

// refused says who is refused, and what is needed.
func (w *trade) refused(a answer, needs string) {
	w.t.Helper()
	if a.Status != http.StatusForbidden || a.Body["code"] != "not-allowed" || !strings.HasSuffix(fmt.Sprint(a.Body["detail"]), ", and this needs "+needs+".") ||
		a.Body["next"] != "Use the token of "+needs+"." {
		w.t.Errorf("%d %s\nwant that it needs %s", a.Status, a.Raw, needs)
	}
}

// TestF8_AStarterHasItsOwnWorkflows: it starts, signals and awaits those that it is limited to,
// and learns nothing of others.
func TestF8_AStarterHasItsOwnWorkflows(t *testing.T) {
	some := access.Starter.Only("checkout", "wish, list")
	w := newTrade(t, access.Operator, access.Starter, some)
	start := func(name, id string) object { return object{"workflow": name, "workflow_id": id, "input": "x"} }
	w.as(access.Operator).want(201, "POST", "/api/runs", start("refund", "r"))
	for i, role := range []access.Role{access.Starter, some} {
		own, id := w.as(role), fmt.Sprint("c", i)
		first := own.want(201, "POST", "/api/runs", start("checkout", id))
		if again := own.want(200, "POST", "/api/runs", start("checkout", id)); again.Body["run_id"] != first.Body["run_id"] {
			t.Errorf("%s\n%s", first.Raw, again.Raw)
		}
		if a := own.want(200, "GET", "/api/runs/"+id, nil); a.Body["status"] != "running" || a.Body["workflow"] != "checkout" {
			t.Errorf("%s", a.Raw)
		}
		own.want(202, "GET", "/api/runs/"+id+"/result?wait=0s", nil)
		own.want(202, "POST", "/api/runs/"+id+"/signals/approved", object{"value": true})
		if a := own.want(200, "GET", "/api/runs/"+id+"/result", nil); a.Body["result"] != true {
			t.Errorf("%s", a.Raw)
		}
		own.want(404, "GET", "/api/runs/nobody", nil)
		w.refused(own.ask("GET", "/api/runs", nil), "a viewer or an operator")
		w.refused(own.ask("POST", "/api/runs/"+id+"/operations", object{"operation": "cancel"}), "an operator")
	}
	w.as(access.Starter).want(201, "POST", "/api/runs", start("refund", "r2"))
	own := w.as(some)
	for _, a := range []answer{
		own.ask("POST", "/api/runs", start("refund", "r3")),
		own.ask("POST", "/api/runs", start("refund", "r")),
		own.ask("POST", "/api/runs/r/signals/approved", object{"value": true}),
	} {
		w.refused(a, "a starter of its workflow or an operator")
	}
	for _, path := range []string{"/api/runs/r", "/api/runs/r/result", "/api/runs/r/result?wait=0s"} {
		a := own.ask("GET", path, nil)
		w.refused(a, "a viewer or a starter of its workflow or an operator")
		if strings.Contains(string(a.Raw), "refund") {
			t.Errorf("%s tells of another workflow: %s", path, a.Raw)
		}
	}
	w.as(access.Operator).want(404, "GET", "/api/runs/r3", nil)
	if a := w.as(access.Operator).want(202, "GET", "/api/runs/r/result?wait=0s", nil); a.Body["status"] != "running" {
		t.Errorf("a signal of another starter came: %s", a.Raw)
	}
	if a := own.want(200, "GET", "/api/whoami", nil); a.Body["role"] != "starter" || fmt.Sprint(a.Body["only"]) != "[checkout wish, list]" {
		t.Errorf("%s", a.Raw)
	}
}

// TestF8_AStarterOfFlowFilesIsOneOfFlow: who starts a file chooses its name, so that a limit to
// it would be none.
func TestF8_AStarterOfFlowFilesIsOneOfFlow(t *testing.T) {
	flows, file := access.Starter.Only("flow"), access.Starter.Only("nightly.flow")
	w := newTrade(t, flows, file)
	start := object{"workflow": "flow", "workflow_id": "n", "input": "x", "attributes": object{"file": "nightly.flow"}}
	const needed = "a starter of its workflow or an operator"
	w.refused(w.as(file).ask("POST", "/api/runs", start), needed)
	w.as(flows).want(201, "POST", "/api/runs", start)
	if a := w.as(flows).want(200, "GET", "/api/runs/n", nil); a.Body["workflow"] != "nightly.flow" || a.Body["definition"] != "flow" {
		t.Errorf("%s", a.Raw)
	}
	w.refused(w.as(file).ask("GET", "/api/runs/n", nil), "a viewer or "+needed)
	w.refused(w.as(file).ask("POST", "/api/runs/n/signals/approved", object{"value": true}), needed)
	w.as(flows).want(202, "POST", "/api/runs/n/signals/approved", object{"value": true})
	if a := w.as(flows).want(200, "GET", "/api/runs/n/result", nil); a.Body["workflow"] != "nightly.flow" || a.Body["result"] != true {
		t.Errorf("%s", a.Raw)
	}
}

// TestF8_AWorkerHasItsOwnQueues: it ends attempts of the queues that it is limited to, again if
// an answer was lost, and no others.
func TestF8_AWorkerHasItsOwnQueues(t *testing.T) {
	gpu, cpu := access.Worker.Only("gpu"), access.Worker.Only("cpu")
	w := newTrade(t, access.Operator, access.Worker, gpu, cpu)
	w.as(access.Operator).want(201, "POST", "/api/runs", object{"workflow": "film", "workflow_id": "f", "input": "x"})
	for range 2 {
		made := <-tokens
		w.token[made[0]] = made[1]
	}
	const queued = "a worker of its queue or an operator"
	for _, path := range []string{"complete", "fail", "heartbeat"} {
		body := func(activity string) object {
			b := object{"token": w.token[activity]}
			if path == "fail" {
				b["error"] = "no"
			}
			return b
		}
		w.refused(w.as(cpu).ask("POST", "/api/attempts/"+path, body("render")), queued)
		w.refused(w.as(gpu).ask("POST", "/api/attempts/"+path, body("review")), queued)
		wrong := body("render")
		wrong["token"] = w.token["render"] + "x"
		if a := w.as(gpu).want(400, "POST", "/api/attempts/"+path, wrong); a.Body["code"] != "invalid-token" {
			t.Errorf("%s", a.Raw)
		}
	}
	w.as(gpu).want(202, "POST", "/api/attempts/heartbeat", object{"token": w.token["render"]})
	w.as(access.Worker).want(202, "POST", "/api/attempts/heartbeat", object{"token": w.token["review"]})
	w.as(access.Worker).want(202, "POST", "/api/attempts/complete", object{"token": w.token["review"], "result": "good"})
	w.as(gpu).want(202, "POST", "/api/attempts/complete", object{"token": w.token["render"], "result": "very "})
	if a := w.as(access.Operator).want(200, "GET", "/api/runs/f/result", nil); a.Body["result"] != "very good" {
		t.Errorf("%s", a.Raw)
	}
	w.as(gpu).want(202, "POST", "/api/attempts/complete", object{"token": w.token["render"], "result": "very "})
	w.refused(w.as(cpu).ask("POST", "/api/attempts/complete", object{"token": w.token["render"]}), queued)
	w.refused(w.as(gpu).ask("POST", "/api/attempts/complete", object{"token": w.token["review"]}), queued)
	w.refused(w.as(gpu).ask("GET", "/api/runs/f", nil), "a viewer or a starter or an operator")
	w.refused(w.as(gpu).ask("POST", "/api/runs", object{"workflow": "film", "workflow_id": "g"}), "a starter or an operator")
}
