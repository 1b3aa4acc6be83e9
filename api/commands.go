package api

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/retry"
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
		query: reflect.TypeFor[none](), body: c.Params, result: c.Result, does: c.Line(), keyed: !c.NoKey, needsKey: c.KeyedFor,
	}
	if c.Reads {
		e.Role, e.Writes = access.Viewer, false
	}
	if e.decode = parseBodyInto; method == http.MethodDelete {
		e.query, e.body, e.decode, e.Body = c.Params, e.query, decodeQueryInto, 0
	}
	for _, p := range c.Takes() {
		if p.Long || p.Arg == "[JSON]" {
			e = e.values()
		}
	}
	_, answers := command.WaitOf(c.New())
	if answers || c.On == command.Records {
		e = e.waits()
	}
	switch c.On {
	case command.Token:
		e = e.also(access.Worker, queueOfToken)
	case command.Workflow:
		e.keyed = true // the key is the ID
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
		for _, p := range c.Takes() {
			if p.Path == "" {
				continue
			}
			if err := p.Set(params, call.PathValue(p.Path)); err != nil {
				return nil, err
			}
		}
		if wait, waits := command.WaitOf(params); waits {
			if err := bounded(span(wait)); err != nil {
				return nil, err
			}
		}
		result, _, err := c.Do(call.ask(call.Context()), params)
		switch _, updates := result.(command.Updated); {
		case updates && errors.Is(err, perdure.ErrNoAnswer): // the result says it
			return result, nil
		case answers:
			err = handlerError(call, err)
		}
		return result, err
	}
	return e
}

// handlerError tells the error of a handler, which may be any error, from errors of the request.
func handlerError(c *call, err error) error {
	if err == nil || kindOf(c.Context(), err).Code != internalError.Code {
		return err
	}
	p := handlerFailed.Of(human.Sentence(err.Error()))
	p.Next = "The error is of the type " + retry.TypeName(err) + "."
	return p
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
