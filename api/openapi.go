package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/view"
)

// Document is an OpenAPI 3.1 document.
type Document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       map[string]string               `json:"info"`
	Servers    []map[string]string             `json:"servers"`
	Security   []map[string][]string           `json:"security"`
	Paths      map[string]map[string]Operation `json:"paths"`
	Components Components                      `json:"components"`
}

// Components are the parts of a Document that are referred to by name.
type Components struct {
	Schemas         map[string]Schema         `json:"schemas"`
	SecuritySchemes map[string]map[string]any `json:"securitySchemes"`
}

// Operation describes a method of an address.
type Operation struct {
	ID          string              `json:"operationId"`
	Summary     string              `json:"summary"`
	Description string              `json:"description,omitempty"`
	Security    *[]map[string][]any `json:"security,omitempty"` // empty: none; nil: that of the document
	Parameters  []Parameter         `json:"parameters,omitempty"`
	Body        *Content            `json:"requestBody,omitempty"`
	Responses   map[string]Content  `json:"responses"`
	// The rest extends OpenAPI: whether the operation changes something, the roles that
	// suffice for it, and the command that does the same.
	Writes  bool          `json:"x-perdure-writes"`
	Roles   []access.Role `json:"x-perdure-roles,omitempty"`
	Command string        `json:"x-perdure-command,omitempty"`
}

// Parameter is a parameter of an address or a header.
type Parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Schema      Schema `json:"schema"`
}

// Content is the body of a request or a response.
type Content struct {
	Description string               `json:"description,omitempty"`
	Required    bool                 `json:"required,omitempty"` // only of a request
	Content     map[string]MediaType `json:"content,omitempty"`
}

// MediaType is a body in one media type.
type MediaType struct {
	Schema Schema `json:"schema"`
}

// Schema is a JSON schema.
type Schema map[string]any

// OpenAPI returns the document that is served at /api/openapi.json. It is made from the
// table of endpoints and belongs to the caller.
func OpenAPI() *Document {
	d, _ := document()
	return d
}

// document returns the OpenAPI document and the schemas in it.
func document() (*Document, *schemas) {
	s := &schemas{all: map[string]Schema{}, types: map[string]reflect.Type{}, asked: map[string]bool{}}
	d := &Document{
		OpenAPI: "3.1.0",
		Info: map[string]string{
			"title": "perdure", "version": "1",
			"description": "Durable workflows: start, follow and operate them. Durations are text such as 1h30m, times are RFC 3339. The roles x-perdure-roles suffice for an operation; a starter may be limited to workflows, a worker to queues.",
		},
		Servers:  []map[string]string{{"url": "/"}},
		Security: []map[string][]string{{"token": {}}},
		Paths:    map[string]map[string]Operation{},
		Components: Components{SecuritySchemes: map[string]map[string]any{
			"token": {"type": "http", "scheme": "bearer"},
		}},
	}
	for _, e := range table() {
		if d.Paths[e.Pattern] == nil {
			d.Paths[e.Pattern] = map[string]Operation{}
		}
		d.Paths[e.Pattern][strings.ToLower(e.Method)] = s.operation(e)
	}
	d.Components.Schemas = s.all
	return d, s
}

// operation describes an endpoint.
func (s *schemas) operation(e endpoint) Operation {
	o := Operation{
		ID: e.Name, Summary: e.Summary, Writes: e.Writes, Roles: e.Roles(), Responses: map[string]Content{},
	}
	if !strings.HasPrefix(e.does, "-") {
		o.Command = e.does
	}
	if e.Role == "" {
		o.Security = &[]map[string][]any{}
	}
	for _, m := range pathParams.FindAllStringSubmatch(e.Pattern, -1) {
		o.Parameters = append(o.Parameters, Parameter{Name: m[2], In: "path", Description: pathDocs[m[1]], Required: true, Schema: Schema{"type": "string"}})
	}
	for _, p := range param.Queried(e.query) {
		o.Parameters = append(o.Parameters, Parameter{Name: p.Name, In: "query", Description: p.Plain(), Schema: paramSchema(&p)})
	}
	if e.keyed {
		o.Parameters = append(o.Parameters, Parameter{
			Name: "Idempotency-Key", In: "header", Required: e.needsKey != "", Schema: Schema{"type": "string"},
			Description: "Asking again with the same key does nothing twice, and has the same answer.",
		})
	}
	if e.stream {
		o.Parameters = append(o.Parameters, Parameter{
			Name: "Last-Event-ID", In: "header", Schema: Schema{"type": "string"}, Description: "The event that the caller has: the next one comes when the view is another one.",
		})
	}
	if e.body != reflect.TypeFor[none]() {
		o.Body = &Content{Required: needed(e.body), Content: map[string]MediaType{"application/json": {s.of(e.body, false)}}}
	}
	s.responses(e, &o)
	return o
}

// needed reports whether a request needs a body with something in it, besides what its path has.
func needed(body reflect.Type) bool {
	b := reflect.New(body)
	for _, p := range param.Of(body) {
		if p.Path != "" {
			_ = p.Set(b.Interface(), "x") // a text
		}
	}
	return param.Complete(b.Interface()) != nil
}

// pathParams matches a parameter with the part of the path before it, which says what it names.
var pathParams = regexp.MustCompile(`([a-z]+)/\{([a-z_]+)\}`)

// pathDocs are the descriptions of parameters by the part of the path before them.
var pathDocs = map[string]string{
	"activities": "name of the activity or step", "gates": "name of the gate", "problems": "code of the kind of problem",
	"queries": "name of the query", "runs": "workflow ID; its latest run is meant unless a run ID is given",
	"schedules": "name of the schedule", "signals": "name of the signal", "updates": "name of the update",
}

// responses describes the responses of an endpoint.
func (s *schemas) responses(e endpoint, o *Operation) {
	success := Content{Description: "Success.", Content: map[string]MediaType{"application/json": {s.answer(&e)}}}
	if e.stream {
		success.Content = map[string]MediaType{e.media: {Schema{"type": "string"}}}
	}
	o.Responses["200"] = success
	undone := reflect.Zero(e.result).Interface()
	if e.result == reflect.TypeFor[bulk]() {
		undone = bulk{view.BulkResult{Unanswered: 1}}
	}
	if code := status(undone); code != http.StatusOK {
		o.Responses[strconv.Itoa(code)] = Content{Description: http.StatusText(code) + ".", Content: success.Content}
	}
	o.Responses["default"] = Content{
		Description: "A problem.", Content: map[string]MediaType{"application/problem+json": {s.of(reflect.TypeFor[web.Problem](), true)}},
	}
}

// schemas are the schemas of a document's named types.
type schemas struct {
	all   map[string]Schema
	types map[string]reflect.Type
	asked map[string]bool // keys of comments
}

// paramSchema returns the schema of a parameter of an address.
func paramSchema(p *param.Param) Schema {
	switch k := p.Type().Kind(); {
	case k == reflect.Slice, k == reflect.Map: // given once for each
		return Schema{"type": "array", "items": Schema{"type": "string"}}
	case p.Check():
		return Schema{"type": "boolean"}
	case p.Number():
		return Schema{"type": "integer", "minimum": 0}
	}
	return Schema{"type": "string"}
}

// of returns the schema of a type. All fields of a result are required; of a body those are
// that it needs.
func (s *schemas) of(t reflect.Type, result bool) Schema {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem(), result)
	}
	if form, found := forms[t]; found {
		return form()
	}
	switch t.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return Schema{"type": "integer"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Schema{"type": "string", "contentEncoding": "base64"}
		}
		return Schema{"type": "array", "items": s.of(t.Elem(), result)}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": s.of(t.Elem(), result)}
	case reflect.Interface:
		return Schema{}
	case reflect.Struct:
		return s.named(t, result)
	}
	panic(fmt.Sprintf("api: a %v has no schema; give it one in forms", t))
}

// named returns a reference to the schema of a struct under the name of its type.
func (s *schemas) named(t reflect.Type, result bool) Schema {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if name == "Spec" {
		pkg := path.Base(strings.TrimSuffix(t.PkgPath(), "/spec")) // gate/spec is about gates
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	if !result && strings.HasSuffix(t.PkgPath(), "/command") {
		name += "Body" // some are named after what they are done to
	}
	if other := s.types[name]; other != nil && other != t {
		name += strings.ToUpper(t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:])
	}
	return s.under(name, t, result)
}

// answer returns the schema of an endpoint's answer. That of a list is named after the operation,
// so that generated clients have a type for it.
func (s *schemas) answer(e *endpoint) Schema {
	if t := e.result; t.Kind() == reflect.Struct && t.Name() == "" {
		return s.under(strings.ToUpper(e.Name[:1])+e.Name[1:]+"Answer", t, true)
	}
	return s.of(e.result, true)
}

// under returns a reference to the schema of a struct under a name, and creates the schema if needed.
func (s *schemas) under(name string, t reflect.Type, result bool) Schema {
	ref := Schema{"$ref": "#/components/schemas/" + name}
	if s.types[name] == t {
		return ref
	}
	s.types[name] = t
	s.all[name] = s.object(t, result)
	return ref
}

// object returns the schema of a struct.
func (s *schemas) object(t reflect.Type, result bool) Schema {
	properties, required := map[string]Schema{}, []string{}
	shape := t
	if other, found := shapes[t]; found {
		shape = other
	}
	s.fields(shape, t, result, properties, &required)
	schema := Schema{"type": "object", "properties": properties}
	if !result {
		schema["additionalProperties"] = false
	}
	if slices.Sort(required); len(required) > 0 {
		schema["required"] = required
	}
	if body := reflect.Zero(t).Interface(); !result {
		if c, ok := body.(param.Chooser); ok {
			schema["anyOf"] = requireOne(c.OneOf())
		}
		if c, ok := body.(conditional); ok {
			c.conditions(schema)
		}
	}
	return schema
}

// conditional is a body that adds to its schema what depends on the values of its fields.
type conditional interface{ conditions(schema Schema) }

// requireOne returns the schemas of which an object with one of the fields fits one.
func requireOne(fields []string, _ string) (all []Schema) {
	for _, field := range fields {
		all = append(all, Schema{"required": []string{field}})
	}
	return all
}

// fields adds the fields of a struct as encoding/json encodes them. The comments are those of
// the fields of documented.
func (s *schemas) fields(t, documented reflect.Type, result bool, properties map[string]Schema, required *[]string) {
	for _, f := range slices.SortedStableFunc(t.Fields(), embeddedFirst) { // what embeds has the last word
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			s.fields(embedded, embedded, result, properties, required)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		needed, optional := f.Tag.Get("need") != "", strings.Contains(options, "omit")
		schema := maps.Clone(s.of(f.Type, result))
		switch kind := f.Type.Kind(); {
		case needed && kind == reflect.String:
			schema["minLength"] = 1
		case needed && kind == reflect.Int64:
			schema["minimum"] = 1
		case !needed && !optional && (kind == reflect.Pointer || kind == reflect.Slice && result):
			schema = Schema{"anyOf": []Schema{schema, {"type": "null"}}}
		case !result && kind == reflect.Pointer && s.required(schema):
			// An empty object is the zero value, which a pointer tells from none.
			schema = Schema{"anyOf": []Schema{schema, {"type": "object", "maxProperties": 0}}}
		}
		if doc := cmp.Or(f.Tag.Get("doc"), param.Plain(f.Tag.Get("help")), s.comment(documented, name)); doc != "" {
			schema["description"] = doc
		}
		if values := f.Tag.Get("enum"); values != "" {
			schema["enum"] = strings.Split(values, ",")
		}
		properties[name] = schema
		if needed || result && !optional {
			*required = append(*required, name)
		}
	}
}

// embeddedFirst orders fields so that a field of a struct follows those of the structs in it.
func embeddedFirst(a, b reflect.StructField) int {
	switch {
	case a.Anonymous == b.Anonymous:
		return 0
	case a.Anonymous:
		return -1
	}
	return 1
}

// required reports whether a schema refers to one that requires something.
func (s *schemas) required(schema Schema) bool {
	ref, _ := schema["$ref"].(string)
	return s.all[path.Base(ref)]["required"] != nil
}

// comment is what is said of a field of a type of another package; empty if there is nothing.
func (s *schemas) comment(t reflect.Type, name string) string {
	key := path.Base(t.PkgPath()) + "." + t.Name() + "." + name
	s.asked[key] = true
	return comments()[key]
}
