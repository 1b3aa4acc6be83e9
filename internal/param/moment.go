package param

import (
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// Moment is a time as human.Moment reads it.
type Moment struct{ At time.Time }

// UnmarshalText reads a time.
func (m *Moment) UnmarshalText(text []byte) error {
	at, ok := human.Moment(string(text), time.Now())
	if !ok {
		return Bad("time", "write one as in 2026-11-22T08:00:00Z, a date, yesterday, or how long ago it was, as in 90m, 24h or 7d", "is %q, which is no time", Clip(string(text)))
	}
	m.At = at.UTC()
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

// Age is how long ago something was, as text: 90m, 24h or 30d.
type Age time.Duration

// UnmarshalText reads an age, which may be in days.
func (a *Age) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			*a = Age(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return Bad("age", "give one such as 90m, 24h or 30d", "is %q, which is no age", Clip(string(text)))
	}
	*a = Age(d)
	return nil
}

// MarshalText writes an age.
func (a Age) MarshalText() ([]byte, error) { return []byte(time.Duration(a).String()), nil }

func (a Age) String() string { return time.Duration(a).String() }
