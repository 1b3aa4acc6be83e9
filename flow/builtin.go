package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow/check"
	"github.com/perdure/perdure/flow/eval"
	"github.com/perdure/perdure/retry"
)

// Builtin describes an action that comes along.
type Builtin struct {
	Name, Form, Meaning string
}

// Builtins are the actions that come along.
var Builtins = []Builtin{
	{"http.get", "@http.get(url=, headers=)", "an HTTP request; so are http.head, http.delete and http.options. The result has .status, .headers (names in small letters), .body and .json, which is None if the body is no JSON"},
	{"http.post", "@http.post(url=, headers=, body=, json=)", "an HTTP request with a body, a text or any value as JSON; so are http.put and http.patch. All requests carry the key by which attempts of one call can be known, as Idempotency-Key"},
	{"http.download", "@http.download(url=, path=, headers=)", "writes the answer to a request into a file below the directory of files, however long it is, whole or not at all. The result has .status, .headers, .bytes and .sha256"},
	{"shell.run", "@shell.run(command=, stdin=, env=, dir=)", "a command of the shell; off unless allowed. The result has .stdout and .stderr"},
	{"file.read", "@file.read(path=)", "the text of a file below the directory of files"},
	{"file.write", "@file.write(path=, content=, append=)", "writes a file below the directory of files, whole or not at all; with append=True it adds to the end. The result is how many bytes were written"},
	{"log", "@log(message=)", "tells whoever runs the file something"},
}

// ErrorTypes are the types of errors that the actions that come along fail with.
var ErrorTypes = []struct{ Type, Meaning string }{
	{"HTTPError429", "an answer with that status, of 400 or more; so HTTPError404, HTTPError503 ... If it has a Retry-After, that is how long the next attempt waits"},
	{"HTTPError4xx", "any answer with a status from 400 to 499"},
	{"HTTPError5xx", "any answer with a status of 500 or more"},
	{"NetworkError", "no answer: the connection failed, or took too long"},
	{"ShellError", "a command that ended with another exit code than 0"},
	{"ShellError2", "a command that ended with that exit code; so ShellError127 ..."},
	{"FileError", "a file that cannot be read or written"},
	{"NotExist", "a file or directory that is not there; it is a FileError, too"},
	{"Permission", "a file that this process may not touch; it is a FileError, too"},
	{"LimitError", "a result that is too large"},
	{"SecretError", "a secret that is not there where the attempt runs; it is not retried"},
}

// MaxResult is how long an answer, an output or a file may be, in bytes.
const MaxResult = 1 << 20

// builtins are the actions that come along, those that are off included: a file
// that was started before they were switched off is told so.
func builtins(s settings) []activity.Definition {
	var out []activity.Definition
	for _, method := range methods {
		out = append(out, httpAction(s.client, method))
	}
	return append(out,
		activity.New("http.download", files{s.files}.download(newRequests(s.client, "get"))),
		activity.New("shell.run", shell{allowed: s.shell}.run),
		activity.New("file.read", files{s.files}.read),
		activity.New("file.write", files{s.files}.write),
		activity.New("log", func(_ context.Context, in struct {
			Message json.RawMessage `json:"message"`
		}) (any, error) {
			text := string(in.Message)
			var plain string
			if json.Unmarshal(in.Message, &plain) == nil {
				text = plain
			}
			s.log(text)
			return nil, nil
		}),
	)
}

// off says how an action that comes along is switched on, and by which flag, if it is
// off.
func off(s settings, name string) (why, flag string) {
	switch {
	case name == "shell.run" && !s.shell:
		return shellOff, "--allow-shell"
	case (strings.HasPrefix(name, "file.") || name == "http.download") && s.files == "":
		return filesOff, "--files"
	}
	return "", ""
}

// errorsOf returns the error types of an action that comes along.
func errorsOf(name string) check.Errors {
	if name == "http.download" {
		both := maps.Clone(check.HTTPErrors)
		maps.Copy(both, check.FileErrors)
		return both
	}
	switch group, _, _ := strings.Cut(name, "."); group {
	case "http":
		return check.HTTPErrors
	case "shell":
		return check.ShellErrors
	case "file":
		return check.FileErrors
	}
	return check.NoErrors
}

// tooLarge is a result that no further attempt makes smaller.
func tooLarge(what string) error {
	return retry.Terminal(&ActionError{eval.TypeLimit, fmt.Errorf("%s is larger than %d bytes; keep it elsewhere and pass on where it is", what, MaxResult)})
}

// ActionError is the error of an action that comes along, under the name that files
// know it by.
type ActionError struct {
	Type string `json:"type"`
	Err  error  `json:"-"`
}

func init() { retry.RegisterErrorType[*ActionError]("flow.ActionError") }

func (e *ActionError) Error() string {
	if e.Err == nil {
		return e.Type
	}
	return e.Err.Error()
}

// ErrorType returns the type.
func (e *ActionError) ErrorType() string { return e.Type }

// Unwrap returns what went wrong.
func (e *ActionError) Unwrap() error { return e.Err }
