package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Kind is a kind of problem. Its code is stable, so programs may compare it.
type Kind struct {
	Code   string
	Status int
	Title  string
	Next   string // what to do, unless a problem says it better
}

// Problem says why a request was not carried out, in the form of RFC 9457.
type Problem struct {
	Type   string `json:"type"`           // ProblemPath plus the code
	Title  string `json:"title"`          // the kind of problem in words, the same for all of its code
	Status int    `json:"status"`         // of the response
	Code   string `json:"code"`           // a word for programs that stays the same: see /api/problems
	Detail string `json:"detail"`         // what is wrong, and where
	Next   string `json:"next,omitempty"` // what to do
	// RetryAfter is the number of seconds after which the request may succeed; 0 if waiting
	// does not help.
	RetryAfter int `json:"retry_after,omitempty"`
	// Request is the idempotency key of a request that may have been carried out in part.
	// The request can be repeated with it.
	Request string `json:"request,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }

// ProblemPath is the path under which the kinds of problems are explained.
const ProblemPath = "/api/problems/"

// Of returns a problem of the kind.
func (k Kind) Of(detail string) *Problem {
	return &Problem{Type: ProblemPath + k.Code, Title: k.Title, Status: k.Status, Code: k.Code, Detail: detail, Next: k.Next}
}

// Problems that the guard finds.
var (
	TooLong = Kind{"request-too-long", http.StatusRequestURITooLong, "The address is too long.",
		"Shorten the address; filters can name less."}
	HeadersTooLarge = Kind{"headers-too-large", http.StatusRequestHeaderFieldsTooLarge, "The headers are too large.",
		"Send fewer or shorter headers."}
	ForeignHost = Kind{"foreign-host", http.StatusMisdirectedRequest, "The server is not known by this name.",
		"Use a name that the server allows, or allow this one: perdure dashboard --allow-host NAME."}
	CrossOrigin = Kind{"cross-origin", http.StatusForbidden, "Another site sent the request.",
		"Send it from the server's own pages, or from a program that is not a browser."}
	NotFound = Kind{"no-such-route", http.StatusNotFound, "There is nothing at this address.",
		"The document at /api/openapi.json lists all addresses."}
	WrongMethod = Kind{"wrong-method", http.StatusMethodNotAllowed, "The address does not take this method.",
		"Use a method of the header Allow."}
	NoToken = Kind{"no-token", http.StatusUnauthorized, "A token is needed.",
		"Send the header Authorization: Bearer TOKEN with a token that the server knows."}
	NotAllowed = Kind{"not-allowed", http.StatusForbidden, "The token's role does not suffice.",
		"Use the token of a role that the detail names."}
	ReadOnly = Kind{"read-only", http.StatusForbidden, "The server only reads.",
		"Use a server that was started without --read-only, or the command line."}
	WrongMedia = Kind{"wrong-media-type", http.StatusUnsupportedMediaType, "The body has the wrong type.",
		"Send the body with the Content-Type that is named."}
	BodyTooLarge = Kind{"body-too-large", http.StatusRequestEntityTooLarge, "The body is too large.",
		"Send less; large values belong elsewhere, and their address into the workflow."}
	BodyTooSlow = Kind{"body-too-slow", http.StatusRequestTimeout, "The body did not arrive in time.",
		"Send the whole body without pauses."}
	BadBody = Kind{"bad-body", http.StatusBadRequest, "The body could not be read.",
		"Send the body as its headers announce it."}
	BadRequest = Kind{"bad-request", http.StatusBadRequest, "The request cannot be accepted.",
		"Change what the detail names."}
	TooManyWaiting = Kind{"too-many-waiting", http.StatusServiceUnavailable, "Too many requests wait here.",
		"Ask again later, or another server."}
	TooManyOfYours = Kind{"too-many-of-yours", http.StatusTooManyRequests, "Too many requests of this caller wait here.",
		"End some of them, follow a page of the list instead of each run, or use a token for each program."}
)

// Kinds are the kinds of problems that the guard finds.
var Kinds = []Kind{
	TooLong, HeadersTooLarge, ForeignHost, CrossOrigin, NotFound, WrongMethod, NoToken, NotAllowed, ReadOnly,
	WrongMedia, BodyTooLarge, BodyTooSlow, BadBody, BadRequest, TooManyWaiting, TooManyOfYours,
}

// Is reports whether an error is one of a type.
func Is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// WriteProblem writes a problem as application/problem+json.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p *Problem) {
	text, _ := json.Marshal(p) // strings and numbers only: cannot fail
	w.Header().Set("Content-Type", "application/problem+json")
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n')) // an error means that the caller is gone
}
