package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/mark"
	"github.com/perdure/perdure/retry"
)

var errDepleted = errors.New("depleted")

// quotaError is registered as a pointer type, codeError as a value type.
type quotaError struct{ Limit int }

func (e *quotaError) Error() string { return fmt.Sprintf("quota of %d exceeded", e.Limit) }

type codeError int

func (e codeError) Error() string { return fmt.Sprintf("code %d", int(e)) }

// namedError has a name of its own; the empty one is none.
type namedError struct{ name string }

func (e namedError) Error() string     { return "named" }
func (e namedError) ErrorType() string { return e.name }

// sliceError cannot be a map key.
type sliceError []string

func (e sliceError) Error() string { return strings.Join(e, ",") }

// hostileError panics wherever it can.
type hostileError struct{}

func (*hostileError) Error() string   { panic("no text") }
func (*hostileError) Unwrap() []error { panic("no cause") }

// cyclicError wraps itself.
type cyclicError struct{}

func (e *cyclicError) Error() string { return "cyclic" }
func (e *cyclicError) Unwrap() error { return e }

func init() {
	retry.RegisterError("Depleted", errDepleted)
	retry.RegisterErrorType[*quotaError]("Quota")
	retry.RegisterErrorType[codeError]("Code")
}

func TestR11_TypeNames(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("plain"), "Error"},
		{fmt.Errorf("plain %d", 1), "Error"},
		{fmt.Errorf("wrapped: %w", io.EOF), "Error"},
		{fmt.Errorf("both: %w %w", io.EOF, io.EOF), "Error"},
		{errors.Join(io.EOF), "Error"},
		{context.Canceled, "Canceled"},
		{context.DeadlineExceeded, "DeadlineExceeded"},
		{io.EOF, "EOF"}, {io.ErrUnexpectedEOF, "UnexpectedEOF"},
		{fs.ErrNotExist, "NotExist"}, {os.ErrExist, "Exist"}, {fs.ErrPermission, "Permission"},
		{errDepleted, "Depleted"}, {&quotaError{}, "Quota"}, {codeError(7), "Code"},
		{&fs.PathError{}, "fs.PathError"}, {net.UnknownNetworkError("x"), "net.UnknownNetworkError"},
		{sliceError{"a"}, "retry_test.sliceError"},
		{namedError{"Mine"}, "Mine"}, {namedError{}, "retry_test.namedError"},
		{&retry.TimeoutError{}, "Timeout"}, {&retry.TimeoutError{Kind: retry.TimeoutAttempt}, "Timeout"},
		{&retry.TimeoutError{Kind: retry.TimeoutHeartbeat}, "HeartbeatTimeout"},
		{&retry.TimeoutError{Kind: retry.TimeoutQueue}, "QueueTimeout"},
		{&retry.PanicError{}, "Panic"}, {&retry.WorkerLostError{}, "WorkerLost"}, {&retry.RefusedError{}, "Refused"},
		{&retry.AbortedError{}, "Canceled"}, {&retry.ExhaustedError{}, "Exhausted"},
		{retry.Terminal(io.EOF), "EOF"}, {retry.After(retry.Terminal(errDepleted), 1), "Depleted"},
		{&mark.Terminal{}, ""},
	} {
		if got := retry.TypeName(c.err); got != c.want {
			t.Errorf("the name of %T is %q, want %q", c.err, got, c.want)
		}
	}
}

func TestR11_ClassifyWalksTheWholeTree(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("wrapped: %w", err) }
	at := time.Unix(5000, 0)
	for name, c := range map[string]struct {
		err  error
		want retry.Failure
	}{
		"nil":     {nil, retry.Failure{}},
		"plain":   {errors.New("x"), retry.Failure{Types: []string{"Error"}}},
		"wrapped": {wrap(wrap(io.EOF)), retry.Failure{Types: []string{"EOF"}}},
		"joined": {errors.Join(wrap(&quotaError{}), errors.New("x"), errDepleted),
			retry.Failure{Types: []string{"Quota", "Error", "Depleted"}}},
		"derived":  {&fs.PathError{Err: fs.ErrNotExist}, retry.Failure{Types: []string{"fs.PathError", "NotExist"}}},
		"once":     {errors.Join(io.EOF, io.EOF), retry.Failure{Types: []string{"EOF"}}},
		"terminal": {wrap(errors.Join(io.EOF, retry.Terminal(errDepleted))), retry.Failure{Types: []string{"EOF", "Depleted"}, Terminal: true}},
		"after": {wrap(retry.After(retry.After(io.EOF, 5), 7)),
			retry.Failure{Types: []string{"EOF"}, Asked: true, After: 7}},
		"at":       {retry.AfterTime(io.EOF, at), retry.Failure{Types: []string{"EOF"}, Asked: true, At: at}},
		"canceled": {wrap(context.Canceled), retry.Failure{Types: []string{"Canceled"}, Canceled: true}},
		"aborted": {&retry.AbortedError{Cause: context.DeadlineExceeded, Last: io.EOF},
			retry.Failure{Types: []string{"Canceled", "DeadlineExceeded", "EOF"}, Canceled: true}},
		"timed out": {&retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Err: errors.Join(wrap(context.Canceled), io.EOF)},
			retry.Failure{Types: []string{"HeartbeatTimeout", "EOF"}, Timeout: retry.TimeoutHeartbeat, Unknown: true}},
		"timed out and canceled": {errors.Join(&retry.TimeoutError{Kind: retry.TimeoutAttempt}, context.Canceled),
			retry.Failure{Types: []string{"Timeout", "Canceled"}, Timeout: retry.TimeoutAttempt, Canceled: true, Unknown: true}},
		"panicked":           {retry.NewPanicError(io.EOF), retry.Failure{Types: []string{"Panic", "EOF"}}},
		"exhausted":          {&retry.ExhaustedError{Err: io.EOF}, retry.Failure{Types: []string{"Exhausted", "EOF"}}},
		"cyclic":             {&cyclicError{}, retry.Failure{Types: []string{"retry_test.cyclicError"}}},
		"hostile":            {errors.Join(io.EOF, &hostileError{}), retry.Failure{Types: []string{"EOF", "retry_test.hostileError"}}},
		"nil in a join":      {multi{nil, io.EOF}, retry.Failure{Types: []string{"retry_test.multi", "EOF"}}},
		"a mark without err": {&mark.Terminal{}, retry.Failure{Types: []string{"Error"}, Terminal: true}},
	} {
		got := retry.Classify(c.err)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// multi is an Unwrap of several errors, some of them nil.
type multi []error

func (m multi) Error() string   { return "several" }
func (m multi) Unwrap() []error { return m }

// TestR11_WideTreesAreCutOff: a tree without end still gives an answer.
func TestR11_WideTreesAreCutOff(t *testing.T) {
	wide := slices.Repeat(multi{io.EOF}, 100_000)
	if f := retry.Classify(multi{wide, retry.Terminal(io.EOF)}); f.Terminal || !slices.Contains(f.Types, "EOF") {
		t.Errorf("got %+v", f)
	}
}

func TestR11_SentinelsAreFoundByNameAndBack(t *testing.T) {
	got, ok := errname.Sentinel("Depleted")
	if !ok || got != errDepleted {
		t.Errorf("got %v, %v", got, ok)
	}
	if name, ok := errname.OfSentinel(errDepleted); !ok || name != "Depleted" {
		t.Errorf("got %q, %v", name, ok)
	}
	for _, err := range []error{nil, errors.New("depleted"), fmt.Errorf("%w", errDepleted), &quotaError{}, sliceError{}} {
		if name, ok := errname.OfSentinel(err); ok {
			t.Errorf("%v has the name %q", err, name)
		}
	}
	if _, ok := errname.Sentinel("Quota"); ok {
		t.Error("a type is a sentinel")
	}
}

func TestR11_RegisteredTypesAreRebuilt(t *testing.T) {
	for _, want := range []error{&quotaError{Limit: 9}, codeError(7)} {
		name, ok := errname.OfType(want)
		if !ok {
			t.Fatalf("%T has no name", want)
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := errname.Decode(name, data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v, %v, want %#v", got, err, want)
		}
	}
	for name, data := range map[string]string{"Nothing": `{}`, "EOF": `{}`, "Quota": `null`, "Code": `"x"`} {
		if value, err := errname.Decode(name, []byte(data)); err == nil || value != nil {
			t.Errorf("%s of %s: got %v, %v", name, data, value, err)
		}
	}
	if _, ok := errname.OfType(io.EOF); ok {
		t.Error("io.EOF is of a registered type")
	}
}

func TestR11_MistakesInRegistrationPanic(t *testing.T) {
	retry.RegisterError("Depleted", errDepleted) // the same again is fine
	retry.RegisterErrorType[*quotaError]("Quota")
	for want, register := range map[string]func(){
		"is built in":                    func() { retry.RegisterError("Timeout", errors.New("x")) },
		"is not an identifier":           func() { retry.RegisterError("two words", errors.New("x")) },
		`sliceError](""): the name is`:   func() { retry.RegisterErrorType[sliceError]("") },
		"is nil or cannot be compared":   func() { retry.RegisterError("Nil", nil) },
		"cannot be compared; register":   func() { retry.RegisterError("Slice", sliceError{}) },
		`already means the error "EOF"`:  func() { retry.RegisterError("EOF", errors.New("x")) },
		`already has the name "EOF"`:     func() { retry.RegisterError("EndOfFile", io.EOF) },
		"already means the type *retry_": func() { retry.RegisterError("Quota", errors.New("x")) },
		"already means the error":        func() { retry.RegisterErrorType[sliceError]("Depleted") },
		`type already has the name "Co`:  func() { retry.RegisterErrorType[codeError]("Code2") },
		"is an interface":                func() { retry.RegisterErrorType[net.Error]("NetError") },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
					t.Errorf("the panic %q lacks %q", text, want)
				}
			}()
			register()
		}()
	}
}

// TestR11_AFailureWithoutTypesIsAnError: one that a program makes itself need not name any.
func TestR11_AFailureWithoutTypesIsAnError(t *testing.T) {
	if got := (retry.Failure{}).Type(); got != retry.TypeError {
		t.Errorf("it has the type %q", got)
	}
	if got := (retry.Failure{Types: []string{"Declined", "Error"}}).Type(); got != "Declined" {
		t.Errorf("one with types has the type %q", got)
	}
}
