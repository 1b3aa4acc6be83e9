package view

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/perdure/perdure/retry"
)

// Durations are written as Go prints them, "1h30m0s", which time.ParseDuration and the
// notation of policies read, and retry.Forever as "forever". Each type that has some is written and
// read as a copy of the same fields, of which those with durations are spans and stand last.

// span is a duration in JSON.
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(exactly(time.Duration(d))), nil }

func (d *span) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*d = span(retry.Forever)
		return nil
	}
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write one such as \"1h30m\"", text)
	}
	*d = span(v)
	return nil
}

// spanned is the type of the copies of a struct.
type spanned struct {
	reflect.Type
	from [][]int // the fields of the struct, in the order of those of the copy
}

var spannedTypes sync.Map // by the type of the struct

func spannedOf(t reflect.Type) *spanned {
	if known, ok := spannedTypes.Load(t); ok {
		return known.(*spanned)
	}
	s := &spanned{}
	var fields []reflect.StructField
	for _, last := range []bool{false, true} {
		for _, f := range reflect.VisibleFields(t) {
			if is := f.Type == reflect.TypeFor[time.Duration](); f.Anonymous || is != last {
				continue
			}
			if last {
				f.Type = reflect.TypeFor[span]()
			}
			fields, s.from = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag}), append(s.from, f.Index)
		}
	}
	s.Type = reflect.StructOf(fields)
	spannedTypes.Store(t, s)
	return s
}

// copied returns a pointer to a copy of the struct to which v points.
func copied(v any) (s *spanned, of, to reflect.Value) {
	of = reflect.ValueOf(v).Elem()
	s = spannedOf(of.Type())
	to = reflect.New(s.Type)
	for i, from := range s.from {
		field := to.Elem().Field(i)
		field.Set(of.FieldByIndex(from).Convert(field.Type()))
	}
	return s, of, to
}

// written returns the JSON of the struct to which v points.
func written(v any) ([]byte, error) {
	_, _, to := copied(v)
	return json.Marshal(to.Interface())
}

// read sets the struct to which v points to what its JSON has.
func read(data []byte, v any) error {
	s, of, to := copied(v)
	err := json.Unmarshal(data, to.Interface())
	for i, from := range s.from {
		field := of.FieldByIndex(from)
		field.Set(to.Elem().Field(i).Convert(field.Type()))
	}
	return err
}

// MarshalJSON writes durations as text.
func (a Attempt) MarshalJSON() ([]byte, error) { return written(&a) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Attempt) UnmarshalJSON(data []byte) error { return read(data, a) }

// MarshalJSON writes durations as text.
func (a FoundAttempt) MarshalJSON() ([]byte, error) { return written(&a) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *FoundAttempt) UnmarshalJSON(data []byte) error { return read(data, a) }

// MarshalJSON writes durations as text.
func (c CallAttempts) MarshalJSON() ([]byte, error) { return written(&c) }

// UnmarshalJSON reads what MarshalJSON writes.
func (c *CallAttempts) UnmarshalJSON(data []byte) error { return read(data, c) }

// MarshalJSON writes durations as text.
func (g Gate) MarshalJSON() ([]byte, error) { return written(&g) }

// UnmarshalJSON reads what MarshalJSON writes.
func (g *Gate) UnmarshalJSON(data []byte) error { return read(data, g) }

// MarshalJSON writes durations as text.
func (s Schedule) MarshalJSON() ([]byte, error) { return written(&s) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Schedule) UnmarshalJSON(data []byte) error { return read(data, s) }

// MarshalJSON writes durations as text.
func (s ActivityStats) MarshalJSON() ([]byte, error) { return written(&s) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ActivityStats) UnmarshalJSON(data []byte) error { return read(data, s) }

// MarshalJSON writes durations as text.
func (s HourStats) MarshalJSON() ([]byte, error) { return written(&s) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *HourStats) UnmarshalJSON(data []byte) error { return read(data, s) }

// MarshalJSON writes durations as text.
func (s WorkflowStats) MarshalJSON() ([]byte, error) { return written(&s) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *WorkflowStats) UnmarshalJSON(data []byte) error { return read(data, s) }

// MarshalJSON writes durations as text.
func (n TrialNumbers) MarshalJSON() ([]byte, error) { return written(&n) }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *TrialNumbers) UnmarshalJSON(data []byte) error { return read(data, n) }

// MarshalJSON writes durations as text.
func (l TrialLoad) MarshalJSON() ([]byte, error) { return written(&l) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *TrialLoad) UnmarshalJSON(data []byte) error { return read(data, l) }
