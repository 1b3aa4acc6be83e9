package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

type order struct {
	Item string `json:"item"`
}

var (
	charge = activity.New("charge", func(_ context.Context, item string) (string, error) {
		if item == "poison" {
			return "", errors.New("the bank is down")
		}
		return "receipt for " + item, nil
	}, activity.Retry(retry.Policy{MaxAttempts: 50, Backoff: retry.Fixed(time.Hour)}))
	approved = workflow.NewSignal[bool]("approved")
	progress = workflow.NewQuery[struct{}, string]("progress")
	addItem  = workflow.NewUpdate[string, int]("add-item")
)

// checkout charges, waits for a signal, and answers queries and updates meanwhile.
var checkout = workflow.New("checkout", func(wf *workflow.Context, in order) (string, error) {
	items := []string{in.Item}
	workflow.HandleQuery(wf, progress, func(struct{}) (string, error) { return "waiting", nil })
	workflow.HandleUpdate(wf, addItem, func(_ *workflow.Context, item string) (int, error) {
		items = append(items, item)
		return len(items), nil
	}, workflow.Validator(func(item string) error {
		if item == "" {
			return errors.New("an item has a name")
		}
		return nil
	}))
	if in.Item == "broken" {
		return "", errors.New("this order cannot be")
	}
	receipt, err := workflow.Call(wf, charge, in.Item)
	if err != nil {
		return "", err
	}
	ok, err := workflow.Receive(wf, approved)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", errors.New("not approved")
	}
	return receipt, nil
})

// client asks a server that has an engine.
type client struct {
	t      *testing.T
	server *httptest.Server
	token  string
}

// serve opens an engine on a database in memory, which is a worker if it is to be.
func serve(t *testing.T, works bool) (*client, *perdure.Engine) {
	t.Helper()
	e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(checkout, charge))
	if err == nil && works {
		err = e.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	rules := webtest.Rules()
	rules.Hosts = nil
	return &client{t, serverOf(t, e, rules), webtest.OperatorSecret}, e
}

// serverOf serves an engine until the test ends, and closes it then.
func serverOf(t *testing.T, e *perdure.Engine, rules access.Rules) *httptest.Server {
	t.Helper()
	h, err := api.Handler(e, rules)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// answer is what a request came to.
type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Raw    []byte
}

// ask sends a request with a body that is JSON or nil, and headers in pairs.
func (c *client) ask(method, path string, body any, headers ...string) answer {
	c.t.Helper()
	var from io.Reader
	if body != nil {
		text, isText := body.(string)
		if !isText {
			data, err := json.Marshal(body)
			if err != nil {
				c.t.Fatal(err)
			}
			text = string(data)
		}
		from = bytes.NewBufferString(text)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, from)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if from != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.server.Client().Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{Status: res.StatusCode, Header: res.Header}
	if a.Raw, err = io.ReadAll(res.Body); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(a.Raw, &a.Body); err != nil {
		c.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, a.Raw)
	}
	return a
}

// want asks and expects a status.
func (c *client) want(status int, method, path string, body any, headers ...string) answer {
	c.t.Helper()
	a := c.ask(method, path, body, headers...)
	if a.Status != status {
		c.t.Fatalf("%s %s: status %d, want %d\n%s", method, path, a.Status, status, a.Raw)
	}
	return a
}

type object = map[string]any

func TestF8_EveryRouteOfTheAPIRefuses(t *testing.T) {
	e, err := perdure.Open(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	webtest.Check(t, api.Routes(e), func(rules access.Rules) (http.Handler, error) { return api.Handler(e, rules) })
}

// TestF9_ARunFromStartToEnd drives a run by requests alone.
func TestF9_ARunFromStartToEnd(t *testing.T) {
	c, _ := serve(t, true)
	start := object{"workflow": "checkout", "workflow_id": "order/17", "input": order{"grinder"}, "attributes": object{"customer": "ann"}}
	first := c.want(201, "POST", "/api/runs", start)
	again := c.want(200, "POST", "/api/runs", start)
	if first.Body["run_id"] != again.Body["run_id"] || again.Body["attached"] != true {
		t.Errorf("%s\n%s", first.Raw, again.Raw)
	}
	const run = "/api/runs/order%2F17"
	if a := c.want(202, "GET", run+"/result?wait=1ms", nil); a.Body["status"] != "running" {
		t.Errorf("%s", a.Raw)
	}
	if a := c.want(200, "POST", run+"/queries/progress", object{"input": object{}}); a.Body["result"] != "waiting" {
		t.Errorf("%s", a.Raw)
	}
	for range 2 {
		if a := c.want(200, "POST", run+"/updates/add-item", object{"input": "filter"}, "Idempotency-Key", `"add-1"`); a.Body["result"] != 2.0 {
			t.Errorf("%s", a.Raw)
		}
	}
	if a := c.want(422, "POST", run+"/updates/add-item", object{"input": ""}, "Idempotency-Key", "add-2"); a.Body["code"] != "rejected" {
		t.Errorf("%s", a.Raw)
	}
	c.want(202, "POST", run+"/signals/approved", object{"value": true}, "Idempotency-Key", "approve")
	if a := c.want(200, "GET", run+"/result", nil); a.Body["status"] != "completed" || a.Body["result"] != "receipt for grinder" {
		t.Errorf("%s", a.Raw)
	}
	if a := c.want(409, "POST", run+"/signals/approved", object{"value": true}); a.Body["code"] != "run-closed" {
		t.Errorf("%s", a.Raw)
	}
	if a := c.want(200, "GET", run, nil); a.Body["workflow"] != "checkout" || a.Body["attributes"].(object)["customer"] != "ann" {
		t.Errorf("%s", a.Raw)
	}
	events := c.want(200, "GET", run+"/history?limit=2", nil)
	if events.Body["next"] != "1.1" || len(events.Body["events"].([]any)) != 2 {
		t.Errorf("%s", events.Raw)
	}
	if a := c.want(200, "GET", run+"/history?after=1.1", nil); a.Body["next"] != nil || len(a.Body["events"].([]any)) < 3 {
		t.Errorf("%s", a.Raw)
	}
	for _, wrong := range []string{"after=x", "after=1.-1", "limit=100001", "call=-1"} {
		if a := c.want(400, "GET", run+"/history?"+wrong, nil); a.Body["code"] != "bad-request" {
			t.Errorf("%s: %s", wrong, a.Raw)
		}
	}
	if a := c.want(200, "GET", "/api/runs?attribute=customer=ann&status=completed,failed&since=1h", nil); len(a.Body["runs"].([]any)) != 1 {
		t.Errorf("%s", a.Raw)
	}
	if a := c.want(200, "GET", "/api/runs?attribute=customer=bob", nil); len(a.Body["runs"].([]any)) != 0 {
		t.Errorf("%s", a.Raw)
	}
}
