package retry

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/errname"
)

// Fault is a mistake in a policy.
type Fault struct {
	// Field is the path of the field, such as "Rules[1].Backoff.Max".
	Field string

	// Value is the value of the field.
	Value string

	// Allowed describes the allowed values.
	Allowed string
}

// String returns a sentence without its full stop.
func (f Fault) String() string {
	return fmt.Sprintf("%s is %s; allowed is %s", f.Field, f.Value, f.Allowed)
}

// PolicyError lists everything that is wrong with a policy.
type PolicyError struct {
	// Faults has at least one element, in the order of the fields.
	Faults []Fault
}

// Error lists all faults.
func (e *PolicyError) Error() string {
	var faults []string
	for _, f := range e.Faults {
		faults = append(faults, f.String()+".")
	}
	return "invalid retry policy: " + strings.Join(faults, " ")
}

// Validate returns nil or a *PolicyError that lists everything that is wrong
// with the policy. It allocates nothing for a valid one.
func (p Policy) Validate() error { return p.validate() }

// faults collects what is wrong.
type faults []Fault

// add notes a fault.
func (f *faults) add(field, value, allowed string) {
	*f = append(*f, Fault{Field: field, Value: value, Allowed: allowed})
}

// duration notes a negative duration.
func (f *faults) duration(field string, d time.Duration, zero string) {
	if d < 0 {
		f.add(field, formatDuration(d), "0 ("+zero+") or more")
	}
}

// validate is Validate without a copy of the policy.
func (p *Policy) validate() error {
	var f faults
	f.attempts("MaxAttempts", p.MaxAttempts, "the default, 5", p.Within)
	f.backoff("Backoff", p.Backoff)
	f.jitter("Jitter", p.Jitter, p.Backoff)
	f.duration("AttemptTimeout", p.AttemptTimeout, "no bound")
	f.duration("HeartbeatTimeout", p.HeartbeatTimeout, "no bound")
	f.duration("QueueTimeout", p.QueueTimeout, "no bound")
	f.duration("Within", p.Within, "no bound")
	if p.OnTimeout > StopOnTimeout {
		f.add("OnTimeout", p.OnTimeout.String(), "RetryTimeouts or StopOnTimeout")
	}
	f.retried("Retryable", p.Retryable)
	f.unreachable(p)
	f.typeNames("NonRetryable", p.NonRetryable)
	for i := range p.Rules {
		f.rule(p, i)
	}
	if p.OnExhausted > Pause {
		f.add("OnExhausted", p.OnExhausted.String(), "Fail or Pause")
	}
	f.onUnknown(p.OnUnknown)
	f.duration("MaxServerDelay", p.MaxServerDelay, "the default, 1h")
	if p.CrashLimit < 0 {
		f.add("CrashLimit", strconv.Itoa(p.CrashLimit), "0 (the default, 3) or more")
	}
	if len(f) == 0 {
		return nil
	}
	return &PolicyError{Faults: f}
}

// onUnknown checks what follows an unknown outcome.
func (f *faults) onUnknown(o OnUnknown) {
	if o > FailUnknown {
		f.add("OnUnknown", o.String(), "RepeatUnknown, VerifyUnknown, PauseUnknown or FailUnknown")
	}
}

// attempts checks a number of attempts; without limit it needs an end in time
// or the explicit word that there is none.
func (f *faults) attempts(field string, n int, zero string, within time.Duration) {
	switch {
	case n < 0 || n > Unlimited:
		f.add(field, strconv.Itoa(n), fmt.Sprintf("0 (%s), 1 to %d, or Unlimited", zero, Unlimited-1))
	case n == Unlimited && within == 0:
		f.add(field, "Unlimited without Within", "Unlimited with a Within, which may be Forever")
	}
}

// backoff checks a backoff; settings that its kind does not have are faults,
// because they would do nothing.
func (f *faults) backoff(field string, b Backoff) {
	if b.Kind > backoffExponential {
		f.add(field+".Kind", b.Kind.String(), "none, fixed, linear or exponential")
		return
	}
	capped := b.Kind == backoffLinear || b.Kind == backoffExponential

	switch {
	case b.Kind == backoffDefault && b != Backoff{}:
		f.add(field+".Kind", "not set", "a kind, because other fields of the backoff are set")
		return
	case b.Kind == backoffNone && b.Initial != 0:
		f.add(field+".Initial", formatDuration(b.Initial), "0, because the backoff is none")
	case b.Initial < 0:
		f.add(field+".Initial", formatDuration(b.Initial), "0 or more")
	}
	switch c := b.Coefficient; {
	case c == 0:
	case b.Kind != backoffExponential:
		f.add(field+".Coefficient", formatFloat(c), "0, because only an exponential backoff has a coefficient")
	case !(c >= 1) || math.IsInf(c, 1):
		f.add(field+".Coefficient", formatFloat(c), "0 (the default, 2) or a finite number of 1 or more")
	}
	switch {
	case b.Max == 0:
	case !capped:
		f.add(field+".Max", formatDuration(b.Max), "0, because only a linear or exponential backoff has a maximum")
	case b.Max < b.Initial || b.Max < 0:
		f.add(field+".Max", formatDuration(b.Max), "0 (100 times the first delay), or the first delay ("+formatDuration(max(b.Initial, 0))+") or more")
	}
}

// jitter checks a jitter and whether it goes with the backoff.
func (f *faults) jitter(field string, j Jitter, b Backoff) {
	switch p := j.Proportion; {
	case j.Kind > jitterDecorrelated:
		f.add(field+".Kind", j.Kind.String(), "none, proportional, full, equal or decorrelated")
	case j.Kind == jitterProportional && !(p >= 0 && p <= 1):
		f.add(field+".Proportion", formatFloat(p), "0 to 1")
	case j.Kind == jitterDefault && p != 0:
		f.add(field+".Kind", "not set", "a kind, because the proportion is set")
	case j.Kind != jitterProportional && p != 0:
		f.add(field+".Proportion", formatFloat(p), "0, because only proportional jitter has a proportion")
	default:
		f.decorrelated(field, j, b)
	}
}

// decorrelated checks that this jitter has a maximum to grow up to.
func (f *faults) decorrelated(field string, j Jitter, b Backoff) {
	if j.Kind == jitterDecorrelated && (b.Kind == backoffNone || b.Kind == backoffFixed) {
		f.add(field+".Kind", "decorrelated with a backoff that is "+b.Kind.String(), "decorrelated with a linear or exponential backoff, because it grows up to their maximum")
	}
}

// rule checks the i-th rule. The index becomes part of the field names only if
// something is wrong: Do validates at every call.
func (f *faults) rule(p *Policy, i int) {
	before := len(*f)
	f.ruleFields(p, &p.Rules[i])
	for n := before; n < len(*f); n++ {
		fault := &(*f)[n]
		fault.Field = strings.TrimSuffix(fmt.Sprintf("Rules[%d].%s", i, fault.Field), ".")
	}
}

// ruleFields checks the fields of one rule.
func (f *faults) ruleFields(p *Policy, r *Rule) {
	if len(r.Types) == 0 {
		f.add("Types", "empty", "one error type name or more")
	}
	set := r.MaxAttempts != 0 || r.Backoff != (Backoff{}) || r.Jitter != (Jitter{}) || r.OnUnknown != 0
	switch {
	case r.Stop:
		f.typeNames("Types", r.Types)
		if set {
			f.add("Stop", "true with other settings", "true alone, because after a stop nothing else has a meaning")
		}
		return
	case !set:
		f.add("", "without a setting", "a rule that sets Stop, MaxAttempts, Backoff, Jitter or OnUnknown")
	}
	f.onUnknown(r.OnUnknown)
	f.retried("Types", r.Types)
	f.attempts("MaxAttempts", r.MaxAttempts, "the policy's", p.Within)
	f.backoff("Backoff", r.Backoff)

	// What the rule inherits must go with what it has.
	b := cmp.Or(r.Backoff, p.Backoff)
	f.jitter("Jitter", r.Jitter, b)
	if r.Jitter == (Jitter{}) && b != p.Backoff {
		f.decorrelated("Jitter", p.Jitter, b)
	}
}

// retried checks names in a list of what is retried.
func (f *faults) retried(field string, names []string) {
	f.typeNames(field, names)
	if i := slices.Index(names, TypeCanceled); i >= 0 {
		f.add(fmt.Sprintf("%s[%d]", field, i), TypeCanceled, "any other type, because a cancellation is never retried")
	}
}

// unreachable finds timeouts that Retryable lists and OnTimeout stops.
func (f *faults) unreachable(p *Policy) {
	if p.OnTimeout != StopOnTimeout {
		return
	}
	for i, name := range p.Retryable {
		if timeoutOf(name) != nil {
			f.add(fmt.Sprintf("Retryable[%d]", i), name, "any other type, because OnTimeout is StopOnTimeout; write a rule for the type, or use RetryTimeouts")
		}
	}
}

// typeNames checks that names can be printed and stored as they are. Whether an
// error of this name exists is a matter for Warnings.
func (f *faults) typeNames(field string, names []string) {
	for i, name := range names {
		if !validTypeName(name) {
			f.add(fmt.Sprintf("%s[%d]", field, i), strconv.Quote(name), "a type name: UTF-8, not empty, without spaces and control characters")
		}
	}
}

// validTypeName reports whether the name is one word of UTF-8. Do asks at every
// call, and nearly all names are ASCII.
func validTypeName(name string) bool {
	plain := 0
	for plain < len(name) && '!' <= name[plain] && name[plain] <= '~' {
		plain++
	}
	if plain == len(name) {
		return name != ""
	}
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c)
	})
}

// Warnings returns a sentence for each type name in a list or rule that is
// neither built in nor registered. Such a name is allowed: it may be what an
// ErrorType method returns, or a Go type such as "net.OpError". But it may be a
// spelling mistake, too.
func (p Policy) Warnings() []string {
	var warnings []string
	check := func(field string, names []string) {
		for i, name := range names {
			if !errname.Known(name) {
				warnings = append(warnings, fmt.Sprintf("%s[%d] is %q, which is neither built in nor registered; it matches only errors whose ErrorType method or Go type has this name.", field, i, name))
			}
		}
	}
	check("Retryable", p.Retryable)
	check("NonRetryable", p.NonRetryable)
	for i, r := range p.Rules {
		check(fmt.Sprintf("Rules[%d].Types", i), r.Types)
	}
	return warnings
}

// formatFloat prints a number for a message.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// quoteList prints the names, without empty ones, for a message.
func quoteList(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		if name != "" {
			quoted = append(quoted, strconv.Quote(name))
		}
	}
	return strings.Join(quoted, ", ")
}
