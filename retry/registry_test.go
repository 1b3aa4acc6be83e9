package retry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

type (
	errorField   struct{ Err error }
	hiddenFields struct {
		err  error
		done chan int
		Text string
	}
	taggedField struct {
		Err error `json:"-"`
		N   int
	}
	ownReader    struct{ Err error }
	deepField    struct{ Parts []map[string]*errorField }
	embedded     struct{ errorField }
	channelField struct{ Done chan int }
	timeField    struct {
		At  time.Time
		Any any
	}
	funcError func() string
	recursive struct{ Next *recursive }
)

func (e errorField) Error() string              { return "field" }
func (e hiddenFields) String() string           { return fmt.Sprint(e.err, e.done) }
func (e hiddenFields) Error() string            { return "hidden" }
func (e taggedField) Error() string             { return "tagged" }
func (e *ownReader) Error() string              { return "own" }
func (e *ownReader) UnmarshalJSON([]byte) error { return nil }
func (e deepField) Error() string               { return "deep" }
func (e *embedded) Error() string               { return "embedded" }
func (e channelField) Error() string            { return "channel" }
func (e *timeField) Error() string              { return "time" }
func (e funcError) Error() string               { return e() }
func (e *recursive) Error() string              { return "recursive" }

// refusal is what registering says, empty if it is accepted.
func refusal(register func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	register()
	return ""
}

func TestE4_TypesThatCannotBeReadAreRefusedWhenRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		register func()
		want     string // in the message, empty if it is accepted
	}{
		"error field":   {func() { retry.RegisterErrorType[errorField]("registry_test.A") }, "the field Err is of type error"},
		"by pointer":    {func() { retry.RegisterErrorType[*errorField]("registry_test.B") }, "the field Err is of type error"},
		"deep":          {func() { retry.RegisterErrorType[deepField]("registry_test.C") }, "the field Parts.Err is of type error"},
		"embedded":      {func() { retry.RegisterErrorType[*embedded]("registry_test.D") }, "the field errorField.Err is of type error"},
		"channel":       {func() { retry.RegisterErrorType[channelField]("registry_test.E") }, "the field Done is of type chan int"},
		"function":      {func() { retry.RegisterErrorType[funcError]("registry_test.F") }, "is of type retry_test.funcError"},
		"interface":     {func() { retry.RegisterErrorType[error]("registry_test.G") }, "the type is an interface"},
		"hidden fields": {func() { retry.RegisterErrorType[hiddenFields]("registry_test.H") }, ""},
		"tagged":        {func() { retry.RegisterErrorType[taggedField]("registry_test.I") }, ""},
		"reads itself":  {func() { retry.RegisterErrorType[*ownReader]("registry_test.J") }, ""},
		"time and any":  {func() { retry.RegisterErrorType[*timeField]("registry_test.K") }, ""},
		"recursive":     {func() { retry.RegisterErrorType[*recursive]("registry_test.L") }, ""},
		"builtin name":  {func() { retry.RegisterErrorType[*recursive](retry.TypeTimeout) }, "the name is built in"},
		"nil sentinel":  {func() { retry.RegisterError("registry_test.M", nil) }, "nil or cannot be compared"},
		"two names": {func() {
			retry.RegisterError("registry_test.EOF", errors.ErrUnsupported)
			retry.RegisterError("registry_test.EOF2", errors.ErrUnsupported)
		}, "already has the name"},
		"spaces in name": {func() { retry.RegisterError("not a name", errors.New("x")) }, "not an identifier"},
	} {
		got := refusal(c.register)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if strings.Contains(c.want, "the field") && !strings.Contains(got, "json:\"-\"") {
			t.Errorf("%s: %q does not say what to do", name, got)
		}
	}
}

func TestR11_BuiltInNamesAreTaken(t *testing.T) {
	for _, name := range []string{
		retry.TypeError, retry.TypeTimeout, retry.TypeHeartbeatTimeout, retry.TypeQueueTimeout, retry.TypePanic,
		retry.TypeWorkerLost, retry.TypeCanceled, retry.TypeExhausted, retry.TypeRefused, retry.TypeDeadlineExceeded, retry.TypeUnknown,
	} {
		if got := refusal(func() { retry.RegisterError(name, errors.New(name)) }); !strings.Contains(got, "the name is built in") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
