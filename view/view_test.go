package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// The JSON of a recorded value or error is that of its view.
func TestViewsReadTheJSONOfRecords(t *testing.T) {
	for _, p := range []history.Payload{
		{Encoding: "json", Data: []byte(`{"a":[1,null]}`)}, {Encoding: "json", Data: []byte(`null`)}, {Encoding: "gob", Data: []byte{1, 2}},
	} {
		var v view.Payload
		same(t, p, &v)
		if v.String() != p.String() || v.Absent() {
			t.Errorf("%s reads as %s", p, v)
		}
	}
	var v view.Payload
	same(t, history.Failure{Type: "a", Name: "b", Message: "c", Form: "sentinel", Data: json.RawMessage(`{"x":1}`), Stack: "s"}, &view.Failure{})
	same(t, history.FromError(fmt.Errorf("charge: %w", errors.New("refused"))), &view.Failure{})
	if err := json.Unmarshal([]byte("null"), &v); err != nil || !(view.Payload{}).Absent() {
		t.Errorf("no value: %v", err)
	}
}

// same holds the JSON of a view that was read from a record to that of the record.
func same(t *testing.T, record, into any) {
	t.Helper()
	want, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, into); err != nil {
		t.Fatalf("%s cannot be read as %T: %v", want, into, err)
	}
	if got, err := json.Marshal(into); string(got) != string(want) || err != nil {
		t.Errorf("%s became %s, %v", want, got, err)
	}
}

func TestEventsKeepTheirRecord(t *testing.T) {
	record := `{"turn":3,"time":"2026-07-01T12:00:00Z","kind":"CallCompleted","call":2,"name":"charge","result":{"json":1}}`
	var ev view.Event
	if err := json.Unmarshal([]byte(record), &ev); err != nil {
		t.Fatal(err)
	}
	if ev.Turn != 3 || ev.Kind != "CallCompleted" || ev.Call != 2 || ev.Name != "charge" || ev.Time.Year() != 2026 {
		t.Errorf("it is %+v", ev)
	}
	got, err := json.Marshal(ev)
	if string(got) != record || err != nil {
		t.Errorf("it became %s, %v", got, err)
	}
}

func TestPayloadsDecode(t *testing.T) {
	var n []int
	if err := (view.Payload{JSON: json.RawMessage("[1,2]")}).Decode(&n); err != nil || !reflect.DeepEqual(n, []int{1, 2}) {
		t.Errorf("decoded %v, %v", n, err)
	}
	if err := (view.Payload{}).Decode(&n); err != nil || len(n) != 2 {
		t.Errorf("an absent value decoded to %v, %v", n, err)
	}
	if err := (view.Payload{Encoding: "gob", Bytes: []byte{1}}).Decode(&n); err == nil {
		t.Error("an unknown encoding was decoded")
	}
}

// TestF48_WhatIsFoundByItsCalls: the command, the API and the dashboard say by the same rules
// which runs retry and which rest.
func TestF48_WhatIsFoundByItsCalls(t *testing.T) {
	paused := &view.Pause{By: "ann"}
	for _, c := range []struct {
		call           view.Call
		retries, rests bool
	}{
		{view.Call{State: view.CallBackoff, Failures: 1}, true, false},
		{view.Call{State: view.CallBackoff}, false, false}, // lost, not failed
		{view.Call{State: view.CallGated, Failures: 2}, true, false},
		{view.Call{State: view.CallOffered, Failures: 2, ActivityPaused: paused}, true, true},
		{view.Call{State: view.CallRunning, Failures: 2, ActivityPaused: paused}, false, false},
		{view.Call{State: view.CallQueued, ActivityPaused: paused}, false, true},
		{view.Call{State: view.CallQueued}, false, false},
		{view.Call{State: view.CallPaused, Failures: 2}, false, true},
	} {
		if retries, rests := c.call.Retries(), c.call.Rests(); retries != c.retries || rests != c.rests {
			t.Errorf("%+v: retries %v, rests %v", c.call, retries, rests)
		}
	}
}
