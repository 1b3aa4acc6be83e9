package history

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/mark"
	"github.com/perdure/perdure/retry"
)

// Failure is an error as a durable value: a tree of the error and what it wrapped. For the
// sentinels and types registered with package retry, and for those of package retry itself,
// errors.Is and errors.As give the same results for the error that Err returns as for the
// original.
type Failure struct {
	// Type is the error's type name; empty for an error that only adds text to what it
	// wraps.
	Type string `json:"type,omitempty"`
	// Name is the name under which the error or its type is registered, if that differs
	// from Type. A method ErrorType changes what an error is called, but not how it is
	// rebuilt.
	Name    string          `json:"name,omitempty"`
	Message string          `json:"message"`
	Form    form            `json:"form,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Stack   string          `json:"stack,omitempty"`
	Causes  []*Failure      `json:"causes,omitempty"`
}

// form says how Err rebuilds an error.
type form string

const (
	opaque    form = ""         // text and type name only
	sentinel  form = "sentinel" // the registered value itself
	value     form = "value"    // a value of a registered type
	terminal  form = "terminal"
	after     form = "after"
	timeout   form = "timeout"
	panicked  form = "panic"
	aborted   form = "aborted"
	exhausted form = "exhausted"
	lost      form = "worker-lost"
	refused   form = "refused"
	unknown   form = "unknown"  // a mark: the attempt may have had its effect
	notDone   form = "not-done" // a mark: it had none
	doubtful  form = "doubtful" // an UnknownError
)

// Bounds of a failure. Text that is cut is marked.
const (
	maxMessage  = 8 << 10
	maxTypeName = 200
	maxDepth    = 32
	maxNodes    = 128
)

// FromError returns the durable value of an error, nil for nil. If a method of the error
// panics, the text says so.
func FromError(err error) *Failure {
	if err == nil {
		return nil
	}
	left := maxNodes
	return encodeError(err, maxDepth, &left)
}

func encodeError(err error, depth int, left *int) (f *Failure) {
	*left--
	f = &Failure{Type: typeName(err), Message: bound(text(err))}
	defer func() {
		if v := recover(); v != nil {
			f.Form, f.Data, f.Causes = opaque, nil, nil
		}
	}()
	f.fill(err)
	if depth == 0 {
		return f
	}
	for _, c := range unwrap(err) {
		if c == nil {
			continue
		}
		if *left <= 0 {
			break
		}
		f.Causes = append(f.Causes, encodeError(c, depth-1, left))
	}
	if len(f.Causes) > 0 && f.Type == retry.TypeError && (f.Form == opaque || f.Name != "") {
		f.Type = "" // it only adds text to what it wraps
	}
	return f
}

func typeName(err error) (name string) {
	defer func() {
		if recover() != nil {
			name = retry.TypeError
		}
	}()
	name = strings.ReplaceAll(bound(retry.TypeName(err)), "\x00", "\uFFFD") // databases reject a NUL in a name
	return strings.ToValidUTF8(name[:min(len(name), maxTypeName)], "")
}

func text(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = "(the error's Error method panicked)"
		}
	}()
	return err.Error()
}

func bound(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "… (cut)"
}

func unwrap(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// nanos returns a time in ns since 1970, or the nearest value that an int64 can hold; 0 for
// the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	first, last := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	switch {
	case t.Before(first):
		return math.MinInt64
	case t.After(last):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// instant is the opposite of nanos.
func instant(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}

type (
	afterData struct {
		Delay time.Duration `json:"delay"`
		At    int64         `json:"at,omitempty"` // ns since 1970
	}
	timeoutData struct {
		Kind  retry.TimeoutKind `json:"kind"`
		Limit time.Duration     `json:"limit"`
	}
	panicData struct {
		Value string `json:"value"`
	}
	abortedData struct {
		Name    string      `json:"name,omitempty"`
		Attempt int         `json:"attempt"`
		Phase   retry.Phase `json:"phase"`
		Cause   bool        `json:"cause,omitempty"` // the first of the causes is the cause, not the last failure
	}
	exhaustedData struct {
		Name     string        `json:"name,omitempty"`
		Attempts int           `json:"attempts"`
		Reason   retry.Reason  `json:"reason"`
		Max      int           `json:"max,omitempty"`
		Within   time.Duration `json:"within,omitempty"`
	}
	doubtfulData struct {
		Name      string `json:"name,omitempty"`
		Attempt   int    `json:"attempt"`
		ID        string `json:"id,omitempty"`
		Node      string `json:"node,omitempty"`
		Start     int64  `json:"start,omitempty"` // ns since 1970, 0 for none
		End       int64  `json:"end,omitempty"`
		Questions int    `json:"questions,omitempty"`
	}
	refusedData struct {
		Gate   string       `json:"gate,omitempty"`
		Reason retry.Reason `json:"reason,omitempty"`
	}
)

// fill sets the fields that the form of the error needs.
func (f *Failure) fill(err error) {
	switch e := err.(type) {
	case *restored:
		*f = *e.failure
		f.Causes = nil
	case *mark.Terminal:
		f.Form, f.Type = terminal, ""
	case *mark.After:
		f.Form, f.Type = after, ""
		f.Data = marshal(afterData{e.Delay, nanos(e.At)})
	case *mark.Outcome:
		f.Type = ""
		if f.Form = notDone; e.Unknown {
			f.Form = unknown
		}
	case *retry.UnknownError:
		f.Form, f.Data = doubtful, marshal(doubtfulData{bound(e.Name), e.Attempt, bound(e.ID), bound(e.Node), nanos(e.Start), nanos(e.End), e.Questions})
	case *retry.TimeoutError:
		f.Form, f.Data = timeout, marshal(timeoutData{e.Kind, e.Limit})
	case *retry.PanicError:
		f.Form, f.Data, f.Stack = panicked, marshal(panicData{bound(e.Value)}), e.Stack
	case *retry.AbortedError:
		f.Form, f.Data = aborted, marshal(abortedData{bound(e.Name), e.Attempt, e.Phase, e.Cause != nil})
	case *retry.ExhaustedError:
		f.Form, f.Data = exhausted, marshal(exhaustedData{bound(e.Name), e.Attempts, e.Reason, e.Max, e.Within})
	case *retry.WorkerLostError:
		known := *e
		known.Worker = bound(known.Worker)
		f.Form, f.Data = lost, marshal(known)
	case *retry.RefusedError:
		f.Form, f.Data = refused, marshal(refusedData{bound(e.Gate), e.Reason})
	default:
		if name, ok := errname.OfSentinel(err); ok {
			f.Form = sentinel
			f.registeredAs(name)
		} else if name, ok := errname.OfType(err); ok {
			if data, jsonErr := json.Marshal(err); jsonErr == nil {
				f.Form, f.Data = value, data
				f.registeredAs(name)
			}
		}
	}
}

func (f *Failure) registeredAs(name string) {
	if f.Type != name {
		f.Name = name
	}
}

// registered returns the name under which the error or its type is registered.
func (f *Failure) registered() string { return cmp.Or(f.Name, f.Type) }

func marshal(v any) json.RawMessage {
	data, _ := json.Marshal(v) // strings and numbers only: cannot fail
	return data
}

// data returns what the form of a failure needs, and false if it has something else.
func data[T any](f *Failure) (d T, ok bool) {
	err := json.Unmarshal(f.Data, &d)
	return d, err == nil
}

// Err rebuilds the error. An error that this program cannot rebuild (an unregistered type,
// data of a newer version) keeps its text, its type name and what it wraps. Err of nil is
// nil.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	causes := make([]error, 0, len(f.Causes))
	for _, c := range f.Causes {
		if err := c.Err(); err != nil {
			causes = append(causes, err)
		}
	}
	err, ok := f.rebuild(causes)
	switch {
	case !ok:
		return &restored{failure: f, causes: causes}
	case f.worded() && bound(text(err)) != f.Message:
		return &restored{failure: f, value: err, causes: causes}
	}
	return err
}

// worded reports whether package retry makes the error's text from its data, in words that
// a later version may change. Code always sees the recorded text again, because it may have
// passed that text on.
func (f *Failure) worded() bool {
	return f.Form == exhausted || f.Form == refused || f.Form == aborted || f.Form == doubtful
}

// GaveUp returns the ExhaustedError that Err made. It does not look into wrapped errors.
func GaveUp(err error) (*retry.ExhaustedError, bool) {
	if old, ok := err.(*restored); ok { // in the words of another version
		err = old.value
	}
	e, ok := err.(*retry.ExhaustedError)
	return e, ok
}

// AbortedBy returns err, which Err made, with another cause if it is an AbortedError: the
// error of the scope that canceled the call. It does not look into wrapped errors.
func AbortedBy(err, cause error) error {
	switch e := err.(type) {
	case *retry.AbortedError:
		e.Cause = cause
	case *restored: // its text left out the last failure
		a, ok := e.value.(*retry.AbortedError)
		if !ok {
			break
		}
		a.Cause = cause
		brief, f := *a, *e.failure
		brief.Last = nil
		f.Message, f.Data = text(&brief), marshal(abortedData{a.Name, a.Attempt, a.Phase, cause != nil})
		return &restored{failure: &f, value: a, causes: a.Unwrap()}
	}
	return err
}

// Same reports whether two failures are the same to replayed code: in type and text, except
// for words that the version that recorded a chose differently.
func Same(a, b *Failure) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type == b.Type && (a.Message == b.Message || a.content() == b.content())
}

// content is the text of a failure with data in place of the words, also where it repeats
// its causes.
func (f *Failure) content() string {
	if f.worded() {
		return string(f.Form) + string(f.Data)
	}
	text := f.Message
	for _, c := range f.Causes {
		if c.Message != "" {
			text = strings.ReplaceAll(text, c.Message, c.content())
		}
	}
	return text
}

func (f *Failure) rebuild(causes []error) (error, bool) {
	first := func() error {
		if len(causes) == 0 {
			return nil
		}
		return causes[0]
	}
	marked := func(empty error) error { // the error that a mark marks; if the tree was cut, the text is still there
		if len(causes) == 0 && f.Message != empty.Error() {
			return &restored{failure: &Failure{Type: retry.TypeError, Message: f.Message}}
		}
		return first()
	}
	switch f.Form {
	case sentinel:
		err, ok := errname.Sentinel(f.registered())
		return err, ok
	case value:
		err, decodeErr := errname.Decode(f.registered(), f.Data)
		if decodeErr != nil {
			return nil, false
		}
		err = adopt(err, causes)
		if bound(text(err)) != f.Message || len(causes) > 0 && !carries(err, len(causes)) {
			return &restored{failure: f, value: err, causes: causes}, true
		}
		return err, true
	case terminal:
		return &mark.Terminal{Err: marked(&mark.Terminal{})}, true
	case after:
		e := &mark.After{Err: marked(&mark.After{})}
		d, ok := data[afterData](f)
		e.Delay, e.At = d.Delay, instant(d.At)
		return e, ok
	case unknown, notDone:
		return &mark.Outcome{Err: marked(&mark.Outcome{}), Unknown: f.Form == unknown}, true
	case doubtful:
		d, ok := data[doubtfulData](f)
		return &retry.UnknownError{
			Name: d.Name, Attempt: d.Attempt, ID: d.ID, Node: d.Node, Start: instant(d.Start), End: instant(d.End), Questions: d.Questions, Err: first(),
		}, ok
	case timeout:
		d, ok := data[timeoutData](f)
		return &retry.TimeoutError{Kind: d.Kind, Limit: d.Limit, Err: first()}, ok
	case panicked:
		d, ok := data[panicData](f)
		return &retry.PanicError{Value: d.Value, Stack: f.Stack, Err: first()}, ok
	case aborted:
		return f.rebuildAborted(causes)
	case exhausted:
		d, ok := data[exhaustedData](f)
		return &retry.ExhaustedError{Name: d.Name, Attempts: d.Attempts, Reason: d.Reason, Max: d.Max, Within: d.Within, Err: first()}, ok
	case lost:
		e, ok := data[retry.WorkerLostError](f)
		return &e, ok
	case refused:
		d, ok := data[refusedData](f)
		return &retry.RefusedError{Gate: d.Gate, Reason: d.Reason, Last: first()}, ok
	}
	return nil, false
}

func (f *Failure) rebuildAborted(causes []error) (error, bool) {
	d, ok := data[abortedData](f)
	if !ok {
		return nil, false
	}
	e := &retry.AbortedError{Name: d.Name, Attempt: d.Attempt, Phase: d.Phase}
	if d.Cause && len(causes) > 0 {
		e.Cause, causes = causes[0], causes[1:]
	}
	if len(causes) > 0 {
		e.Last = causes[0]
	}
	return e, true
}

// TypeName returns the type to show: that of the outermost error that has one.
func (f *Failure) TypeName() string {
	if n := f.find(func(n *Failure) bool { return n.Type != "" }); n != nil {
		return n.Type
	}
	return retry.TypeError
}

// LastErrorType returns the type name of the last error in the summary of an event that
// closes a call, or "" if there is none. That is the last error in the summary's list,
// except for an attempt that failed when it was canceled: only the event's failure has that
// one.
func (e *Event) LastErrorType() string {
	if e.Retry == nil || e.Retry.LastError == "" {
		return ""
	}
	same := func(message string) bool {
		return strings.HasPrefix(message, strings.TrimSuffix(e.Retry.LastError, "…"))
	}
	if n := len(e.Retry.Errors); n > 0 && same(e.Retry.Errors[n-1].Message) {
		return e.Retry.Errors[n-1].Type
	}
	return e.Failure.find(func(n *Failure) bool { return same(n.Message) }).TypeName()
}

// StackTrace returns the stack of the panic in the tree, or "".
func (f *Failure) StackTrace() string {
	if n := f.find(func(n *Failure) bool { return n.Stack != "" }); n != nil {
		return n.Stack
	}
	return ""
}

func (f *Failure) find(is func(*Failure) bool) *Failure {
	return errname.First(f, func(f *Failure) []*Failure { return f.Causes }, is)
}

// Exhausted returns the failure of a call whose last failure was not retried.
func Exhausted(e retry.ExhaustedError, last *Failure) *Failure {
	e.Err = last.Err() // its text may contain the type name
	f := FromError(&e)
	if last != nil {
		f.Causes = []*Failure{last}
	}
	return f
}

// InDoubt returns the failure of a call that ended without knowing whether its last attempt had
// its effect.
func InDoubt(e retry.UnknownError, last *Failure) *Failure {
	e.Err = last.Err()
	f := FromError(&e)
	f.Causes = []*Failure{last}
	return f
}

// Aborted returns the failure of a canceled call.
func Aborted(name string, attempt int, phase retry.Phase, last *Failure) *Failure {
	e := &retry.AbortedError{Name: name, Attempt: attempt, Phase: phase, Cause: context.Canceled, Last: last.Err()}
	f := FromError(e)
	if last != nil {
		f.Causes = []*Failure{FromError(e.Cause), last}
	}
	return f
}
