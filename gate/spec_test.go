package gate_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate"
)

func full() gate.Spec {
	return gate.New("payments", 10, gate.WithMaxHold(time.Minute), gate.WithRate(50, 10),
		gate.WithBudget(gate.Budget{Tokens: 100, Cost: 2, Refund: 0.1, PerKey: true}),
		gate.WithBreaker(gate.Breaker{Failures: 5, Cooldown: 30 * time.Second, Wait: true, PerKey: true}),
		gate.WithPerKey(gate.PerKey{Limit: 2, Rate: gate.Rate{PerSecond: 5, Burst: 3}}), gate.WithPriorityFirst()).Spec()
}

// TestFullIsFull guards the tests below: a new field must be in them.
func TestFullIsFull(t *testing.T) {
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			name := path + v.Type().Field(i).Name
			if v.Field(i).IsZero() {
				t.Errorf("%s is zero", name)
			}
			if v.Field(i).Kind() == reflect.Struct {
				walk(v.Field(i), name+".")
			}
		}
	}
	walk(reflect.ValueOf(full()), "Spec.")
}

func TestASpecIsPlainData(t *testing.T) {
	for want, spec := range map[string]gate.Spec{
		`{"name":"payments","limit":10,"mode":"hold","max_hold":"1m0s","rate":{"per_second":50,"burst":10},"budget":{"tokens":100,"cost":2,"refund":0.1,"per_key":true},"breaker":{"failures":5,"cooldown":"30s","wait":true,"per_key":true},"per_key":{"limit":2,"rate":{"per_second":5,"burst":3}},"priority_first":true}`: full(),
		`{"name":"small","limit":1}`: {Name: "small", Limit: 1},
	} {
		data, err := json.Marshal(spec)
		if err != nil || string(data) != want {
			t.Errorf("%v\n%s\n%s", err, data, want)
		}
		var back gate.Spec
		if err := json.Unmarshal(data, &back); err != nil || back != spec {
			t.Errorf("%s is read as %+v, %v", data, back, err)
		}
		if err := back.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{`{"name":"a","limits":1}`, `{"name":"a","limit":1,"max_hold":5}`, `{"name":"a","limit":1,"rate":{"per_minute":1}}`, `{"name":"a","max_hold":"soon"}`, `[]`} {
		var s gate.Spec
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s is read as %+v", text, s)
		}
	}
}

func TestR40_ASpecIsValidated(t *testing.T) {
	for want, spoil := range map[string]func(*gate.Spec){
		`gate "" is misconfigured: its name is empty`:      func(s *gate.Spec) { s.Name = "" },
		"its name is 201 bytes long; the limit is 200":     func(s *gate.Spec) { s.Name = strings.Repeat("x", 201) },
		"its name is not valid UTF-8":                      func(s *gate.Spec) { s.Name = "\xff" },
		"its name contains a control character":            func(s *gate.Spec) { s.Name = "a\nb" },
		"Limit is 0; allowed is 1 to":                      func(s *gate.Spec) { s.Limit = 0 },
		`Mode is "often"; allowed is hold, release`:        func(s *gate.Spec) { s.Mode = "often" },
		"MaxHold is 1m0s and Mode is empty; name the mode": func(s *gate.Spec) { s.Mode = "" },
		"MaxHold is 1m0s; allowed is 0 in mode rejoin":     func(s *gate.Spec) { s.Mode = gate.Rejoin },
		"Rate.PerSecond is -1":                             func(s *gate.Spec) { s.Rate.PerSecond = -1 },
		"Budget.Tokens is -1":                              func(s *gate.Spec) { s.Budget.Tokens = -1 },
		"Breaker.Cooldown is 0s":                           func(s *gate.Spec) { s.Breaker.Cooldown = 0 },
	} {
		s := full()
		spoil(&s)
		if err := gate.FromSpec(s).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if err := (gate.Spec{}).Validate(); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all at once: %v", err)
	}
}

// FuzzSpec: no text panics, and what is valid is the same after another round.
func FuzzSpec(f *testing.F) {
	f.Add(`{"name":"payments","limit":10,"mode":"hold","max_hold":"1m","breaker":{"failures":5,"cooldown":"30s"}}`)
	f.Add(`{"name":"a","limit":1,"rate":{"per_second":1e-6,"burst":31}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s, back gate.Spec
		if json.Unmarshal([]byte(text), &s) != nil || s.Validate() != nil {
			return
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &back); err != nil || back != s {
			t.Errorf("%s is read as %+v, %v", data, back, err)
		}
	})
}

// TestT3_TheGateOfRunsIsNotMade by a program: calls at it would count as runs.
func TestT3_TheGateOfRunsIsNotMade(t *testing.T) {
	if err := gate.New("perdure.runs", 1).Validate(); err == nil || !strings.Contains(err.Error(), "perdure.PerKey") {
		t.Error(err)
	}
}
