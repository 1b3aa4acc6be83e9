package retry

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/notation"
)

// bracket is what one pair of brackets says.
type bracket struct {
	alone bool    // it may have a backoff or jitter without a retry
	types []named // none: it holds for all errors, or for the call
	first string  // its first key
	delay string  // which of backoff, fixed and linear it has
	seen  map[string]bool
	rule  Rule
}

// bracket reads one bracket into the draft.
func (d *draft) bracket(s *scanner) error {
	if !s.mark("[") {
		return s.fail(s.at, "is not a bracket", `"[", such as [retry: 3, backoff: 1s]`)
	}
	at := s.at - 1
	types, err := s.heading()
	if err != nil {
		return err
	}
	b := bracket{alone: d.change != nil && len(types) == 0, types: types, seen: map[string]bool{}}
	for {
		if err := d.item(s, &b); err != nil {
			return err
		}
		if s.mark("]") {
			break
		}
		if !s.mark(",") {
			return s.fail(s.at, "is in the way", `"," and another key, or "]"`)
		}
	}
	d.brackets++
	return d.close(s, &b, at)
}

// item reads one key with its value.
func (d *draft) item(s *scanner, b *bracket) error {
	at := s.next()
	key, err := b.key(s)
	if err != nil {
		return err
	}
	if problem, expected := b.misplaced(key); problem != "" {
		return s.fail(at, problem, expected)
	}
	b.seen[key.Name] = true
	if d.change != nil {
		d.change[b.field(key)] = true
	}
	b.first = cmp.Or(b.first, key.Name)
	if key.Value != "" && !s.mark(":") {
		return s.fail(s.at, "is in the way", fmt.Sprintf(`":" behind %s, and then %s`, key.Name, key.Value))
	}
	if key.Where == notation.ForAny && len(b.types) > 0 {
		b.rule.OnUnknown, err = s.onUnknown()
		return err
	}
	if key.Where == notation.ForAll || key.Where == notation.ForAny || key.Where == notation.WithTimeout {
		return d.setting(s, key.Name, at)
	}
	return d.attempts(s, b, key.Name)
}

// key reads a key that this bracket does not have yet.
func (b *bracket) key(s *scanner) (notation.Key, error) {
	at := s.at
	name := s.word()
	key, known := notation.Find(name)
	switch {
	case !known:
		return key, s.fail(at, "is not a key", b.expected())
	case b.seen[name]:
		return key, s.fail(at, "stands in this bracket already", `"]", or another key`)
	}
	return key, nil
}

// field is the field of a policy that a key of this bracket sets.
func (b *bracket) field(key notation.Key) string {
	if len(b.types) > 0 {
		return "Rules"
	}
	field, _, _ := strings.Cut(key.Field, ":")
	field, _, _ = strings.Cut(field, ".")
	return field
}

// expected lists the keys that may come next.
func (b *bracket) expected() string {
	var keys []string
	for _, k := range notation.Keys {
		if problem, _ := b.misplaced(k); problem == "" && !b.seen[k.Name] {
			keys = append(keys, k.Name)
		}
	}
	text := "one of " + strings.Join(keys, ", ")
	switch {
	case len(keys) == 0:
		return `"]"`
	case b.first == "" && len(b.types) == 0:
		return text + `, or error types with "->" behind them`
	}
	return text
}

// misplaced says why a key must not stand where it does, and what may; it is
// empty if it may.
func (b *bracket) misplaced(key notation.Key) (problem, expected string) {
	typed, retrying := len(b.types) > 0, b.first == notation.Retry
	switch {
	case b.first == notation.Stop:
		return "stands behind stop", `"]", because after a stop nothing else has a meaning`
	case key.Where == notation.Alone && !typed:
		return "lacks its error types", "them before it, such as [CardDeclined -> stop]"
	case key.Where == notation.Alone && b.first != "":
		return "does not stand alone", "stop in a bracket of its own, such as [CardDeclined -> stop]"
	case key.Where == notation.InRetry && b.first != "":
		return "is not the first key of its bracket", "it in a bracket of its own, such as [retry: 3] [timeout: 2m]"
	case (key.Where == notation.AfterRetry || key.Where == notation.AfterDelay) && !retrying && !b.alone:
		return "has no retry before it", "retry first, such as [retry: 3, backoff: 30s]"
	case key.Where == notation.AfterRetry && b.delay != "":
		return "stands behind " + b.delay, "one of backoff, fixed and linear"
	case (key.Where == notation.ForAll || key.Where == notation.WithTimeout) && typed:
		return "has no error types, it holds for the whole call", "it in a bracket of its own, such as [within: 10m]"
	case key.Where == notation.WithTimeout && retrying:
		return "stands in a retry bracket", "it in a bracket of its own, such as [retry: 3] [timeout: 2m]"
	case key.Where == notation.AfterDelay:
		return b.shapeless(key.Name)
	}
	return "", ""
}

// shapeless says why a key has no meaning for the backoff of the bracket.
func (b *bracket) shapeless(key string) (problem, expected string) {
	switch {
	case b.delay == "" && key == notation.Jitter && b.alone:
		return "", ""
	case b.delay == "":
		return "has no backoff before it", "backoff, fixed or linear first"
	case key == notation.Factor && b.delay != notation.Backoff:
		return "has no meaning for " + b.delay, "factor after backoff only"
	case key == notation.Max && b.delay == notation.Fixed:
		return "has no meaning for " + b.delay, "max after backoff or linear only"
	}
	return "", ""
}

// attempts reads the value of a key of a retry or stop bracket.
func (d *draft) attempts(s *scanner, b *bracket, key string) (err error) {
	r := &b.rule
	switch key {
	case notation.Retry:
		if !b.alone {
			r.Backoff = None
		}
		r.MaxAttempts, err = d.retries(s)
	case notation.Backoff:
		r.Backoff, b.delay = Exponential(0, defaultCoefficient, 0), key
		r.Backoff.Initial, err = s.duration()
	case notation.Fixed:
		r.Backoff, b.delay = Fixed(0), key
		r.Backoff.Initial, err = s.duration()
	case notation.Linear:
		r.Backoff, b.delay = Linear(0, 0), key
		r.Backoff.Initial, err = s.duration()
	case notation.Factor:
		r.Backoff.Coefficient, err = s.factor()
	case notation.Max:
		r.Backoff.Max, err = s.longest(r.Backoff.Initial)
	case notation.Jitter:
		r.Jitter, err = s.jitter(b.delay)
	case notation.Stop:
		r.Stop = true
	}
	return err
}

// retries reads a number of retries and returns that of attempts.
func (d *draft) retries(s *scanner) (int, error) {
	at := s.next()
	if s.keyword(unlimitedText) {
		d.unlimited = cmp.Or(d.unlimited, at)
		return Unlimited, nil
	}
	n, err := s.count(0, Unlimited-2, "is not a number of retries", fmt.Sprintf("a whole number from 0 to %d, or unlimited", Unlimited-2))
	return n + 1, err
}

// longest reads the longest wait of a backoff that begins with a wait.
func (s *scanner) longest(initial time.Duration) (time.Duration, error) {
	at := s.next()
	limit, err := s.duration()
	if err == nil && (limit == 0 || limit < initial) {
		return 0, s.fail(at, "is shorter than the first wait, or zero", notationDuration(max(initial, 1))+" or more")
	}
	return limit, err
}

// jitter reads a spread of the waits of a backoff.
func (s *scanner) jitter(delay string) (Jitter, error) {
	at := s.next()
	if p, ok := s.percent(); ok {
		return Proportional(p), nil
	}
	kind := JitterKind(max(s.choice(jitterWords), 0))
	switch {
	case kind == jitterDefault:
		return Jitter{}, s.fail(at, "is not a jitter", "none, full, equal, decorrelated or a percentage from 0% to 100%")
	case kind == jitterDecorrelated && delay == notation.Fixed:
		return Jitter{}, s.fail(at, "has no meaning for fixed", "decorrelated after backoff or linear only, because it grows up to their max")
	}
	return Jitter{Kind: kind}, nil
}

// jitterWords are the jitters that are one word; the index is the kind.
var jitterWords = []string{jitterNone: "none", jitterFull: "full", jitterEqual: "equal", jitterDecorrelated: "decorrelated"}
