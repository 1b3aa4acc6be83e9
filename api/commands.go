package api

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/web"
)

// commandEndpoints returns the endpoints of the table of commands, but for those on any number of
// runs, which share two addresses.
func commandEndpoints() (all []endpoint) {
	for i := range command.All {
		if c := &command.All[i]; !c.Bulk() {
			all = append(all, commandEndpoint(c))
		}
	}
	return all
}

// commandEndpoint returns the endpoint of a row of the table.
func commandEndpoint(c *command.Command) endpoint {
	method, path := c.Path()
	e := endpoint{
		Route: web.Route{Method: method, Pattern: path, Name: operationID(c), Summary: c.Short + ". " + c.Means, Role: access.Operator, Writes: true, Body: smallBody},
		query: reflect.TypeFor[none](), body: c.Params, result: c.Result, does: c.Line(), keyed: !c.NoKey,
	}
	if e.decode = parseBodyInto; method == http.MethodDelete {
		e.query, e.body, e.decode, e.Body = c.Params, e.query, decodeQueryInto, 0
	}
	for _, p := range c.Takes() {
		if p.Long || p.Arg == "[JSON]" {
			e = e.values()
		}
	}
	if c.On == command.Records {
		e = e.waits()
	}
	switch c.On {
	case command.Token:
		e.result = reflect.TypeFor[sent]()
		e = e.also(access.Worker, queueOfToken)
	case command.Workflow:
		e.result, e.keyed = reflect.TypeFor[started](), true // the key is the ID
		e = e.also(access.Starter, workflowOfBody)
	}
	e.do = func(call *call) (any, error) {
		params := c.New()
		if err := e.decode(call.Request, params); err != nil {
			return nil, err
		}
		if err := call.limited(params); err != nil {
			return nil, err
		}
		if s, ok := params.(*command.Start); ok {
			s.TraceParent = cmp.Or(s.TraceParent, call.Header.Get("Traceparent"))
		}
		result, _, err := c.Do(call.ask(call.Context()), params)
		switch r := result.(type) { // those with a status of their own
		case command.Sent:
			result = sent{r}
		case command.Started:
			result = started{r}
		}
		return result, err
	}
	return e
}

// operationID names a command and what it is done to, as in pauseGate.
func operationID(c *command.Command) string {
	verb, on := strings.TrimSuffix(c.Name, "-attempt"), string(c.On)
	switch c.On {
	case command.Token:
		on = "attempt"
	case command.Records:
		return "sweep"
	case command.Workflow:
		on = "run"
	}
	return verb + strings.ToUpper(on[:1]) + on[1:]
}
