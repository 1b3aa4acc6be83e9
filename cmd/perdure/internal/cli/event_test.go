package cli

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// counts are the numbers of events that are neither times nor durations.
var counts = map[string]bool{"turn": true, "call": true, "place": true, "block": true, "before": true}

// TestF28_NoTimeOfAnEventIsANumber: each time and duration that an event can have is text
// in history -o json, and what users gave is as they gave it.
func TestF28_NoTimeOfAnEventIsANumber(t *testing.T) {
	const n = 946684801250000000
	for _, v := range []any{&history.Event{}, &history.Start{}} {
		fill(reflect.ValueOf(v).Elem(), n)
		record, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(eventView{Event: view.Event{Record: record}})
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`"(\w+)":\[?946684801250000000`).FindAllStringSubmatch(string(text), -1)
		for _, m := range found {
			if !counts[m[1]] {
				t.Errorf("%T: %s is a number: %s", v, m[1], text)
			}
		}
		if len(found) == 0 {
			t.Errorf("%T has no counts: %s", v, text)
		}
	}
	given := `{"kind":"SignalReceived","due":946684801250000000,"input":{"json":{"due":946684801250000000,"b":1,"a":1e3}},"failure":{"data":{"delay":5}}}`
	want := `{"kind":"SignalReceived","due":"2000-01-01T00:00:01.25Z","input":{"json":{"due":946684801250000000,"b":1,"a":1e3}},"failure":{"data":{"delay":5}}}`
	if got := string(legible(json.RawMessage(given), "")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// fill sets all numbers of 64 bits, with one element in each list.
func fill(v reflect.Value, n int64) {
	switch v.Kind() {
	case reflect.Int64:
		v.SetInt(n)
	case reflect.Pointer:
		if name := v.Type().Elem().Name(); name == "Failure" || name == "Policy" {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Int64 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type().Name() == "Payload" {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, n)
			}
		}
	}
}
