package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// hostileError panics wherever it can.
type hostileError struct{}

func (e *hostileError) Error() string     { panic("in Error") }
func (e *hostileError) ErrorType() string { panic("in ErrorType") }
func (e *hostileError) Unwrap() error     { panic("in Unwrap") }
func (e *hostileError) Is(error) bool     { panic("in Is") }
func (e *hostileError) As(any) bool       { panic("in As") }

// ouroboros wraps itself.
type ouroboros struct{}

func (e *ouroboros) Error() string { return "ouroboros" }
func (e *ouroboros) Unwrap() error { return e }

// hydra wraps itself twice.
type hydra struct{}

func (e *hydra) Error() string   { return "hydra" }
func (e *hydra) Unwrap() []error { return []error{e, e} }

// typedNil has methods that a nil pointer does not survive.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

// unwritable cannot be encoded: it panics.
type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

// TestI13_HostileErrors: no error that a body or a workflow returns, or panics
// with, brings the process down; the attempt and the run fail with what can be
// said of it, and the next run is served.
func TestI13_HostileErrors(t *testing.T) {
	extent.Unwatched(t, "it varies errors")
	for name, hostile := range map[string]error{
		"panicking methods":   &hostileError{},
		"wrapped":             fmt.Errorf("around: %w", &typedNil{"x"}),
		"joined with hostile": errors.Join(errors.New("plain"), &hostileError{}),
		"wraps itself":        &ouroboros{},
		"wraps itself twice":  &hydra{},
		"typed nil":           (*typedNil)(nil),
		"endless text":        errors.New(strings.Repeat("ä", 10<<20)),
		"not UTF-8":           errors.New("a\xffb\x00c"),
		"ten thousand":        errors.Join(make10k()...),
		"a nil cause":         retry.Terminal(fmt.Errorf("nothing: %w", error(nil))),
	} {
		t.Run(name, func(t *testing.T) {
			needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
				returns := activity.New("returns", func(context.Context, int) (int, error) { return 0, hostile }, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.None}))
				panics := activity.New("panics", func(context.Context, int) (int, error) { panic(hostile) }, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.None}))
				order := workflow.New("order", func(wf *workflow.Context, how string) (int, error) {
					switch how {
					case "returns":
						return workflow.Call(wf, returns, 0)
					case "panics":
						return workflow.Call(wf, panics, 0)
					}
					return 0, hostile
				})
				e := w.start(order, returns, panics, reserve)
				for _, how := range []string{"returns", "panics", "itself"} {
					begin(t, e, order, how, how)
					settle()
					if d := describe(t, e, how); d.Status != "failed" || d.Failure == nil || len(d.Failure.Message) > 20<<10 {
						t.Errorf("%s: the run is %s: %s", how, d.Status, d.Reason)
					}
					if _, err := finish[int](t, e, how); err == nil || len(err.Error()) > 20<<10 {
						t.Errorf("%s: it succeeded, or says too much", how)
					}
				}
				if err := e.Health(); err != nil {
					t.Errorf("Health says %v", err)
				}
			})
		})
	}
}

func make10k() []error {
	errs := make([]error, 10_000)
	for i := range errs {
		errs[i] = fmt.Errorf("error %d", i)
	}
	return errs
}

// TestI13_HostileCode: a value whose encoding panics is refused as any other that cannot
// be encoded: the call fails, or the run whose result it is; a side effect cannot fail, so
// it parks the run. A body that ends its goroutine is a failed attempt; workflow code that
// does parks the run.
func TestI13_HostileCode(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		once := activity.Retry(retry.Never)
		gives := activity.New("gives", func(context.Context, int) (any, error) { return unwritable{}, nil }, once)
		exits := activity.New("exits", func(context.Context, int) (any, error) { runtime.Goexit(); return nil, nil }, once)
		takes := activity.New("takes", func(context.Context, any) (any, error) { return nil, nil }, once)
		order := workflow.New("order", func(wf *workflow.Context, how string) (any, error) {
			switch how {
			case "result":
				return workflow.Call(wf, gives, 0)
			case "goexit in an activity":
				return workflow.Call(wf, exits, 0)
			case "step":
				return workflow.Do(wf, "step", func(context.Context) (any, error) { return unwritable{}, nil }, once)
			case "input":
				return workflow.Call(wf, takes, any(unwritable{}))
			case "side effect":
				return workflow.SideEffect(wf, "effect", func() any { return unwritable{} }), nil
			case "goexit":
				//perdure:deterministic what it leads to is what is tested
				runtime.Goexit()
			}
			return unwritable{}, nil
		})
		e := w.start(order, gives, exits, takes)
		const unencodable = "a value of type engine_test.unwritable cannot be encoded as JSON: panic: in MarshalJSON"
		for how, want := range map[string]string{
			"result":                `failed: the result of activity "gives": ` + unencodable,
			"step":                  `failed: the result of step "step": ` + unencodable,
			"goexit in an activity": "failed: the body called runtime.Goexit (a test's FailNow, perhaps)",
			"input":                 `failed: the input of "takes": ` + unencodable,
			"side effect":           `parked: the workflow's code panicked: side effect "effect": ` + unencodable,
			"run":                   `failed: workflow "order": result: ` + unencodable,
			"goexit":                "parked: the workflow's code called runtime.Goexit (a test's FailNow, perhaps)",
		} {
			begin(t, e, order, how, how)
			settle()
			d := describe(t, e, how)
			got := d.Status + ": " + d.Reason
			if d.Failure != nil {
				got = d.Status + ": " + d.Failure.Causes[0].Message
			}
			if got != want {
				t.Errorf("%s: %s\nwant %s", how, got, want)
			}
		}
		if err := e.Health(); err != nil {
			t.Errorf("Health says %v", err)
		}
	})
}
