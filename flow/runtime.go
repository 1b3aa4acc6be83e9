package flow

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/seal"
)

// Runtime has what a process needs to run flow files: the interpreter and the actions
// that files can call. It is immutable and safe for concurrent use.
type Runtime struct {
	known
	actions map[string]activity.Definition
}

// known is what a check of files must know of the actions. The command reads it, too.
type known = seal.Hidden[check.Actions]

// Option is an option of New.
type Option func(*settings)

type settings struct {
	actions []activity.Definition
	files   string
	shell   bool
	client  *http.Client
	log     func(message string)
	secrets func(name string) (string, bool)
	names   []string // of secrets; nil: any
	only    func(workflowID string) bool
}

// Actions lets files call activities by name. The input of such an activity is a struct
// whose JSON fields are the arguments (those without omitempty are required), a map, or a
// type with its own UnmarshalJSON for an object. The gates and priority of its
// declaration apply; its policy does not, because the file has the policy of each call.
func Actions(definitions ...activity.Definition) Option {
	return func(s *settings) { s.actions = append(s.actions, definitions...) }
}

// Files lets flow files read and write below a directory, with file.read and file.write.
// By default they cannot.
func Files(directory string) Option { return func(s *settings) { s.files = directory } }

// AllowShell lets files run commands of the shell, by shell.run. A person who can start
// a file can then do whatever this process can.
func AllowShell() Option { return func(s *settings) { s.shell = true } }

// HTTPClient sets the client of the actions that make HTTP requests. The default has its
// own transport. No client sends a request twice by itself.
func HTTPClient(c *http.Client) Option { return func(s *settings) { s.client = c } }

// idleConnection is shorter than servers keep idle connections, so that a request
// rarely meets one that is being closed.
const idleConnection = 2 * time.Second

func ownClient() *http.Client {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultClient
	}
	transport = transport.Clone()
	transport.IdleConnTimeout = idleConnection
	return &http.Client{Transport: transport}
}

// Log sets the function of the action log. By default messages go to slog.Default().
func Log(f func(message string)) Option { return func(s *settings) { s.log = f } }

// LogTo makes the action log write lines to w.
func LogTo(w io.Writer) Option {
	return Log(func(message string) { fmt.Fprintln(w, message) })
}

// New makes a Runtime. The error names all mistakes in the options.
func New(options ...Option) (*Runtime, error) {
	s := settings{client: ownClient(), log: func(message string) { slog.Info(message) }}
	for _, o := range options {
		o(&s)
	}
	all := check.Actions{}
	r := &Runtime{known: seal.Hide(all), actions: map[string]activity.Definition{}}
	var faults []error
	if s.files != "" {
		if info, err := os.Stat(s.files); err != nil || !info.IsDir() {
			faults = append(faults, fmt.Errorf("flow.Files: %q is no directory; name one that exists", s.files))
		}
		s.files = FilesOf(s.files)
	}
	var own []activity.Definition
	needs := map[string]*permission{}
	for _, b := range builtins {
		for _, name := range b.names() {
			own, needs[name] = append(own, b.define(s, name)), b.needs
		}
	}
	for _, d := range slices.Concat(own, s.actions) {
		switch {
		case d == nil:
			faults = append(faults, errors.New("flow.Actions: a definition is nil; pass what activity.New returns"))
			continue
		case r.actions[d.Name()] != nil:
			faults = append(faults, fmt.Errorf("flow.Actions: there are two actions %q; rename one, or pass it once", d.Name()))
		case !syntax.IsDotted(d.Name()):
			faults = append(faults, fmt.Errorf("flow.Actions: a file cannot call %q; a name is words with dots between them", d.Name()))
		}
		r.actions[d.Name()] = d
		all[d.Name()] = signature(d)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	for _, b := range builtins {
		for _, name := range b.names() {
			all[name] = b.know(s, all[name])
		}
	}
	for name, d := range r.actions {
		r.actions[name] = s.guarded(d, needs[name])
	}
	return r, nil
}

// Definitions returns the definitions to register with the engine: the interpreter and
// all actions.
func (r *Runtime) Definitions() []perdure.Definition {
	out := []perdure.Definition{Workflow.Impl(r.run)}
	for _, name := range slices.Sorted(maps.Keys(r.actions)) {
		out = append(out, r.actions[name])
	}
	return out
}
