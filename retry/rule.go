package retry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/lossy"
)

// Match is what a rule applies to, by value instead of by name: the compiler sees that the
// errors exist.
//
//	retry.Policy{MaxAttempts: 5, Rules: []retry.Rule{
//		retry.On(ErrDeclined).Stop(),
//		retry.OnType[*RateLimited]().Attempts(20),
//	}}
//
// A policy is data nevertheless: the rule holds the names of the errors, as the ledger does.
// After an error is renamed, open calls still use the recorded name.
//
// Rules are mostly made in package variables, before an init function registers names. So a name
// that was made for a rule may be replaced by RegisterError or RegisterErrorType; the rule holds
// for the error by either.
type Match struct{ types []string }

// On matches sentinel errors, and errors that wrap one. A sentinel without a name gets one as
// RegisterError would give it, made from its text: "card declined" is CardDeclined. Register one
// yourself if the text may change.
//
// It panics, as RegisterError does, for nil, for a text without letters, and if another error
// has that name.
func On(sentinels ...error) Match {
	var m Match
	for _, err := range sentinels {
		name := TypeName(err)
		switch t := reflect.TypeOf(err); {
		case name == "" || name == TypeError:
			if name = nameOf(err); name == "" {
				panic(fmt.Sprintf("retry.On: the error %q has no word in its text to be named by; name it with retry.RegisterError.", textOf(err, "nil")))
			}
			errname.Make(name, err)
		case name == goTypeName(t) && !t.Implements(namesItself):
			errname.RuleType(t, name)
		}
		m.types = append(m.types, name)
	}
	return m
}

// nameOf makes a name of the words of an error's text.
func nameOf(err error) string {
	var name strings.Builder
	begins := true
	for _, r := range textOf(err, "") {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			begins = true
			continue
		case name.Len() == 0 && unicode.IsDigit(r):
			continue // no name begins so
		case begins:
			r = unicode.ToUpper(r)
		}
		begins = false
		name.WriteRune(r)
	}
	return name.String()
}

// OnType matches errors of type T, and errors that wrap one: those for which errors.As finds a
// T. A type without a name gets its Go type as its name, as RegisterErrorType would give it, so
// that workflows get values of it back if JSON can read them. T and *T are two types.
//
// It panics for an interface type, and for a type whose method ErrorType names each error
// itself: write a Rule with these names.
func OnType[T error]() Match {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("retry.OnType[%s]: the type is an interface, which has no name in the ledger; write the concrete type.", t))
	}
	if t.Implements(namesItself) {
		panic(fmt.Sprintf("retry.OnType[%s]: its method ErrorType gives each error a name; write a retry.Rule with these names.", t))
	}
	name, ok := errname.OfGoType(t)
	if !ok {
		name = goTypeName(t)
		if field, _ := lossy.Unreadable(t); field == "" {
			errname.MakeType[T](name)
		}
	}
	errname.RuleType(t, name)
	return Match{[]string{name}}
}

// namesItself are the types of errors that say what they are called.
var namesItself = reflect.TypeFor[interface{ ErrorType() string }]()

// Or also matches what other does.
func (m Match) Or(other Match) Match {
	return Match{slices.Concat(m.types, other.types)}
}

// Stop makes the rule that ends the call at the first such error.
func (m Match) Stop() Rule { return Rule{Types: m.types, Stop: true} }

// Attempts makes the rule that allows n attempts, with the policy's backoff; Unlimited for no
// limit.
func (m Match) Attempts(n int) Rule { return Rule{Types: m.types, MaxAttempts: n} }

// Backoff makes the rule that waits by b, with the policy's number of attempts.
func (m Match) Backoff(b Backoff) Rule { return Rule{Types: m.types, Backoff: b} }

// WithBackoff returns the rule with another backoff.
func (r Rule) WithBackoff(b Backoff) Rule {
	r.Backoff = b
	return r
}

// OnUnknown makes the rule that says what follows such an error of an attempt that may have had
// its effect; the rest is as the policy has it.
func (m Match) OnUnknown(o OnUnknown) Rule { return Rule{Types: m.types, OnUnknown: o} }
