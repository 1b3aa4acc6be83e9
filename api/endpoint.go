package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
)

// none stands for a missing query, body or result of an endpoint.
type none struct{}

// endpoint is a route with its query, body and result types. The handler and the
// documentation are made from it.
type endpoint struct {
	web.Route
	query, body, result reflect.Type
	keyed               bool   // takes an Idempotency-Key
	needsKey            string // what an Idempotency-Key is needed for; empty: it can be left out
	stream              bool   // responds with server-sent events
	media               string // media type of the response, if it is not JSON
	// does names the commands of the command line that do the same. If it begins with -, it
	// says why there is none.
	does string
	of   subject // what a role of Route.Also may be limited to

	decode func(r *http.Request, into any) error // of a command: its parameters
	do     func(c *call) (any, error)
}

// call is one request to an endpoint.
type call struct {
	*http.Request
	w   http.ResponseWriter
	e   *perdure.Engine
	g   *web.Guard
	who access.Identity
	key string // from the header Idempotency-Key

	endpoint *endpoint
	names    *sync.Map // of workflows that nodes are known to have
}

// Maximum sizes of bodies.
const (
	smallBody = 64 << 10
	largeBody = 4 << 20 // for bodies with values of users
)

// named returns the endpoint of one thing that has a name.
func named[T any](line, name, summary, does string, find func(ctx context.Context, e *perdure.Engine, name string) (T, error)) endpoint {
	return define(line, name, summary, does, func(c *call, _, _ none) (T, error) {
		return find(c.Context(), c.e, c.PathValue("name"))
	})
}

// define returns an endpoint. line is the method and the pattern.
func define[Q, B, R any](line, name, summary, does string, do func(c *call, q Q, b B) (R, error)) endpoint {
	method, pattern, _ := strings.Cut(line, " ")
	e := endpoint{
		Route: web.Route{Method: method, Pattern: pattern, Name: name, Summary: summary, Role: access.Viewer},
		query: reflect.TypeFor[Q](), body: reflect.TypeFor[B](), result: reflect.TypeFor[R](), does: does,
	}
	if e.body != reflect.TypeFor[none]() {
		e.Body = smallBody
	}
	e.do = func(c *call) (any, error) {
		var q Q
		var b B
		err := decodeQueryInto(c.Request, &q)
		if err == nil {
			err = parseBodyInto(c.Request, &b)
		}
		if err == nil {
			err = param.Complete(&b)
		}
		if err == nil {
			err = c.limited(b)
		}
		if err != nil {
			return nil, err
		}
		return do(c, q, b)
	}
	return e
}

// writes marks an endpoint that changes something.
func (e endpoint) writes() endpoint {
	e.Role, e.Writes = access.Operator, true
	return e
}

// withKey makes an endpoint accept an idempotency key.
func (e endpoint) withKey() endpoint {
	e.keyed = true
	return e
}

// values makes an endpoint accept values of users.
func (e endpoint) values() endpoint {
	e.Body = largeBody
	return e
}

// waits lets an endpoint last as long as its caller listens.
func (e endpoint) waits() endpoint {
	e.Long = true
	return e
}

// public makes an endpoint serve callers without a token.
func (e endpoint) public() endpoint {
	e.Role = ""
	return e
}

// route returns the route of the endpoint for the guard.
func (e endpoint) route(eng *perdure.Engine, g *web.Guard) web.Route {
	r, names := e.Route, &sync.Map{}
	r.Handler = func(w http.ResponseWriter, req *http.Request) {
		c := &call{Request: req, w: w, e: eng, g: g, who: web.Who(req.Context()), endpoint: &e, names: names}
		result, err := e.serve(c)
		switch {
		case err != nil:
			web.WriteProblem(w, req, problemOf(c, err))
		case result != nil:
			answer(w, result)
		}
	}
	return r
}

func (e endpoint) serve(c *call) (any, error) {
	key := c.Header.Get("Idempotency-Key")
	if unquoted, ok := strings.CutPrefix(key, `"`); ok && strings.HasSuffix(unquoted, `"`) {
		key = strings.TrimSuffix(unquoted, `"`) // the header is a string of structured fields
	}
	if key != "" && !e.keyed {
		return nil, badRequest("%s takes no Idempotency-Key; leave the header out", e.Name)
	}
	if key == "" && e.needsKey != "" {
		return nil, badRequest("the Idempotency-Key is missing; %s", e.needsKey)
	}
	c.key = key
	return e.do(c)
}

// status is that of the response with a result: 200 for what is done, or was there before, and
// another one for what is not.
func status(result any) int {
	done, otherwise := true, http.StatusAccepted
	switch r := result.(type) {
	case command.Sent:
		done = false
	case command.Started:
		done, otherwise = r.Attached || r.DryRun, http.StatusCreated
	case command.Updated:
		done = r.Done
	case controlled:
		done = r.Done
	case bulk:
		done = r.Unanswered == 0
	case outcome:
		done = r.Closed
	case health:
		done, otherwise = r.OK, http.StatusServiceUnavailable
	}
	if done {
		return http.StatusOK
	}
	return otherwise
}

// answer writes a result as JSON.
func answer(w http.ResponseWriter, result any) {
	text, err := json.Marshal(result)
	if err != nil {
		web.WriteProblem(w, nil, internalError.Of("The answer cannot be written as JSON: "+err.Error()+"."))
		return
	}
	// A caller that has waited long also has limited time to take the response. Otherwise
	// callers that take nothing would hold the places of all that wait.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * web.Patience)) // not all writers have deadlines
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status(result))
	_, _ = w.Write(append(text, '\n')) // an error means that the caller is gone
}

// parseBodyInto parses the body of a request into a struct. An empty body leaves it as it is.
func parseBodyInto(r *http.Request, body any) error {
	text, err := io.ReadAll(r.Body) // in memory, within its limit
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(body)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return badRequest("the body is not as it should be: %s is of the JSON type %s and has to be %s", cmp.Or(fieldOf(wrong), "the whole"), wrong.Value, jsonType(wrong.Type))
	}
	if _, name, ok := strings.Cut(fmt.Sprint(err), `json: unknown field "`); ok { // also in a gate or schedule
		return unknownField(reflect.TypeOf(body).Elem(), strings.TrimSuffix(name, `"`))
	}
	if err != nil {
		return badRequest("the body is not as it should be: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badRequest("the body has more after its JSON value; send one value")
	}
	return nil
}

// fieldOf returns the path of a wrong field in a body. It omits the names of embedded
// structs, which alone are capitalized.
func fieldOf(wrong *json.UnmarshalTypeError) string {
	names := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(name string) bool { return name != strings.ToLower(name) })
	return strings.Join(names, ".")
}

// jsonType describes the JSON form of a type.
func jsonType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string" // such as a duration
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a whole number"
}

// within limits a wait to what the request says, or by default to what proxies tolerate,
// and to at most a minute. A client repeats the request.
func (c *call) within(wait *span) (context.Context, context.CancelFunc, error) {
	limit := defaultWait
	if wait != nil {
		limit = *wait
	}
	if err := bounded(limit); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Duration(limit))
	return ctx, cancel, nil
}

func bounded(wait span) error {
	if wait < 0 || wait > maxWait {
		return badRequest("the wait is %v; it can be 0s to %v", wait, maxWait)
	}
	return nil
}

func badRequest(format string, args ...any) error {
	return web.BadRequest.Of(human.Sentence(fmt.Sprintf(format, args...)))
}
