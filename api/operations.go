package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/view"
)

func operationEndpoints() []endpoint {
	words := strings.Join(operationNames(), ", ")
	return []endpoint{
		define("POST /api/runs/{id}/operations", "operateOnRun", "Operate on a run or its open calls: "+words+". 202: the request is in the database, and is carried out when an engine serves the run.",
			words, operateOnRun).writes().withKey().values().waits(),
		define("POST /api/operations", "operateOnRuns", "Operate on all runs that a filter selects, or on their open calls; with dry_run only count and list them, and get the selection by which exactly these are meant.",
			words, operateOnRuns).writes().withKey().values().waits(),
	}
}

func operationNames() (names []string) {
	for _, c := range command.Operations() {
		names = append(names, c.Name)
	}
	return names
}

// operationFields are what all operations take.
type operationFields struct {
	Operation string          `json:"operation" doc:"what is done: see the description of the address" need:"name one of those that the address describes"`
	Calls     view.CallFilter `json:"calls,omitzero" doc:"of operations on calls: which open calls; without it all"`
	Wait      *span           `json:"wait,omitempty" doc:"how long to wait for an engine, up to 1m; default 20s"`
}

// operationBody is the body of a request for an operation on one run.
type operationBody struct {
	operationFields
	operation
}

// operation is an operation with the parameters that it takes.
type operation struct {
	kind   *command.Command
	params any
}

// UnmarshalJSON decodes the body with the parameters of its operation.
func (b *operationBody) UnmarshalJSON(data []byte) error {
	return b.decode(data, &b.operationFields, &b.Operation)
}

// decode decodes the common fields into one struct, which has the name of the operation, and the
// rest into the parameters of that.
func (o *operation) decode(data []byte, common any, name *string) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	own := fieldsOf(reflect.TypeOf(common).Elem())
	if err := param.Strictly(only(fields, func(f string) bool { return slices.Contains(own, f) }), common); err != nil {
		return err
	}
	o.params = reflect.New(operationShape(reflect.TypeFor[none]())).Interface() // of all operations
	if o.kind = command.Named(command.Operations(), *name); o.kind != nil {
		all, takes := fieldsOf(reflect.TypeOf(o.params).Elem()), fieldsOf(o.kind.Params)
		for _, f := range slices.Sorted(maps.Keys(fields)) {
			if slices.Contains(all, f) && !slices.Contains(takes, f) {
				return badRequest("%s means nothing to the operation %s; leave it out", f, *name)
			}
		}
		o.params = o.kind.New()
	}
	return param.Strictly(only(fields, func(f string) bool { return !slices.Contains(own, f) }), o.params)
}

// only returns some fields of an object as JSON.
func only(fields map[string]json.RawMessage, wanted func(string) bool) []byte {
	some := maps.Clone(fields)
	maps.DeleteFunc(some, func(name string, _ json.RawMessage) bool { return !wanted(name) })
	text, _ := json.Marshal(some) // it was JSON
	return text
}

// fieldsOf are the names of the fields of a struct in JSON.
func fieldsOf(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name := param.NameOf(f); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// operationShape is a body with the parameters of all operations.
func operationShape(common reflect.Type) reflect.Type {
	var fields []reflect.StructField
	add := func(f reflect.StructField, doc string) {
		name := f.Tag.Get("json")
		if slices.ContainsFunc(fields, func(other reflect.StructField) bool { return param.NameOf(other) == param.NameOf(f) }) || name == "" || name == "-" {
			return
		}
		tag := reflect.StructTag(`json:"` + name + `" doc:` + strconv.Quote(doc))
		if need := f.Tag.Get("need"); need != "" && !strings.Contains(name, ",omit") {
			tag += reflect.StructTag(` need:` + strconv.Quote(need))
		}
		fields = append(fields, reflect.StructField{Name: "F" + f.Name, Type: f.Type, Tag: tag})
	}
	for _, f := range reflect.VisibleFields(common) {
		if f.IsExported() && !f.Anonymous {
			add(f, f.Tag.Get("doc"))
		}
	}
	for _, c := range command.Operations() {
		for _, f := range reflect.VisibleFields(c.Params) {
			doc := param.Plain(f.Tag.Get("help"))
			if _, shared := reflect.TypeFor[command.Reason]().FieldByName(f.Name); !shared {
				doc = "of " + c.Name + ": " + doc
			}
			if !f.Anonymous {
				add(f, doc)
			}
		}
	}
	return reflect.StructOf(fields)
}

// conditions adds to the schema which operations there are and what each one needs.
func (operationBody) conditions(schema Schema) { operationConditions(schema, false) }

// operationConditions adds to a schema what operations need, which may be on a selection.
func operationConditions(schema Schema, selectable bool) {
	schema["properties"].(map[string]Schema)["operation"]["enum"] = operationNames()
	var all []Schema
	for _, k := range command.Operations() {
		then, needs := Schema{}, []string{}
		for _, p := range k.Takes() {
			if p.Need != "" {
				needs = append(needs, p.Name)
			}
		}
		if len(needs) > 0 {
			then["required"] = needs
		}
		if k.Named {
			named := Schema{"required": []string{"calls"}, "properties": Schema{"calls": Schema{"anyOf": requireOne([]string{"call", "name"}, "")}}}
			then["anyOf"] = []Schema{named}
			if selectable {
				then["anyOf"] = append([]Schema{named}, requireOne([]string{"selection"}, "")...)
			}
		}
		if len(then) > 0 {
			all = append(all, Schema{"if": Schema{"properties": Schema{"operation": Schema{"const": k.Name}}}, "then": then})
		}
	}
	schema["allOf"] = all
}

// check returns an error for an operation that is not there, and for calls of one on runs.
func (o *operation) check(b *operationFields, selected bool) error {
	switch {
	case o.kind == nil:
		return badRequest("there is no operation %q; there are %s", b.Operation, strings.Join(operationNames(), ", "))
	case !o.kind.OnCalls() && !reflect.ValueOf(b.Calls).IsZero():
		return badRequest("calls means nothing to the operation %s; leave it out", o.kind.Name)
	case o.kind.Named && b.Calls.Call == 0 && b.Calls.Name == "" && !selected:
		return badRequest("%s needs a call or an activity; name it with calls.call or calls.name", o.kind.Name)
	}
	return nil
}

// controlled is the result of an operation on one run.
type controlled struct {
	Request string               `json:"request" doc:"its idempotency key: asking again with it has the same answer"`
	DryRun  bool                 `json:"dry_run,omitempty" doc:"nothing was done: the records say what is selected"`
	Done    bool                 `json:"done" doc:"false: no engine has carried it out yet"`
	Records []view.ControlRecord `json:"records" doc:"the outcome for each call, or for the run"`
}

// ask is the request as the table of commands wants it.
func (c *call) ask(ctx context.Context) *command.Ask {
	return &command.Ask{Ctx: ctx, Engine: c.e, Name: cmp.Or(c.PathValue("id"), c.PathValue("name")), By: c.who.Name, Request: c.key, Now: time.Now(), Served: c.names}
}

// operate carries out an operation on its target. done is false if no engine did it in time.
func (c *call) operate(b *operationFields, o *operation, t *command.Target) (result view.BulkResult, done bool, err error) {
	ctx, cancel, err := c.within(b.Wait)
	if err != nil {
		return result, false, err
	}
	defer cancel()
	if c.key == "" { // so that the request can be repeated
		c.key = rand.Text()
	}
	t.Calls = b.Calls
	result, _, err = o.kind.Operate(c.ask(ctx), t, o.params)
	if errors.Is(err, perdure.ErrNoAnswer) {
		return result, false, nil
	}
	return result, err == nil, err
}

func operateOnRun(c *call, _ none, b operationBody) (r controlled, err error) {
	if err := b.check(&b.operationFields, false); err != nil {
		return r, err
	}
	result, done, err := c.operate(&b.operationFields, &b.operation, &command.Target{ID: c.PathValue("id")})
	return controlled{c.key, command.DryOf(b.params).DryRun, done, append([]view.ControlRecord{}, result.Records...)}, err
}

// bulkFields are what all operations on many runs take.
type bulkFields struct {
	Runs      *bulkRuns `json:"runs,omitempty" doc:"which runs; without a status the open ones, so {} is every open run"`
	Selection string    `json:"selection,omitempty" doc:"what a dry run has selected, in place of runs and calls. Nothing else is touched, and the answer says what is gone"`
	operationFields
}

// bulkBody is the body of a request for an operation on many runs.
type bulkBody struct {
	bulkFields
	operation
}

// OneOf says that no run is meant unless it is named.
func (bulkBody) OneOf() ([]string, string) {
	return []string{"runs", "selection"}, "say which are meant, as in {\"workflow\": \"checkout\"} or {\"ids\": [\"order-17\"]}; {} is every open run"
}

type bulkRuns struct {
	listing.Runs
	listing.ByCalls
	IDs []string `json:"ids,omitempty" doc:"the latest runs of these workflow IDs, at most 1,000; without other filters"`
}

func (bulkBody) conditions(schema Schema) { operationConditions(schema, true) }

// UnmarshalJSON decodes the body with the parameters of its operation.
func (b *bulkBody) UnmarshalJSON(data []byte) error {
	return b.decode(data, &b.bulkFields, &b.Operation)
}

// bulk is the result of an operation on many runs.
type bulk struct{ view.BulkResult }

func operateOnRuns(c *call, _ none, b bulkBody) (r bulk, err error) {
	if err := b.check(&b.operationFields, b.Selection != ""); err != nil {
		return r, err
	}
	if b.Runs == nil {
		b.Runs = &bulkRuns{}
	}
	t := &command.Target{Chosen: b.Runs.IDs, Selection: b.Selection}
	if t.Runs, err = b.Runs.Filter(&b.Runs.ByCalls); err != nil {
		return r, err
	}
	var done bool
	if r.BulkResult, done, err = c.operate(&b.operationFields, &b.operation, t); err == nil && !done {
		r.Unanswered = max(r.Unanswered, 1)
	}
	return r, err
}
