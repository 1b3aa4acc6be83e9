package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/retry"
)

// Builtin describes a built-in action.
type Builtin struct {
	Name, Form, Meaning string
	// Names are Name and those of actions that differ from it by their name only.
	Names []string
}

// Builtins are the built-in actions.
var Builtins = func() (out []Builtin) {
	for _, b := range builtins {
		b.Builtin.Names = b.names()
		out = append(out, b.Builtin)
	}
	return out
}()

// builtin is an action that comes along, with those that differ from it by the name only.
type builtin struct {
	Builtin
	also   []string
	errors check.Errors
	needs  *permission
	define func(s settings, name string) activity.Definition
}

// permission is what switches actions on that can do harm. Where it is not given, their
// calls wait for a process that has it.
type permission struct {
	given              func(s settings) bool
	how, flag, refusal string
}

var (
	needsShell = &permission{func(s settings) bool { return s.shell }, "Allow commands of the shell where the file runs: --allow-shell.", "--allow-shell", "commands of the shell are not allowed: --allow-shell"}
	needsFiles = &permission{func(s settings) bool { return s.files != "" }, "Name the directory of files where the file runs: --files DIR.", "--files", "files are not allowed: --files DIR"}
)

var builtins = []builtin{
	{
		Builtin{Name: "http.get", Form: "@http.get(url=, headers=)", Meaning: "a request; so are http.head, http.delete and http.options. The result has .status, .headers (names in small letters), .body and .json, None if it is no JSON"},
		[]string{"http.head", "http.delete", "http.options"}, check.HTTPErrors, nil, bareRequest,
	},
	{
		Builtin{Name: "http.post", Form: "@http.post(url=, headers=, body=, json=)", Meaning: "a request with a text or any value as JSON; so are http.put and http.patch. All attempts of a call carry the same Idempotency-Key"},
		[]string{"http.put", "http.patch"}, check.HTTPErrors, nil, filledRequest,
	},
	{
		Builtin{Name: "http.download", Form: "@http.download(url=, path=, headers=)", Meaning: "writes an answer of any length into a file, whole or not at all. The result has .status, .headers, .bytes and .sha256"},
		nil, check.DownloadErrors, needsFiles,
		func(s settings, name string) activity.Definition {
			return activity.New(name, files{s.files}.download(newRequests(s.client, "get")))
		},
	},
	{
		Builtin{Name: "shell.run", Form: "@shell.run(command=, stdin=, env=, dir=)", Meaning: "a command of the shell, if allowed. The result has .stdout and .stderr"},
		nil, check.ShellErrors, needsShell,
		func(s settings, name string) activity.Definition { return activity.New(name, runCommand) },
	},
	fileAction("file.read", "path=", "the text of a file", files.read),
	fileAction("file.write", "path=, content=, append=", "writes a file, whole or not at all, and missing directories; append=True adds to the end, once however often it is tried. The result is the number of bytes", files.write),
	fileAction("file.list", "path=", "the names in a directory, in order, directories with a slash; without a path those at the top", files.list),
	fileAction("file.exists", "path=", "whether a file or directory is there", files.exists),
	fileAction("file.move", "path=, to=", "moves a file or directory, makes missing directories, replaces a file", files.move),
	fileAction("file.delete", "path=", "deletes a file or an empty directory, if it is there", files.remove),
	fileAction("file.mkdir", "path=", "makes a directory and those above it, if they are missing", files.mkdir),
	{
		Builtin{Name: "log", Form: "@log(message=)", Meaning: "prints a message where it runs"},
		nil, check.NoErrors, nil, logAction,
	},
}

// fileAction is the row of an action on files.
func fileAction[In, Out any](name, takes, meaning string, run func(f files, ctx context.Context, in In) (Out, error)) builtin {
	define := func(s settings, name string) activity.Definition {
		return activity.New(name, func(ctx context.Context, in In) (Out, error) { return run(files{s.files}, ctx, in) })
	}
	return builtin{Builtin{Name: name, Form: "@" + name + "(" + takes + ")", Meaning: meaning}, nil, check.FileErrors, needsFiles, define}
}

// names are those of all actions of the row.
func (b *builtin) names() []string { return append([]string{b.Name}, b.also...) }

// know adds to what the checker knows of an action of the row.
func (b *builtin) know(s settings, a check.Action) check.Action {
	a.Errors = b.errors
	if b.needs != nil && !b.needs.given(s) {
		a.Off, a.Flag = b.needs.how, b.needs.flag
	}
	return a
}

// ErrorTypes are the types of errors of the built-in actions.
var ErrorTypes = []struct{ Type, Meaning string }{
	{"HTTPError429", "an answer with that status, so HTTPError404 ... (its Retry-After is how long the next attempt waits)"},
	{"HTTPError4xx", "any from 400 to 499"},
	{"HTTPError5xx", "any from 500 on"},
	{"NetworkError", "no answer, or too late"},
	{"ShellError", "a command with another exit code than 0"},
	{"ShellError2", "a command with that exit code"},
	{"FileError", "a file that cannot be used"},
	{"NotExist", "a missing file or directory (a FileError, too)"},
	{"Permission", "a file that the process may not touch (a FileError, too)"},
	{"LimitError", "a result that is too large"},
	{"SecretError", "a secret that is missing where the attempt runs (not retried)"},
}

// MaxResult is the maximum length of a response, an output or a file, in bytes.
const MaxResult = 1 << 20

// logAction passes on what programs log.
func logAction(s settings, name string) activity.Definition {
	return activity.New(name, func(_ context.Context, in struct {
		Message json.RawMessage `json:"message"`
	}) (any, error) {
		text := string(in.Message)
		var plain string
		if json.Unmarshal(in.Message, &plain) == nil {
			text = plain
		}
		s.log(text)
		return nil, nil
	})
}

// tooLarge is a result that no further attempt makes smaller.
func tooLarge(what string) error {
	return retry.Terminal(&ActionError{eval.TypeLimit, fmt.Errorf("%s is larger than %d bytes; keep it elsewhere and pass on where it is", what, MaxResult)})
}

// ActionError is the error of a built-in action, with the type name that files use.
type ActionError struct {
	Type string `json:"type"`
	Err  error  `json:"-"`
}

// failed gives an error its type, and the wider one that it belongs to.
func failed(kind string, err error) error {
	if wider := eval.Wider(kind); wider != "" {
		err = &ActionError{wider, err}
	}
	return &ActionError{kind, err}
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

// Unwrap returns Err.
func (e *ActionError) Unwrap() error { return e.Err }
