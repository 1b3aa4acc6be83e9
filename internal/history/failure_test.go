package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/mark"
	"github.com/perdure/perdure/retry"
)

// errDeclined is a registered sentinel, errForeign one that is not registered.
var (
	errDeclined = errors.New("the card was declined")
	errForeign  = errors.New("unknown here")
)

// quotaError is a registered pointer type, codeError a registered value type,
// wrapError a registered type that wraps, strangerError is not registered.
type (
	quotaError struct {
		Limit int
		Until time.Time
	}
	codeError int
	wrapError struct {
		Step  string
		cause error
	}
	strangerError struct{ host string }
	hiddenError   struct{ text string }
)

func (e *quotaError) Error() string {
	return fmt.Sprintf("quota of %d until %s", e.Limit, e.Until.Format(time.RFC3339))
}
func (e codeError) Error() string      { return fmt.Sprintf("code %d", int(e)) }
func (e *wrapError) Error() string     { return "in step " + e.Step }
func (e *wrapError) Unwrap() error     { return e.cause }
func (e *strangerError) Error() string { return "no answer from " + e.host }
func (e *hiddenError) Error() string   { return "hidden " + e.text } // JSON does not see text

func init() {
	retry.RegisterError("history_test.Declined", errDeclined)
	retry.RegisterErrorType[*quotaError]("history_test.Quota")
	retry.RegisterErrorType[codeError]("history_test.Code")
	retry.RegisterErrorType[*wrapError]("history_test.Wrap")
	retry.RegisterErrorType[*hiddenError]("history_test.Hidden")
}

// survivors are errors that come back equal in all that a program can ask of
// them.
func survivors() map[string]error {
	until := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	_, notExist := os.Open("/does/not/exist")
	quota := &quotaError{3, until}
	return map[string]error{
		"plain":                  errors.New("boom"),
		"empty text":             errors.New(""),
		"text of several lines":  errors.New("a\nb\t\"c\" <&> \u2028 日本 \x00"),
		"registered sentinel":    errDeclined,
		"standard sentinel":      io.ErrUnexpectedEOF,
		"canceled":               context.Canceled,
		"deadline exceeded":      context.DeadlineExceeded,
		"registered pointer":     quota,
		"registered value":       codeError(7),
		"registered, wraps":      &wrapError{"pay", errDeclined},
		"registered, hides":      &hiddenError{"text"},
		"registered, typed":      &typedError{Kind: "Overdrawn", Limit: 7},
		"sentinel, typed":        errTyped,
		"registered, adds text":  &typedError{Err: errDeclined},
		"adds text to typed":     fmt.Errorf("x: %w", &typedError{Limit: 1, Err: &typedError{Kind: "Overdrawn"}}),
		"registered, with cause": &causedError{Step: "pay", Err: fmt.Errorf("x: %w", errDeclined)},
		"registered, no cause":   &causedError{Step: "pay"},
		"value with cause":       causedValue{Step: "pay", Err: quota},
		"registered, joins":      &manyError{Step: "all", Errs: []error{errDeclined, io.EOF}},
		"registered, joins one":  &manyError{Step: "all", Errs: []error{quota}},
		"terminal of a cause":    retry.Terminal(fmt.Errorf("x: %w", &causedError{"pay", retry.After(quota, time.Second)})),
		"unregistered sentinel":  errForeign,
		"unregistered type":      &strangerError{"db-1"},
		"wrapped":                fmt.Errorf("charge: %w", errDeclined),
		"wrapped twice":          fmt.Errorf("order 7: %w", fmt.Errorf("charge: %w", quota)),
		"wrapped by two":         fmt.Errorf("%w after %w", errDeclined, io.EOF),
		"wraps nil":              fmt.Errorf("nothing: %w", error(nil)),
		"joined":                 errors.Join(errDeclined, quota, errors.New("plain")),
		"joined, plain first":    errors.Join(errors.New("plain"), io.EOF),
		"joined in joined":       errors.Join(errors.Join(io.EOF, errForeign), errors.Join(codeError(1))),
		"path error":             notExist,
		"network error":          &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true}},
		"terminal":               retry.Terminal(errDeclined),
		"terminal below":         fmt.Errorf("ship: %w", retry.Terminal(fmt.Errorf("no: %w", quota))),
		"terminal of nothing":    &mark.Terminal{},
		"after":                  retry.After(quota, 30*time.Second),
		"after a negative time":  retry.After(errDeclined, -time.Second),
		"after a time":           retry.AfterTime(errDeclined, until),
		"after and terminal":     retry.Terminal(retry.After(errDeclined, time.Minute)),
		"timeout":                &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: time.Second},
		"timeout with answer":    &retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: time.Hour, Err: context.Canceled},
		"heartbeat timeout":      &retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: time.Second, Err: errDeclined},
		"panic":                  retry.NewPanicError("boom"),
		"panic with an error":    retry.NewPanicError(fmt.Errorf("bad: %w", retry.Terminal(errDeclined))),
		"aborted":                &retry.AbortedError{Name: "charge", Attempt: 2, Phase: retry.PhaseBackoff, Cause: context.Canceled, Last: errDeclined},
		"aborted without cause":  &retry.AbortedError{Attempt: 1, Phase: retry.PhaseQueue},
		"aborted with last only": &retry.AbortedError{Attempt: 1, Phase: retry.PhaseExecution, Last: quota},
		"exhausted":              &retry.ExhaustedError{Name: "charge", Attempts: 5, Reason: retry.ReasonMaxAttempts, Max: 5, Err: quota},
		"exhausted by time":      &retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonWithin, Within: time.Minute, Err: errDeclined},
		"exhausted by a type":    &retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonNonRetryable, Err: fmt.Errorf("no: %w", quota)},
		"exhausted in exhausted": &retry.ExhaustedError{Attempts: 1, Reason: retry.ReasonBudget, Err: &retry.ExhaustedError{Attempts: 9, Reason: retry.ReasonTimeout, Err: errDeclined}},
		"worker lost":            &retry.WorkerLostError{Worker: "node-1", Attempt: 3, Losses: 2, Limit: 3},
		"refused":                &retry.RefusedError{Gate: "payments", Reason: retry.ReasonBreaker},
		"refused after failure":  &retry.ExhaustedError{Attempts: 1, Reason: retry.ReasonBreaker, Err: &retry.RefusedError{Gate: "payments", Reason: retry.ReasonBreaker, Last: quota}},
		"unknown":                retry.Unknown(fmt.Errorf("sent: %w", errDeclined)),
		"not done":               fmt.Errorf("x: %w", retry.NotDone(quota)),
		"late, not done":         &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: time.Second, Err: retry.NotDone(errDeclined)},
		"in doubt":               &retry.UnknownError{Name: "charge", Attempt: 2, ID: "r/1.2", Node: "n", Start: until, End: until.Add(time.Second), Questions: 3, Err: retry.Unknown(quota)},
		"in doubt, lost":         &retry.UnknownError{Name: "charge", Attempt: 1, ID: "r/1.1", Start: until, Err: &retry.WorkerLostError{Worker: "n", Attempt: 1}},
		"deep":                   deep(20, errDeclined),
	}
}

func deep(n int, err error) error {
	for i := range n {
		err = fmt.Errorf("level %d: %w", i, err)
	}
	return err
}

// stored is an error as it comes back from the database.
func stored(t *testing.T, f *history.Failure) *history.Failure {
	t.Helper()
	data, err := history.EncodeTurn([]history.Event{{Kind: history.CallFailed, Call: 1, Failure: f}})
	if err != nil {
		t.Fatal(err)
	}
	events, err := history.DecodeTurn(data)
	if err != nil {
		t.Fatal(err)
	}
	return events[0].Failure
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestE4_ErrorsComeBackEqual(t *testing.T) {
	sentinels := []error{errDeclined, errTyped, io.EOF, io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, fs.ErrNotExist}
	for name, before := range survivors() {
		t.Run(name, func(t *testing.T) {
			first := history.FromError(before)
			after := stored(t, first).Err()
			if after.Error() != before.Error() {
				t.Errorf("the text was %q and is %q", before, after)
			}
			for _, s := range sentinels {
				if name == "path error" {
					continue // see TestE4_WhatIsNotRegisteredKeepsItsText
				}
				if errors.Is(before, s) != errors.Is(after, s) {
					t.Errorf("errors.Is(%v) was %t", s, errors.Is(before, s))
				}
			}
			sameAs[*quotaError](t, before, after)
			sameAs[codeError](t, before, after)
			sameAs[*retry.TimeoutError](t, before, after)
			sameAs[*retry.PanicError](t, before, after)
			sameAs[*retry.WorkerLostError](t, before, after)
			hasAs[*retry.RefusedError](t, before, after)
			sameAs[*typedError](t, before, after)
			sameAs[*causedError](t, before, after)
			sameAs[causedValue](t, before, after)
			sameAs[*manyError](t, before, after)
			hasAs[*wrapError](t, before, after)
			hasAs[*hiddenError](t, before, after)
			hasAs[*mark.Terminal](t, before, after)
			hasAs[*mark.After](t, before, after)
			hasAs[*retry.AbortedError](t, before, after)
			hasAs[*retry.ExhaustedError](t, before, after)
			sameClass(t, before, after)
			if got, want := retry.TypeName(after), retry.TypeName(before); got != want {
				t.Errorf("TypeName was %q and is %q", want, got)
			}
			if got, want := first.TypeName(), retry.Classify(before).Type(); got != want {
				t.Errorf("the failure shows type %q, the error has %q", got, want)
			}
			second := history.FromError(after)
			if got, want := asJSON(t, second), asJSON(t, first); got != want {
				t.Errorf("encoded again it is\n%s\nand was\n%s", got, want)
			}
		})
	}
}

// sameAs compares what errors.As finds, field by field.
func sameAs[T error](t *testing.T, before, after error) {
	t.Helper()
	b, was := errors.AsType[T](before)
	a, is := errors.AsType[T](after)
	if was != is {
		t.Errorf("errors.As to %T was %t", b, was)
	}
	if was && asJSON(t, b) != asJSON(t, a) {
		t.Errorf("%T was %+v and is %+v", b, b, a)
	}
}

// hasAs compares whether errors.As finds something.
func hasAs[T error](t *testing.T, before, after error) {
	t.Helper()
	b, was := errors.AsType[T](before)
	if _, is := errors.AsType[T](after); was != is {
		t.Errorf("errors.As to %T was %t", b, was)
	}
}

// sameClass compares what a policy sees of two errors.
func sameClass(t *testing.T, before, after error) {
	t.Helper()
	b, a := retry.Classify(before), retry.Classify(after)
	if !a.At.Equal(b.At) {
		t.Errorf("the time asked for was %s and is %s", b.At, a.At)
	}
	b.At, a.At = time.Time{}, time.Time{}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the policy saw %+v and sees %+v", b, a)
	}
}

// A decision about an error that was stored is the decision about the error.
func TestE4_DecisionsAreEqual(t *testing.T) {
	policy := retry.Policy{
		NonRetryable: []string{"history_test.Declined"}, OnTimeout: retry.StopOnTimeout,
		Rules: []retry.Rule{{Types: []string{"history_test.Quota"}, MaxAttempts: 9, Backoff: retry.Fixed(time.Minute)}},
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, before := range survivors() {
		state := retry.State{Attempt: 2, First: now}
		b := retry.Decide(&policy, state, retry.Classify(before), now, 0.5)
		a := retry.Decide(&policy, state, retry.Classify(stored(t, history.FromError(before)).Err()), now, 0.5)
		if a.Retry != b.Retry || a.Pause != b.Pause || a.Delay != b.Delay || a.Reason != b.Reason || a.Rule != b.Rule || !a.At.Equal(b.At) {
			t.Errorf("%s: the decision was %+v and is %+v", name, b, a)
		}
	}
}

// The identical sentinel comes back, and a registered type as itself.
func TestE4_RegisteredErrorsAreThemselves(t *testing.T) {
	if err := stored(t, history.FromError(errDeclined)).Err(); err != errDeclined {
		t.Errorf("%T %v", err, err)
	}
	if err := stored(t, history.FromError(codeError(7))).Err(); err != error(codeError(7)) {
		t.Errorf("%T %v", err, err)
	}
	err := stored(t, history.FromError(&retry.AbortedError{Attempt: 3, Phase: retry.PhaseBackoff, Cause: context.Canceled, Last: errDeclined})).Err()
	if a, ok := err.(*retry.AbortedError); !ok || a.Cause != context.Canceled || a.Last != errDeclined || a.Attempt != 3 {
		t.Errorf("%T %+v", err, err)
	}
	err = stored(t, history.FromError(&retry.AbortedError{Attempt: 3, Last: errDeclined})).Err()
	if a, ok := err.(*retry.AbortedError); !ok || a.Cause != nil || a.Last != errDeclined {
		t.Errorf("%T %+v", err, err)
	}
}

// What is not registered keeps its text, its type name and its causes; that is
// what the documentation of registering is for.
func TestE4_WhatIsNotRegisteredKeepsItsText(t *testing.T) {
	_, before := os.Open("/does/not/exist")
	after := stored(t, history.FromError(fmt.Errorf("read: %w", before))).Err()
	if after.Error() != "read: "+before.Error() || retry.Classify(after).Type() != "fs.PathError" {
		t.Errorf("%v, %v", after, retry.Classify(after).Types)
	}
	if _, ok := errors.AsType[*fs.PathError](after); ok {
		t.Error("a type that is not registered came back")
	}
	if errors.Is(stored(t, history.FromError(errForeign)).Err(), errForeign) {
		t.Error("a sentinel that is not registered came back")
	}
}

// hostile errors do what errors must not do.
type hostileError struct{ what string }

func (e *hostileError) Error() string {
	if e.what == "text" {
		panic("no text")
	}
	return "hostile"
}

func (e *hostileError) ErrorType() string {
	switch e.what {
	case "type":
		panic("no type")
	case "odd type":
		return "\xff\xfe" + strings.Repeat("T", 100<<10)
	}
	return "Hostile"
}

func (e *hostileError) Unwrap() error {
	switch e.what {
	case "self":
		return e
	case "unwrap":
		panic("no cause")
	case "nil pointer":
		return (*strangerError)(nil)
	}
	return nil
}

type forkError struct{ _ int } // not of size 0: its pointers differ

func (e *forkError) Error() string   { return "fork" }
func (e *forkError) Unwrap() []error { return []error{e, nil, e} }

type marshalError struct{ N int }

func (e *marshalError) Error() string                { return "cannot be written" }
func (e *marshalError) MarshalJSON() ([]byte, error) { panic("no JSON") }

func TestE4_HostileErrorsAreSurvived(t *testing.T) {
	retry.RegisterErrorType[*marshalError]("history_test.Marshal")
	long := strings.Repeat("ü", 1<<20)
	for name, before := range map[string]error{
		"Error panics":           &hostileError{"text"},
		"ErrorType panics":       &hostileError{"type"},
		"odd ErrorType":          &hostileError{"odd type"},
		"wraps itself":           &hostileError{"self"},
		"Unwrap panics":          &hostileError{"unwrap"},
		"wraps a nil pointer":    &hostileError{"nil pointer"},
		"wraps itself twice":     &forkError{},
		"MarshalJSON panics":     &marshalError{},
		"nil pointer":            (*strangerError)(nil),
		"very long":              errors.New(long),
		"very long, wrapped":     fmt.Errorf("x: %w", errors.New(long)),
		"not UTF-8":              errors.New("a\xffb\xc3"),
		"very deep":              deep(2000, errDeclined),
		"very deep and terminal": retry.Terminal(deepTerminal(100)),
		"very wide":              errors.Join(make1000()...),
		"long panic":             retry.NewPanicError(long),
	} {
		t.Run(name, func(t *testing.T) {
			f := history.FromError(before)
			data := asJSON(t, f)
			if len(data) > 2<<20 {
				t.Errorf("%d bytes of JSON", len(data))
			}
			got := stored(t, f)
			after := got.Err()
			if !utf8.ValidString(after.Error()) || !utf8.ValidString(got.TypeName()) || len(got.TypeName()) > 10<<10 {
				t.Errorf("text %q, type %q", after, got.TypeName())
			}
			_ = retry.Classify(after)
			if again := asJSON(t, history.FromError(after)); again != data {
				t.Errorf("encoded again it is another one:\n%.2000s\n%.2000s", again, data)
			}
		})
	}
	if f := stored(t, history.FromError(retry.Terminal(deepTerminal(100)))); !retry.IsTerminal(f.Err()) || f.Err().Error() != "boom" {
		t.Errorf("%v is not terminal any more", f.Err())
	}
}

func deepTerminal(n int) error {
	err := errors.New("boom")
	for range n {
		err = retry.Terminal(err)
	}
	return err
}

func make1000() []error {
	errs := make([]error, 1000)
	for i := range errs {
		errs[i] = fmt.Errorf("number %d", i)
	}
	return errs
}

func TestFailureOfNothing(t *testing.T) {
	if f := history.FromError(nil); f != nil || f.Err() != nil || f.TypeName() != retry.TypeError || f.StackTrace() != "" {
		t.Errorf("%v", f)
	}
}

// R34: the stack of a panic is kept, wherever in the tree it is.
func TestR34_StacksAreKept(t *testing.T) {
	before := fmt.Errorf("attempt: %w", retry.NewPanicError("boom"))
	f := stored(t, history.FromError(before))
	if !strings.Contains(f.StackTrace(), "failure_test.go") {
		t.Errorf("stack %q", f.StackTrace())
	}
	if p, ok := errors.AsType[*retry.PanicError](f.Err()); !ok || p.Stack != f.StackTrace() {
		t.Errorf("%v", f.Err())
	}
}

func TestExhaustedAndAborted(t *testing.T) {
	last := history.FromError(fmt.Errorf("charge: %w", errDeclined))
	e := stored(t, history.Exhausted(retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonNonRetryable}, last))
	if e.Message != "charge: gave up after 2 attempts (history_test.Declined is not retried): charge: the card was declined" || e.Err().Error() != e.Message || !errors.Is(e.Err(), errDeclined) {
		t.Errorf("%s: %v", e.Message, e.Err())
	}
	if e := history.Exhausted(retry.ExhaustedError{Attempts: 1, Reason: retry.ReasonMaxAttempts, Max: 1}, nil); e.Err().Error() != "gave up after 1 attempt (max attempts)" {
		t.Errorf("%v", e.Err())
	}
	a := stored(t, history.Aborted("charge", 2, retry.PhaseBackoff, last))
	if !errors.Is(a.Err(), context.Canceled) || !errors.Is(a.Err(), errDeclined) || a.TypeName() != retry.TypeCanceled {
		t.Errorf("%v", a.Err())
	}
}

// TestE4_AbortedInTheWordsOnRecord: a canceled call that was recorded when its text left out
// the last failure is told to code in the same words again, with the cause of its scope.
func TestE4_AbortedInTheWordsOnRecord(t *testing.T) {
	deadline := fmt.Errorf("the scope: %w", context.DeadlineExceeded)
	now := history.Aborted("charge", 2, retry.PhaseBackoff, history.FromError(errDeclined))
	if want := "charge was canceled in attempt 2 (backoff): context canceled; its last failure: the card was declined"; now.Message != want {
		t.Errorf("got %q, want %q", now.Message, want)
	}
	old := *now
	old.Message = "charge was canceled in attempt 2 (backoff): context canceled"
	for f, want := range map[*history.Failure]string{
		now:  "charge was canceled in attempt 2 (backoff): the scope: context deadline exceeded; its last failure: the card was declined",
		&old: "charge was canceled in attempt 2 (backoff): the scope: context deadline exceeded",
	} {
		if err := f.Err(); err.Error() != f.Message {
			t.Errorf("code sees %q of %q", err, f.Message)
		}
		err := history.AbortedBy(f.Err(), deadline)
		a, ok := errors.AsType[*retry.AbortedError](err)
		if err.Error() != want || !ok || a.Cause != deadline || a.Last != errDeclined {
			t.Errorf("got %q (%+v), want %q", err, a, want)
		}
		for _, is := range []error{context.DeadlineExceeded, errDeclined} {
			if !errors.Is(err, is) {
				t.Errorf("%v is not %v", err, is)
			}
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("%v still has the cause on record", err)
		}
		if again := stored(t, history.FromError(err)).Err(); again.Error() != want || retry.Classify(again).Type() != retry.TypeCanceled {
			t.Errorf("recorded again it is %q (%s)", again, retry.Classify(again).Type())
		}
	}
	if !history.Same(&old, now) {
		t.Error("other words are another failure")
	}
	if err := history.AbortedBy(errDeclined, deadline); err != errDeclined {
		t.Errorf("got %v of an error that says nothing of a cancellation", err)
	}
}

// TestE4_WordsOnRecordStay: code that is replayed sees the text that was recorded, in
// whatever words, and a failure in other words is the same to a replay.
func TestE4_WordsOnRecordStay(t *testing.T) {
	const words = "charge failed after 2 attempts: max attempts (2) reached"
	now := history.Exhausted(retry.ExhaustedError{Name: "charge", Attempts: 2, Max: 2, Reason: retry.ReasonMaxAttempts}, history.FromError(errDeclined))
	old := *now
	old.Message = words
	err := old.Err()
	exhausted, ok := errors.AsType[*retry.ExhaustedError](err)
	if err.Error() != words || !ok || exhausted.Attempts != 2 || !errors.Is(err, errDeclined) || retry.Classify(err).Type() != retry.TypeExhausted {
		t.Errorf("%v, %+v", err, exhausted)
	}
	if e, ok := history.GaveUp(err); !ok || e != exhausted {
		t.Errorf("%+v", e)
	}
	if _, ok := history.GaveUp(fmt.Errorf("order: %w", err)); ok {
		t.Error("what an error wraps is taken for the error")
	}
	if again := history.FromError(err); again.Message != words || again.Form != old.Form || !bytes.Equal(again.Data, old.Data) {
		t.Errorf("%+v", again)
	}
	wrapped := func(f *history.Failure) *history.Failure {
		return history.FromError(fmt.Errorf("order 7: %w", f.Err()))
	}
	other := history.Exhausted(retry.ExhaustedError{Name: "charge", Attempts: 3, Max: 3, Reason: retry.ReasonMaxAttempts}, history.FromError(errDeclined))
	for name, c := range map[string]struct {
		a, b *history.Failure
		same bool
	}{
		"words":            {&old, now, true},
		"wrapped":          {wrapped(&old), wrapped(now), true},
		"attempts":         {&old, other, false},
		"wrapped attempts": {wrapped(&old), wrapped(other), false},
		"what is around":   {wrapped(&old), history.FromError(fmt.Errorf("order 8: %w", now.Err())), false},
		"kind":             {&old, history.FromError(errDeclined), false},
		"nothing":          {&old, nil, false},
	} {
		if history.Same(c.a, c.b) != c.same {
			t.Errorf("%s: %v and %v are the same: %t", name, c.a.Message, c.b, !c.same)
		}
	}
}
