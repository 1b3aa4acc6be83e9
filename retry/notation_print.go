package retry

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/notation"
)

// String prints the policy in text notation, with Go's defaults written out where the
// text has other ones. [Parse] reads the result as an equivalent policy, and as an equal
// one if the policy came from Parse. A policy that Validate refuses is printed as well as
// possible.
func (p Policy) String() string {
	var w notationWriter
	// Beside rules, a policy that retries nothing else needs no words for that.
	if once := p.MaxAttempts == 1 && (p.Backoff == None || p.Backoff == Backoff{}); !once || len(p.Rules) == 0 {
		w.retry(p.MaxAttempts, p.Backoff, p.Jitter)
		w.close()
	}
	for i := range p.Rules {
		w.rule(&p, &p.Rules[i])
	}
	w.settings(&p)

	return w.text.String()
}

// notationWriter writes brackets.
type notationWriter struct {
	text  strings.Builder
	open  bool // a bracket is
	typed bool // and has nothing but its types yet
}

// item writes a key, and its value if it has one. It opens a bracket if none
// is.
func (w *notationWriter) item(key, value string) {
	switch {
	case !w.open:
		w.begin()
	case !w.typed:
		w.text.WriteString(", ")
	}
	w.typed = false
	w.text.WriteString(key)
	if value != "" {
		w.text.WriteString(": " + value)
	}
}

// begin opens a bracket.
func (w *notationWriter) begin() {
	if w.text.Len() > 0 {
		w.text.WriteByte(' ')
	}
	w.text.WriteByte('[')
	w.open = true
}

// close ends the bracket that is open.
func (w *notationWriter) close() {
	if w.open {
		w.text.WriteByte(']')
		w.open = false
	}
}

// rule writes the bracket of a rule, with what it takes from the policy.
func (w *notationWriter) rule(p *Policy, r *Rule) {
	w.begin()
	w.text.WriteString(notationTypes(r.Types) + " -> ")
	w.typed = true
	if r.Stop {
		w.item(notation.Stop, "")
		w.close()
		return
	}
	defer w.close()
	if r.OnUnknown != 0 {
		defer w.item(notation.Unknown, r.OnUnknown.String())
	}
	if r.onlyUnknown() {
		return
	}
	attempts, b := cmp.Or(r.MaxAttempts, p.MaxAttempts), r.Backoff
	if attempts != 1 {
		b = cmp.Or(b, p.Backoff)
	}
	w.retry(attempts, b, cmp.Or(r.Jitter, p.Jitter))
}

// onlyUnknown reports whether a rule says nothing about how often and when is retried.
func (r *Rule) onlyUnknown() bool {
	return r.MaxAttempts == 0 && r.Backoff == (Backoff{}) && r.Jitter == (Jitter{}) && r.OnUnknown != 0
}

// retry writes how often and when is retried. The jitter of what never waits is
// left out; it does nothing.
func (w *notationWriter) retry(attempts int, b Backoff, j Jitter) {
	attempts = cmp.Or(attempts, defaultMaxAttempts)
	if attempts == Unlimited {
		w.item(notation.Retry, unlimitedText)
	} else {
		w.item(notation.Retry, strconv.Itoa(attempts-1))
	}
	if b.Kind == backoffNone || attempts == 1 && b == (Backoff{}) {
		return
	}
	w.backoff(b.withDefaultKind())
	if j != (Jitter{}) {
		w.item(notation.Jitter, notationJitter(j))
	}
}

// backoff writes the schedule.
func (w *notationWriter) backoff(b Backoff) {
	first := notationDuration(b.Initial)
	switch b.Kind {
	case backoffFixed:
		w.item(notation.Fixed, first)
	case backoffLinear:
		w.item(notation.Linear, first)
	case backoffExponential:
		w.item(notation.Backoff, first)
	default:
		w.item(notation.Backoff, b.Kind.String())
	}
	if c := b.Coefficient; c != 0 && c != defaultCoefficient {
		w.item(notation.Factor, strconv.FormatFloat(c, 'f', -1, 64))
	}
	if b.Max != 0 {
		w.item(notation.Max, notationDuration(b.Max))
	}
}

// settings writes the bracket of what holds for the whole call.
func (w *notationWriter) settings(p *Policy) {
	w.duration(notation.Timeout, p.AttemptTimeout)
	w.duration(notation.Heartbeat, p.HeartbeatTimeout)
	w.duration(notation.Queue, p.QueueTimeout)
	w.duration(notation.Within, p.Within)
	if p.OnTimeout != StopOnTimeout {
		w.item(notation.OnTimeout, p.OnTimeout.String())
	}
	if len(p.Retryable) > 0 {
		w.item(notation.Only, notationTypes(p.Retryable))
	}
	if len(p.NonRetryable) > 0 {
		w.item(notation.Never, notationTypes(p.NonRetryable))
	}
	if p.OnExhausted != Fail {
		w.item(p.OnExhausted.String(), "")
	}
	if p.OnUnknown != 0 {
		w.item(notation.Unknown, p.OnUnknown.String())
	}
	w.duration(notation.MaxRetryAfter, p.MaxServerDelay)
	if p.CrashLimit != 0 {
		w.item(notation.Crashes, strconv.Itoa(p.CrashLimit))
	}
	w.close()
}

// duration writes a duration that is not zero.
func (w *notationWriter) duration(key string, d time.Duration) {
	if d != 0 {
		w.item(key, notationDuration(d))
	}
}

// notationTypes prints one error type, or several in parentheses.
func notationTypes(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		if quoted[i] = name; !isWord(name) {
			quoted[i] = strconv.Quote(name)
		}
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// notationJitter prints a spread.
func notationJitter(j Jitter) string {
	if j.Kind != jitterProportional {
		return j.Kind.String()
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(j.Proportion, 'f', -1, 64), ".")
	if !isDigits(whole) {
		return whole + "%" // negative or not a number, which Validate refuses
	}
	return shiftPoint(whole, fraction, 2) + "%"
}

// notationDuration prints whole days as such, and the rest as JSON has it.
func notationDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return formatDuration(d)
}
