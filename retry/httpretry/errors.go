package httpretry

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/retry"
)

// StatusError is a response with a status of 400 or more.
type StatusError struct {
	Method string // empty if the request is not known
	URL    string // scheme, host and path of the request that was answered
	Status int    // such as 503

	// RetryAfter is the header of the response, at most 100 bytes; empty if there
	// was none.
	RetryAfter string

	// Body is the beginning of the body, at most MaxBody bytes; it is text, and
	// invalid UTF-8 is replaced. Empty with NoBody.
	Body string
}

// MaxBody is how much of a body a StatusError keeps, in bytes.
const MaxBody = 4 << 10

// The classes of statuses, which errors.Is finds in a StatusError.
var (
	Err4xx = errors.New("the server refused the request")
	Err5xx = errors.New("the server failed")
)

func init() {
	retry.RegisterError("HTTP4xx", Err4xx)
	retry.RegisterError("HTTP5xx", Err5xx)
	retry.RegisterErrorType[*StatusError]("httpretry.StatusError")
	retry.RegisterErrorType[*NetworkError]("httpretry.NetworkError")
}

// Error reads like "POST https://example.org/pay: 503 Service Unavailable: try
// later". It has at most one line of the body.
func (e *StatusError) Error() string {
	text := strconv.Itoa(e.Status)
	if e.Method != "" {
		text = fmt.Sprintf("%s %s: %d", e.Method, e.URL, e.Status)
	}
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if line := firstLine(e.Body); line != "" {
		text += ": " + line
	}
	return text
}

// ErrorType returns HTTP and the status.
func (e *StatusError) ErrorType() string { return "HTTP" + strconv.Itoa(e.Status) }

// Unwrap returns the class of the status.
func (e *StatusError) Unwrap() error {
	if e.Status >= 500 {
		return Err5xx
	}
	return Err4xx
}

// NetworkError is a request that got no response.
type NetworkError struct {
	Method string
	URL    string // scheme, host and path

	// TimedOut says that the client's Timeout, the deadline of the context or a limit of
	// the transport was exceeded.
	TimedOut bool

	// Err is the cause.
	Err error `json:"-"`
}

// Error reads like "GET https://example.org/x: connection refused".
func (e *NetworkError) Error() string { return fmt.Sprintf("%s %s: %v", e.Method, e.URL, e.Err) }

// ErrorType returns HTTPTimeout or HTTPNetwork.
func (e *NetworkError) ErrorType() string {
	if e.TimedOut {
		return "HTTPTimeout"
	}
	return "HTTPNetwork"
}

// Timeout returns TimedOut, as the errors of package net do.
func (e *NetworkError) Timeout() bool { return e.TimedOut }

// Unwrap returns what went wrong.
func (e *NetworkError) Unwrap() error { return e.Err }

// maxLine is how much of a body stands in a text, in bytes.
const maxLine = 200

// firstLine is the first line of a body that has something in it, for a text.
func firstLine(body string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	return strings.TrimSpace(clip(line, maxLine))
}

// clip cuts a text to at most limit bytes, and no rune in two.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
