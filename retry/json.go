package retry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// The JSON of a policy. Fields have snake_case names and are left out when they
// are zero; durations are strings such as "1m30s" or "forever"; MaxAttempts is
// a number or "unlimited". A policy that went through JSON is the same policy.
//
//	{
//	  "max_attempts": 8,
//	  "backoff": {"kind": "exponential", "initial": "1s", "coefficient": 2, "max": "1m"},
//	  "jitter": {"kind": "full"},
//	  "within": "10m",
//	  "non_retryable": ["CardDeclined"],
//	  "rules": [{"types": ["RateLimit"], "max_attempts": 20, "backoff": {"kind": "fixed", "initial": "30s"}}]
//	}
type policyJSON struct {
	MaxAttempts      attemptsJSON `json:"max_attempts,omitzero"`
	Backoff          Backoff      `json:"backoff,omitzero"`
	Jitter           Jitter       `json:"jitter,omitzero"`
	AttemptTimeout   durationJSON `json:"attempt_timeout,omitzero"`
	HeartbeatTimeout durationJSON `json:"heartbeat_timeout,omitzero"`
	QueueTimeout     durationJSON `json:"queue_timeout,omitzero"`
	Within           durationJSON `json:"within,omitzero"`
	OnTimeout        OnTimeout    `json:"on_timeout,omitzero"`
	Retryable        []string     `json:"retryable,omitempty"`
	NonRetryable     []string     `json:"non_retryable,omitempty"`
	Rules            []Rule       `json:"rules,omitempty"`
	OnExhausted      OnExhausted  `json:"on_exhausted,omitzero"`
	OnUnknown        OnUnknown    `json:"on_unknown,omitzero"`
	MaxServerDelay   durationJSON `json:"max_server_delay,omitzero"`
	CrashLimit       int          `json:"crash_limit,omitzero"`
}

type ruleJSON struct {
	Types       []string     `json:"types"`
	Stop        bool         `json:"stop,omitzero"`
	MaxAttempts attemptsJSON `json:"max_attempts,omitzero"`
	Backoff     Backoff      `json:"backoff,omitzero"`
	Jitter      Jitter       `json:"jitter,omitzero"`
	OnUnknown   OnUnknown    `json:"on_unknown,omitzero"`
}

type backoffJSON struct {
	Kind        BackoffKind  `json:"kind,omitzero"`
	Initial     durationJSON `json:"initial,omitzero"`
	Coefficient float64      `json:"coefficient,omitzero"`
	Max         durationJSON `json:"max,omitzero"`
}

type jitterJSON struct {
	Kind       JitterKind `json:"kind,omitzero"`
	Proportion float64    `json:"proportion,omitzero"`
}

// MarshalJSON writes the policy as UnmarshalJSON reads it. It fails only for
// values that Validate refuses as well, such as a coefficient of NaN.
func (p Policy) MarshalJSON() ([]byte, error) {
	return json.Marshal(policyJSON{
		MaxAttempts:      attemptsJSON(p.MaxAttempts),
		Backoff:          p.Backoff,
		Jitter:           p.Jitter,
		AttemptTimeout:   durationJSON(p.AttemptTimeout),
		HeartbeatTimeout: durationJSON(p.HeartbeatTimeout),
		QueueTimeout:     durationJSON(p.QueueTimeout),
		Within:           durationJSON(p.Within),
		OnTimeout:        p.OnTimeout,
		Retryable:        p.Retryable,
		NonRetryable:     p.NonRetryable,
		Rules:            p.Rules,
		OnExhausted:      p.OnExhausted,
		OnUnknown:        p.OnUnknown,
		MaxServerDelay:   durationJSON(p.MaxServerDelay),
		CrashLimit:       p.CrashLimit,
	})
}

// UnmarshalJSON reads a policy: fields have snake_case names, durations are
// strings such as "1m30s" or "forever" (a bare number is refused, because its
// unit would be a guess), and max_attempts is a number or "unlimited". What is
// left out is zero. An unknown field is refused. The policy is not validated.
//
// In place of the object it reads a string with the policy in text notation (see
// Parse), which is validated: "[retry: 3, backoff: 1s]".
func (p *Policy) UnmarshalJSON(data []byte) error {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '"' {
		return p.unmarshalNotation(text)
	}
	var w policyJSON
	if err := strictJSON("policy", data, &w); err != nil {
		return err
	}
	*p = Policy{
		MaxAttempts:      int(w.MaxAttempts),
		Backoff:          w.Backoff,
		Jitter:           w.Jitter,
		AttemptTimeout:   time.Duration(w.AttemptTimeout),
		HeartbeatTimeout: time.Duration(w.HeartbeatTimeout),
		QueueTimeout:     time.Duration(w.QueueTimeout),
		Within:           time.Duration(w.Within),
		OnTimeout:        w.OnTimeout,
		Retryable:        w.Retryable,
		NonRetryable:     w.NonRetryable,
		Rules:            w.Rules,
		OnExhausted:      w.OnExhausted,
		OnUnknown:        w.OnUnknown,
		MaxServerDelay:   time.Duration(w.MaxServerDelay),
		CrashLimit:       w.CrashLimit,
	}
	return nil
}

// unmarshalNotation reads a JSON string with a policy in text notation.
func (p *Policy) unmarshalNotation(data []byte) error {
	var text string
	if err := strictJSON("policy", data, &text); err != nil {
		return err
	}
	if err := p.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("retry policy: %w", err)
	}
	return nil
}

// MarshalJSON writes the rule as UnmarshalJSON reads it.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(ruleJSON{r.Types, r.Stop, attemptsJSON(r.MaxAttempts), r.Backoff, r.Jitter, r.OnUnknown})
}

// UnmarshalJSON reads a rule; see Policy.UnmarshalJSON for the spelling.
func (r *Rule) UnmarshalJSON(data []byte) error {
	var w ruleJSON
	if err := strictJSON("rule", data, &w); err != nil {
		return err
	}
	*r = Rule{w.Types, w.Stop, int(w.MaxAttempts), w.Backoff, w.Jitter, w.OnUnknown}
	return nil
}

// MarshalJSON writes the backoff as UnmarshalJSON reads it.
func (b Backoff) MarshalJSON() ([]byte, error) {
	return json.Marshal(backoffJSON{b.Kind, durationJSON(b.Initial), b.Coefficient, durationJSON(b.Max)})
}

// UnmarshalJSON reads a backoff; see Policy.UnmarshalJSON for the spelling.
func (b *Backoff) UnmarshalJSON(data []byte) error {
	var w backoffJSON
	if err := strictJSON("backoff", data, &w); err != nil {
		return err
	}
	*b = Backoff{w.Kind, time.Duration(w.Initial), w.Coefficient, time.Duration(w.Max)}
	return nil
}

// MarshalJSON writes the jitter as UnmarshalJSON reads it.
func (j Jitter) MarshalJSON() ([]byte, error) { return json.Marshal(jitterJSON(j)) }

// UnmarshalJSON reads a jitter; see Policy.UnmarshalJSON for the spelling.
func (j *Jitter) UnmarshalJSON(data []byte) error {
	var w jitterJSON
	if err := strictJSON("jitter", data, &w); err != nil {
		return err
	}
	*j = Jitter(w)
	return nil
}

// strictJSON reads one JSON value and refuses unknown fields.
func strictJSON(what string, data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("retry %s: %w", what, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("retry %s: more than one JSON value; write one object", what)
	}
	return nil
}

// attemptsJSON is a number of attempts.
type attemptsJSON int

const unlimitedText = "unlimited"

func (n attemptsJSON) MarshalJSON() ([]byte, error) {
	if n == Unlimited {
		return json.Marshal(unlimitedText)
	}
	return json.Marshal(int(n))
}

func (n *attemptsJSON) UnmarshalJSON(data []byte) error {
	if string(data) == `"`+unlimitedText+`"` {
		*n = Unlimited
		return nil
	}
	var v int
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%s is not a number of attempts; write a whole number or %q", data, unlimitedText)
	}
	*n = attemptsJSON(v)
	return nil
}

// durationJSON is a duration.
type durationJSON time.Duration

const foreverText = "forever"

func (d durationJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(formatDuration(time.Duration(d)))
}

func (d *durationJSON) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf(`%s is not a duration; write a string with a unit, such as "1m30s" or "forever"`, data)
	}
	v, err := parseDuration(text)
	*d = durationJSON(v)
	return err
}

// formatDuration prints a duration as JSON has it.
func formatDuration(d time.Duration) string {
	if d == Forever {
		return foreverText
	}
	return human.Trimmed(d)
}

// parseDuration reads what formatDuration prints, and all that
// time.ParseDuration reads.
func parseDuration(text string) (time.Duration, error) {
	if text == foreverText {
		return Forever, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write one such as \"1m30s\" or \"forever\"", text)
	}
	return d, nil
}
