package inspect

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// among returns the one of all that is meant. If there is none it adds one.
func among[T any](all *[]T, meant func(T) bool, other T) *T {
	i := slices.IndexFunc(*all, meant)
	if i < 0 {
		i = len(*all)
		*all = append(*all, other)
	}
	return &(*all)[i]
}

// at converts nanoseconds since 1970 to a time.
func at(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// optional returns nil for 0.
func optional(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	t := at(ns)
	return &t
}

// payload converts a recorded value to its public form.
func payload(p history.Payload) view.Payload {
	switch p.Encoding {
	case history.EncodingJSON:
		return view.Payload{JSON: p.Data}
	case history.EncodingLocked:
		return view.Payload{Locked: string(p.Data)}
	}
	return view.Payload{Encoding: p.Encoding, Bytes: p.Data}
}

func optionalPayload(p *history.Payload) *view.Payload {
	if p == nil {
		return nil
	}
	v := payload(*p)
	return &v
}

// told returns the text of a recorded error and its type, nothing for none.
func told(f *history.Failure) (message, errorType string) {
	if f == nil {
		return "", ""
	}
	return f.Message, f.TypeName()
}

// failure converts a recorded error to its public form.
func failure(f *history.Failure) *view.Failure {
	if f == nil {
		return nil
	}
	v := &view.Failure{Type: f.Type, Name: f.Name, Message: f.Message, Form: string(f.Form), Data: f.Data, Stack: f.Stack}
	for _, c := range f.Causes {
		v.Causes = append(v.Causes, failure(c))
	}
	return v
}

// mismatch converts a difference between code and history to its public form.
func mismatch(m *core.Mismatch) (*view.Mismatch, error) {
	if m == nil {
		return nil, nil
	}
	v := &view.Mismatch{Turn: m.Turn, Command: m.Command}
	var err error
	if v.Expected, err = command(m.Turn, m.Expected); err != nil {
		return nil, err
	}
	v.Actual, err = command(m.Turn, m.Actual)
	return v, err
}

// command converts an event of a mismatch. It has no time, because its turn may not exist.
func command(turn int64, ev *history.Event) (*view.Event, error) {
	if ev == nil {
		return nil, nil
	}
	record, err := json.Marshal(ev)
	return &view.Event{Turn: turn, Kind: string(ev.Kind), Call: ev.Call, Name: ev.Name, Record: record}, err
}

// pause converts a pause to its public form, nil for nil.
func pause(p *core.Pause) *view.Pause {
	if p == nil {
		return nil
	}
	return &view.Pause{By: p.By, Why: p.Reason, Since: at(p.At)}
}
