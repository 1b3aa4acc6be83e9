package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// TestF31_EverythingIsDescribed: no property and no parameter is without a description.
func TestF31_EverythingIsDescribed(t *testing.T) {
	d := documentAsRead(t)
	seen := 0
	for name, schema := range at(d, "components", "schemas").(object) {
		properties, _ := at(schema, "properties").(object)
		for field, property := range properties {
			if seen++; at(property, "description") == nil {
				t.Errorf("%s.%s has no description; write a comment on the field in Go, or a tag doc in this package", name, field)
			}
			if inner := at(property, "properties"); inner != nil {
				t.Errorf("%s.%s has properties of its own; make its schema one with a name", name, field)
			}
		}
	}
	for path, methods := range d["paths"].(object) {
		for method, o := range methods.(object) {
			for i := range count(o, "parameters") {
				if seen++; at(o, "parameters", i, "description") == nil {
					t.Errorf("%s %s: the parameter %v has no description", method, path, at(o, "parameters", i, "name"))
				}
			}
		}
	}
	if seen < 700 {
		t.Errorf("only %d properties and parameters are found", seen)
	}
}

// documentAsRead is the OpenAPI document as those who read it have it.
func documentAsRead(t *testing.T) (d object) {
	t.Helper()
	text, err := json.Marshal(api.OpenAPI())
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// lack is a body without what is required: one of the fields.
type lack struct {
	body   object
	fields []string
}

// bodiesOf returns the bodies that have only what a schema requires, one for each operation if
// there are several, and those that lack some of it.
func bodiesOf(t *testing.T, schema any, values object) (least []object, lacks []lack) {
	t.Helper()
	operations := []any{nil}
	if count(schema, "properties", "operation", "enum") > 0 {
		operations = at(schema, "properties", "operation", "enum").([]any)
	}
	for _, operation := range operations {
		rules := []any{schema}
		for i := range count(schema, "allOf") {
			if at(schema, "allOf", i, "if", "properties", "operation", "const") == operation {
				rules = append(rules, at(schema, "allOf", i, "then"))
			}
		}
		body, groups := object{}, [][]string{}
		for _, rule := range rules {
			for i := range count(rule, "required") {
				groups = append(groups, []string{at(rule, "required", i).(string)})
			}
			var choice []string
			for i := range count(rule, "anyOf") {
				choice = append(choice, at(rule, "anyOf", i, "required", 0).(string))
			}
			if choice != nil {
				groups = append(groups, choice)
			}
		}
		for _, group := range groups {
			if body[group[0]] = values[group[0]]; group[0] == "operation" {
				body["operation"] = operation
			} else if body[group[0]] == nil {
				t.Fatalf("%s is required, for which this test has no value", group[0])
			}
		}
		least = append(least, body)
		for _, group := range groups {
			other := maps.Clone(body)
			delete(other, group[0])
			lacks = append(lacks, lack{other, group})
		}
	}
	return least, lacks
}

// TestF31_BodiesNeedWhatTheDocumentSays sends to each address that takes a body one that has
// only what the document requires, which is accepted, and bodies without some of that, which
// are refused with the name of the field.
func TestF31_BodiesNeedWhatTheDocumentSays(t *testing.T) {
	w := newNeedy(t)
	d, seen := documentAsRead(t), 0
	paths := d["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for method, o := range paths[path].(object) {
			body := at(o, "requestBody")
			if body == nil {
				continue
			}
			seen++
			ref := at(body, "content", "application/json", "schema", "$ref").(string)
			schema := at(d, "components", "schemas", ref[strings.LastIndexByte(ref, '/')+1:])
			least, lacks := bodiesOf(t, schema, w.values(at(o, "operationId").(string)))
			if required, _ := at(body, "required").(bool); required != (len(lacks) > 0) {
				t.Errorf("%s %s: that the body is required is %v, and %d fields of it are", method, path, required, len(lacks))
			}
			for _, b := range least {
				a := w.send(method, path, o, b)
				if a.Status >= 300 && a.Status != 409 && a.Status != 422 { // by which states and code refuse what is understood
					t.Errorf("%s %s with %v, all that is required: %d %s", method, path, b, a.Status, a.Raw)
				}
			}
			for _, l := range lacks {
				a := w.send(method, path, o, l.body)
				detail, names := fmt.Sprint(a.Body["detail"]), fmt.Sprintf("The %s is missing", l.fields[0])
				if len(l.fields) > 1 || l.fields[0] == "calls" {
					names = l.fields[0] // with the others
				}
				if a.Status != 400 || !strings.Contains(strings.ToLower(detail), strings.ToLower(names)) {
					t.Errorf("%s %s with %v, without %v: %d %s", method, path, l.body, l.fields, a.Status, a.Raw)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d addresses take a body", seen)
	}
}

// needy is a server with what requests with bodies are about.
type needy struct {
	*client
	tokens chan string
	made   int
}

func newNeedy(t *testing.T) *needy { return newNeedyOn(t, memory.New()) }

func newNeedyOn(t *testing.T, db store.Opener) *needy {
	tokens := make(chan string, 9)
	ask := activity.New("ask", func(ctx context.Context, _ string) (string, error) {
		tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	}, activity.Retry(retry.Policy{MaxAttempts: 3, AttemptTimeout: time.Hour}))
	asks := workflow.New("asks", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, ask, in) })
	door := gate.New("door", 4, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour}))
	knock := activity.New("knock", func(context.Context, string) (string, error) { return "", errors.New("no") },
		activity.Through(door, gate.New("wicket", 4)), activity.Retry(retry.Policy{MaxAttempts: 50, Backoff: retry.Fixed(time.Hour)}))
	knocks := workflow.New("knocks", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, knock, in) })
	c, _, _ := serveOn(t, db, perdure.Register(checkout, charge, asks, ask, knocks, knock))
	w := &needy{c, tokens, 0}
	w.want(201, "POST", "/api/runs", object{"workflow": "knocks", "workflow_id": "guest", "input": "x"})
	w.until("/api/gates", func(a answer) bool { return at(a.Body, "gates", 0, "breaker") == "open" })
	return w
}

// name returns one that is not taken.
func (w *needy) name() string {
	w.made++
	return fmt.Sprint("n", w.made)
}

// values are those of fields that an operation of the document may require.
func (w *needy) values(operation string) object {
	hour := time.Now().Add(-time.Hour)
	v := object{
		"workflow": "checkout", "spec": object{"every": "1h"}, "from": hour.Add(-2 * time.Hour), "until": hour,
		"policy": "[retry: 3]", "build": "v1", "percent": 0, "completed": "1h", "limit": 5, "breaker": true,
		"runs": object{"ids": []string{"guest"}}, "calls": object{"name": "charge"}, "error": "no", "call": 1, "to": "v2", "signal": "approved",
		"new_id": w.name(),
	}
	switch operation {
	case "completeAttempt", "failAttempt", "heartbeatAttempt":
		w.want(201, "POST", "/api/runs", object{"workflow": "asks", "workflow_id": w.name(), "input": "x"})
		v["token"] = <-w.tokens
	}
	return v
}

// send sends a body to an address of the document, to something of its own.
func (w *needy) send(method, path string, operation any, body object) answer {
	w.t.Helper()
	return w.to(method, w.target(path), operation, body)
}

// target is an address of the document, of something that is there for it alone.
func (w *needy) target(path string) string {
	w.t.Helper()
	if strings.HasPrefix(path, "/api/runs/{id}/") {
		id := w.name()
		w.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": id, "input": order{"poison"}})
		w.until("/api/runs/"+id, func(a answer) bool { return at(a.Body, "pending", 0, "state") == "backoff" })
		path = strings.Replace(path, "{id}", id, 1)
	}
	name := map[string]string{"signals": "approved", "queries": "progress", "updates": "add-item", "gates": "door", "activities": "idle"}
	if strings.HasPrefix(path, "/api/schedules/{name}/") {
		name["schedules"] = w.name()
		w.want(200, "PUT", "/api/schedules/"+name["schedules"], object{"workflow": "checkout", "spec": object{"every": "1h"}})
	}
	if strings.HasSuffix(path, "/pause") || strings.HasSuffix(path, "/resume") {
		name["gates"] = "wicket" // a probe needs one that is not paused
	}
	before, after, found := strings.Cut(path, "/{name}")
	if found {
		path = before + "/" + url.PathEscape(cmp.Or(name[before[strings.LastIndexByte(before, '/')+1:]], w.name())) + after
	}
	return path
}

// to sends a body to a target.
func (w *needy) to(method, path string, operation any, body object) answer {
	w.t.Helper()
	var headers []string
	for i := range count(operation, "parameters") {
		if at(operation, "parameters", i, "name") == "Idempotency-Key" {
			headers = []string{"Idempotency-Key", w.name()}
		}
	}
	return w.ask(strings.ToUpper(method), path, body, headers...)
}

// TestF31_TheKeyOfAnUpdateIsRequired: an update without an Idempotency-Key is refused, and the
// document says so of it alone.
func TestF31_TheKeyOfAnUpdateIsRequired(t *testing.T) {
	for path, methods := range documentAsRead(t)["paths"].(object) {
		for _, o := range methods.(object) {
			for i := range count(o, "parameters") {
				p := at(o, "parameters", i)
				if required, _ := at(p, "required").(bool); at(p, "name") == "Idempotency-Key" && required != strings.Contains(path, "/updates/") {
					t.Errorf("%s: that the key is required is %v", path, required)
				}
			}
		}
	}
	c, _ := serve(t, true)
	c.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": "a", "input": order{"grinder"}})
	if a := c.want(400, "POST", "/api/runs/a/updates/add-item", object{"input": "filter"}); !strings.Contains(fmt.Sprint(a.Body["detail"]), "Idempotency-Key is missing") {
		t.Errorf("%s", a.Raw)
	}
}
