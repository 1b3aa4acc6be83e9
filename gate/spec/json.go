package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The JSON of a Spec. Fields have snake_case names and are left out when they
// are zero; durations are strings such as "30s".
//
//	{"name": "payments", "limit": 10, "mode": "hold", "max_hold": "1m",
//	 "rate": {"per_second": 50, "burst": 10},
//	 "budget": {"tokens": 100, "refund": 0.1},
//	 "breaker": {"failures": 5, "cooldown": "30s", "wait": true},
//	 "per_key": {"limit": 2, "rate": {"per_second": 5}}}
type specJSON struct {
	Name    string   `json:"name"`
	Limit   int      `json:"limit"`
	Mode    Mode     `json:"mode,omitempty"`
	MaxHold duration `json:"max_hold,omitzero"`
	Rate    Rate     `json:"rate,omitzero"`
	Budget  Budget   `json:"budget,omitzero"`
	Breaker Breaker  `json:"breaker,omitzero"`

	PerKey        PerKey `json:"per_key,omitzero"`
	PriorityFirst bool   `json:"priority_first,omitempty"`
}

type breakerJSON struct {
	Failures int      `json:"failures"`
	Cooldown duration `json:"cooldown"`
	Wait     bool     `json:"wait,omitzero"`
	PerKey   bool     `json:"per_key,omitzero"`
}

// MarshalJSON writes the Spec as UnmarshalJSON reads it.
func (s Spec) MarshalJSON() ([]byte, error) {
	return json.Marshal(specJSON{
		Name: s.Name, Limit: s.Limit, Mode: s.Mode, MaxHold: duration(s.MaxHold), Rate: s.Rate, Budget: s.Budget,
		Breaker: s.Breaker, PerKey: s.PerKey, PriorityFirst: s.PriorityFirst,
	})
}

// UnmarshalJSON reads a Spec. It refuses unknown fields and durations without a unit, and
// does not validate the Spec.
func (s *Spec) UnmarshalJSON(data []byte) error {
	var w specJSON
	if err := strictJSON(data, &w); err != nil {
		return err
	}
	*s = Spec{
		Name: w.Name, Limit: w.Limit, Mode: w.Mode, MaxHold: time.Duration(w.MaxHold), Rate: w.Rate, Budget: w.Budget,
		Breaker: w.Breaker, PerKey: w.PerKey, PriorityFirst: w.PriorityFirst,
	}
	return nil
}

// MarshalJSON writes the Breaker as UnmarshalJSON reads it.
func (b Breaker) MarshalJSON() ([]byte, error) {
	return json.Marshal(breakerJSON{b.Failures, duration(b.Cooldown), b.Wait, b.PerKey})
}

// UnmarshalJSON reads a Breaker as Spec.UnmarshalJSON does.
func (b *Breaker) UnmarshalJSON(data []byte) error {
	var w breakerJSON
	if err := strictJSON(data, &w); err != nil {
		return err
	}
	*b = Breaker{w.Failures, time.Duration(w.Cooldown), w.Wait, w.PerKey}
	return nil
}

// strictJSON reads one JSON value, and refuses fields that it does not know.
func strictJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("gate: more than one JSON value; write one object")
	}
	return nil
}

// duration is a duration as text.
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write one such as \"30s\"", text)
	}
	*d = duration(v)
	return nil
}

type plainStats Stats

type statsJSON struct {
	*plainStats
	OldestWait *duration `json:"oldest_wait"`
	Cooldown   *duration `json:"cooldown,omitempty"`
}

// MarshalJSON writes durations as text.
func (s Stats) MarshalJSON() ([]byte, error) {
	j := statsJSON{(*plainStats)(&s), (*duration)(&s.OldestWait), nil}
	if s.Cooldown != 0 {
		j.Cooldown = (*duration)(&s.Cooldown)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Stats) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &statsJSON{(*plainStats)(s), (*duration)(&s.OldestWait), (*duration)(&s.Cooldown)})
}
