package param

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// Moment is a time as human.Moment reads it.
type Moment struct {
	At      time.Time
	Written string // as it was read; empty if it was not
}

// UnmarshalText reads a time.
func (m *Moment) UnmarshalText(text []byte) error {
	at, ok := human.Moment(string(text), time.Now())
	if !ok {
		return Bad("time", "write one as in 2026-11-22T08:00:00Z, a date, yesterday, or how long ago it was, as in 90m, 24h or 7d", "is %q, which is no time", Clip(string(text)))
	}
	m.At, m.Written = at.UTC(), string(text)
	return nil
}

// MarshalText writes the time in RFC 3339.
func (m Moment) MarshalText() ([]byte, error) { return m.At.MarshalText() }

func (m Moment) String() string { return m.At.Format(time.RFC3339Nano) }

// IsZero reports whether there is no time.
func (m Moment) IsZero() bool { return m.At.IsZero() }

// Pairs are names with values.
type Pairs map[string]string

// Add adds a pair, given as NAME=VALUE.
func (p *Pairs) Add(text string) error {
	name, value, ok := strings.Cut(text, "=")
	switch _, twice := (*p)[name]; {
	case !ok || name == "":
		return Bad("attribute", "write it as in customer=ann", "is %q, which is no NAME=VALUE", Clip(text))
	case twice:
		return Bad("attribute", "give each once", "%s has two values", Clip(name))
	}
	if *p == nil {
		*p = Pairs{}
	}
	(*p)[name] = value
	return nil
}

// String writes one pair a line, by name.
func (p Pairs) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		lines = append(lines, name+"="+p[name])
	}
	return strings.Join(lines, "\n")
}

// Span is a duration as text: 500ms, 1h30m or 7d.
type Span time.Duration

// UnmarshalText reads a duration, which may be in days.
func (s *Span) UnmarshalText(text []byte) error {
	d, ok := human.Span(string(text))
	if !ok {
		return Bad("duration", "write one with its units, as in 1h30m, 500ms or 7d", "is %q, which is none", Clip(string(text)))
	}
	*s = Span(d)
	return nil
}

// MarshalText writes a duration.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Span) String() string { return time.Duration(s).String() }

// Age is how long ago something was, as text: 90m, 24h or 30d.
type Age time.Duration

// UnmarshalText reads an age, which may be in days.
func (a *Age) UnmarshalText(text []byte) error {
	var s Span
	if err := s.UnmarshalText(text); err != nil || s <= 0 {
		return Bad("age", "give one such as 90m, 24h or 30d", "is %q, which is no age", Clip(string(text)))
	}
	*a = Age(s)
	return nil
}

// MarshalText writes an age.
func (a Age) MarshalText() ([]byte, error) { return []byte(time.Duration(a).String()), nil }

func (a Age) String() string { return time.Duration(a).String() }
