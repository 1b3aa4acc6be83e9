package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/web"
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
	// The rest extends OpenAPI: whether the operation changes something, the role that it
	// needs, and the command that does the same.
	Writes  bool   `json:"x-perdure-writes"`
	Role    string `json:"x-perdure-role,omitempty"`
	Command string `json:"x-perdure-command,omitempty"`
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
	s := &schemas{all: map[string]Schema{}, types: map[string]reflect.Type{}}
	d := &Document{
		OpenAPI: "3.1.0",
		Info: map[string]string{
			"title": "perdure", "version": "1",
			"description": "Durable workflows: start, follow and operate them. Durations are text such as 1h30m, times are RFC 3339.",
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
	return d
}

// operation describes an endpoint.
func (s *schemas) operation(e endpoint) Operation {
	o := Operation{
		ID: e.Name, Summary: e.Summary, Writes: e.Writes, Role: string(e.Role), Responses: map[string]Content{},
	}
	if !strings.HasPrefix(e.does, "-") {
		o.Command = e.does
	}
	if e.Role == "" {
		o.Security = &[]map[string][]any{}
	}
	for _, m := range pathParams.FindAllStringSubmatch(e.Pattern, -1) {
		o.Parameters = append(o.Parameters, Parameter{Name: m[1], In: "path", Required: true, Schema: Schema{"type": "string"}})
	}
	for _, f := range params(e.query) {
		o.Parameters = append(o.Parameters, Parameter{Name: f.Tag.Get("query"), In: "query", Description: f.Tag.Get("doc"), Schema: paramSchema(f.Type)})
	}
	if e.keyed {
		o.Parameters = append(o.Parameters, Parameter{
			Name: "Idempotency-Key", In: "header", Schema: Schema{"type": "string"},
			Description: "Asking again with the same key does nothing twice, and has the same answer.",
		})
	}
	if e.stream {
		o.Parameters = append(o.Parameters, Parameter{
			Name: "Last-Event-ID", In: "header", Schema: Schema{"type": "string"}, Description: "The event that the caller has: the next one comes when the view is another one.",
		})
	}
	if e.body != reflect.TypeFor[none]() {
		o.Body = &Content{Content: map[string]MediaType{"application/json": {s.of(e.body, false)}}}
	}
	s.responses(e, &o)
	return o
}

var pathParams = regexp.MustCompile(`\{([a-z_]+)\}`)

// responses describes the responses of an endpoint.
func (s *schemas) responses(e endpoint, o *Operation) {
	success := Content{Description: "Success.", Content: map[string]MediaType{"application/json": {s.of(e.result, true)}}}
	if e.stream {
		success.Content = map[string]MediaType{e.media: {Schema{"type": "string"}}}
	}
	if e.result == reflect.TypeFor[health]() {
		o.Responses["503"] = Content{Description: http.StatusText(http.StatusServiceUnavailable) + ".", Content: success.Content}
	}
	o.Responses["200"] = success
	if !e.stream && reflect.PointerTo(e.result).Implements(reflect.TypeFor[coded]()) {
		for _, code := range []int{http.StatusCreated, http.StatusAccepted} {
			if answers(e.result, code) {
				o.Responses[strconv.Itoa(code)] = Content{Description: http.StatusText(code) + ".", Content: success.Content}
			}
		}
	}
	o.Responses["default"] = Content{
		Description: "A problem.", Content: map[string]MediaType{"application/problem+json": {s.of(reflect.TypeFor[web.Problem](), true)}},
	}
}

// answers reports whether a result can have a status.
func answers(result reflect.Type, status int) bool {
	switch v := reflect.Zero(result).Interface().(type) {
	case started:
		return status == http.StatusCreated
	case health:
		return false
	case coded:
		return v.status() == status || status == http.StatusAccepted
	}
	return false
}

// schemas are the schemas of a document's named types.
type schemas struct {
	all   map[string]Schema
	types map[string]reflect.Type
}

// paramSchema returns the schema of a parameter of an address.
func paramSchema(t reflect.Type) Schema {
	switch t {
	case reflect.TypeFor[[]string](), reflect.TypeFor[pairs]():
		return Schema{"type": "array", "items": Schema{"type": "string"}}
	case reflect.TypeFor[*span](), reflect.TypeFor[span](), reflect.TypeFor[moment]():
		return Schema{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return Schema{"type": "integer", "minimum": 0}
	}
	return Schema{"type": "string"}
}

// of returns the schema of a type. All fields of a result are required; all fields of a
// body are optional.
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

// named returns a reference to the schema of a struct and creates the schema if needed.
func (s *schemas) named(t reflect.Type, result bool) Schema {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if other := s.types[name]; other != nil && other != t {
		name += strings.ToUpper(t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:])
	}
	ref := Schema{"$ref": "#/components/schemas/" + name}
	if s.types[name] == t {
		return ref
	}
	s.types[name] = t
	properties, required := map[string]Schema{}, []string{}
	s.fields(t, result, properties, &required)
	schema := Schema{"type": "object", "properties": properties}
	if !result {
		schema["additionalProperties"] = false
	}
	if slices.Sort(required); len(required) > 0 && result {
		schema["required"] = required
	}
	s.all[name] = schema
	return ref
}

// fields adds the fields of a struct as encoding/json encodes them.
func (s *schemas) fields(t reflect.Type, result bool, properties map[string]Schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			s.fields(embedded, result, properties, required)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		schema := maps.Clone(s.of(f.Type, result))
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") || f.Type.Kind() == reflect.Slice && result && !strings.Contains(options, "omit") {
			schema = Schema{"anyOf": []Schema{schema, {"type": "null"}}}
		}
		if doc := cmp.Or(f.Tag.Get("doc"), comment(t, name)); doc != "" {
			schema["description"] = doc
		}
		if values := f.Tag.Get("enum"); values != "" {
			schema["enum"] = strings.Split(values, ",")
		}
		properties[name] = schema
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
