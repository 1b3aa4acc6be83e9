package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Only makes the process run the actions of some workflows only. Calls of others wait for
// another process, as they do for one that allows what this one does not: commands of the
// shell, files, a secret. Serves is called often and must return immediately.
func Only(serves func(workflowID string) bool) Option {
	return func(s *settings) { s.only = serves }
}

// FilesHeader is the header of a run that names the directory of its files, as an absolute
// path. A process with another one does not touch the files of the run, unless Only says
// that the run is its own.
const FilesHeader = "flow-files"

// refuse returns why attempts of a call of an action may not run in this process, or "".
func (s *settings) refuse(name string, needs *permission, call seal.Asked) string {
	if s.only != nil && !s.only(call.WorkflowID) {
		return "this process runs another file; to run all that are open: perdure flow serve"
	}
	if needs != nil && !needs.given(*s) {
		return needs.refusal
	}
	if dir := call.Headers[FilesHeader]; needs == needsFiles && s.only == nil && dir != "" && dir != s.files {
		return fmt.Sprintf("the files of the run are in another directory: --files %s", dir)
	}
	if name == "log" {
		return "" // it masks secrets
	}
	var args json.RawMessage
	if call.Decode(&args) != nil {
		return "" // the attempt says so
	}
	for _, secret := range eval.SecretsOf(args) {
		if s.secrets == nil || s.names != nil && !slices.Contains(s.names, secret) {
			return fmt.Sprintf("the secret %s is not allowed: --secret %s", secret, secret)
		}
	}
	return ""
}

// FilesOf returns a directory as FilesHeader has it.
func FilesOf(directory string) string {
	path, err := filepath.Abs(directory)
	if err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	return path
}

// guardedAction is an action that some processes refuse, with a body that learns secrets.
type guardedAction struct {
	seal.Hidden[seal.ActivityDeclaration]
	of activity.Definition
}

// Name returns the action's name.
func (d guardedAction) Name() string { return d.of.Name() }

// InputType returns the type of the input.
func (d guardedAction) InputType() reflect.Type { return d.of.InputType() }

// guarded is an action as a process with these settings registers it.
func (s *settings) guarded(d activity.Definition, needs *permission) activity.Definition {
	declared := *seal.Of(d)
	if declared.Invoke == nil {
		return d
	}
	name := d.Name()
	declared.Refuse = func(call seal.Asked) string { return s.refuse(name, needs, call) }
	prepare := func(b body) body { return withSecrets(name, withArguments(b, signature(d).Parameters), s.secrets) }
	declared.Invoke = prepare(declared.Invoke)
	if v := declared.Options.Verify; v != nil && v.Ask != nil {
		declared.Options.Verify = preparedVerify(*v, prepare)
	}
	return guardedAction{seal.Hide(declared), d}
}

// preparedVerify lets a Verify function have the arguments that the body has.
func preparedVerify(v seal.Verify, prepare func(body) body) *seal.Verify {
	ask := v.Ask
	v.Ask = func(ctx context.Context, decode func(into any) error, d retry.Doubt) (answer retry.Answer, result any, after time.Duration, err error) {
		result, err = prepare(func(ctx context.Context, decode func(into any) error) (out any, err error) {
			answer, out, after, err = ask(ctx, decode, d)
			return out, err
		})(ctx, decode)
		return answer, result, after, err
	}
	return &v
}

// body runs an action on arguments that decode fills in.
type body = func(ctx context.Context, decode func(into any) error) (any, error)
