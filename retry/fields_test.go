package retry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/golden"
	"github.com/perdure/perdure/retry"
)

// witness proves that one field has an effect: two policies that differ in it
// alone, and what happens to a call under both.
type witness struct {
	a, b     retry.Policy
	attempts []golden.Attempt
}

// failures are attempts that fail with the outcomes, with different draws.
func failures(outcomes ...string) []golden.Attempt {
	var attempts []golden.Attempt
	for i, outcome := range outcomes {
		attempts = append(attempts, golden.Attempt{Outcome: outcome, U: float64(i) / 4, Took: time.Millisecond})
	}
	return attempts
}

// witnesses has an entry for each field of a policy, those of its parts
// included. A new field without an entry fails the test.
func witnesses() map[string]witness {
	six := failures("A", "A", "A", "A", "A", "A")
	slow := []golden.Attempt{{Outcome: "ok", Took: time.Minute}, {Outcome: "ok"}}
	backoff := func(b retry.Backoff) retry.Policy {
		return retry.Policy{MaxAttempts: 4, Backoff: b, Jitter: retry.NoJitter}
	}
	jitter := func(j retry.Jitter) retry.Policy { return retry.Policy{MaxAttempts: 3, Jitter: j} }
	rule := func(r retry.Rule) retry.Policy {
		return retry.Policy{MaxAttempts: 2, Jitter: retry.NoJitter, Rules: []retry.Rule{r}}
	}
	ruleBackoff := func(b retry.Backoff) retry.Policy {
		return rule(retry.Rule{Types: []string{"A"}, MaxAttempts: 4, Backoff: b})
	}
	ruleJitter := func(j retry.Jitter) retry.Policy {
		return rule(retry.Rule{Types: []string{"A"}, MaxAttempts: 3, Jitter: j})
	}
	second := time.Second
	late := func(o retry.OnUnknown) retry.Policy {
		return retry.Policy{AttemptTimeout: second, Rules: []retry.Rule{{Types: []string{retry.TypeTimeout}, MaxAttempts: 3, OnUnknown: o}}}
	}
	linear, growing := retry.Linear(second, 9*second), retry.Exponential(second, 2, 9*second)
	linear2, growing2 := linear, growing
	linear2.Initial, growing2.Coefficient = 2*second, 3
	exponential := linear
	exponential.Kind = retry.Exponential(0, 0, 0).Kind
	capped := growing
	capped.Max = 1500 * time.Millisecond

	return map[string]witness{
		"MaxAttempts":         {retry.Policy{MaxAttempts: 2}, retry.Policy{MaxAttempts: 3}, six},
		"Backoff.Kind":        {backoff(linear), backoff(exponential), six},
		"Backoff.Initial":     {backoff(linear), backoff(linear2), six},
		"Backoff.Coefficient": {backoff(growing), backoff(growing2), six},
		"Backoff.Max":         {backoff(growing), backoff(capped), six},
		"Jitter.Kind":         {jitter(retry.FullJitter), jitter(retry.EqualJitter), six},
		"Jitter.Proportion":   {jitter(retry.Proportional(0.1)), jitter(retry.Proportional(0.2)), six},
		"AttemptTimeout":      {retry.Policy{}, retry.Policy{AttemptTimeout: second}, slow},
		"HeartbeatTimeout":    {retry.Policy{}, retry.Policy{HeartbeatTimeout: second}, slow},
		"Within":              {retry.Policy{}, retry.Policy{Within: 2 * second}, six},
		"OnTimeout": {retry.Policy{AttemptTimeout: second}, retry.Policy{AttemptTimeout: second, OnTimeout: retry.StopOnTimeout},
			slow},
		"Retryable":           {retry.Policy{}, retry.Policy{Retryable: []string{"B"}}, failures("A", "ok")},
		"NonRetryable":        {retry.Policy{}, retry.Policy{NonRetryable: []string{"A"}}, failures("A", "ok")},
		"Rules":               {retry.Policy{}, retry.Policy{Rules: []retry.Rule{{Types: []string{"A"}, Stop: true}}}, failures("A", "ok")},
		"Rules[].Types":       {rule(retry.Rule{Types: []string{"A"}, MaxAttempts: 3}), rule(retry.Rule{Types: []string{"B"}, MaxAttempts: 3}), six},
		"Rules[].Stop":        {rule(retry.Rule{Types: []string{"A"}}), rule(retry.Rule{Types: []string{"A"}, Stop: true}), six},
		"Rules[].MaxAttempts": {rule(retry.Rule{Types: []string{"A"}, MaxAttempts: 3}), rule(retry.Rule{Types: []string{"A"}, MaxAttempts: 4}), six},

		"Rules[].Backoff.Kind":        {ruleBackoff(linear), ruleBackoff(exponential), six},
		"Rules[].Backoff.Initial":     {ruleBackoff(linear), ruleBackoff(linear2), six},
		"Rules[].Backoff.Coefficient": {ruleBackoff(growing), ruleBackoff(growing2), six},
		"Rules[].Backoff.Max":         {ruleBackoff(growing), ruleBackoff(capped), six},
		"Rules[].Jitter.Kind":         {ruleJitter(retry.FullJitter), ruleJitter(retry.EqualJitter), six},
		"Rules[].Jitter.Proportion":   {ruleJitter(retry.Proportional(0.1)), ruleJitter(retry.Proportional(0.2)), six},

		"OnExhausted":       {retry.Policy{MaxAttempts: 1}, retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}, six},
		"OnUnknown":         {retry.Policy{AttemptTimeout: second}, retry.Policy{AttemptTimeout: second, OnUnknown: retry.FailUnknown}, slow},
		"Rules[].OnUnknown": {late(0), late(retry.FailUnknown), slow},
		"MaxServerDelay":    {retry.Policy{}, retry.Policy{MaxServerDelay: second}, failures("after(5s,A)", "ok")},

		// Played at a gate, see golden.AtGates.
		"QueueTimeout": {retry.Policy{}, retry.Policy{QueueTimeout: second}, slow},
		// Without effect on Decide and Do, see golden.EngineOnly.
		"CrashLimit": {retry.Policy{}, retry.Policy{CrashLimit: 1}, six},
	}
}

// TestR17_I11_EveryFieldHasAnEffect walks the fields by reflection.
func TestR17_I11_EveryFieldHasAnEffect(t *testing.T) {
	table := witnesses()
	for _, field := range fieldsOf(reflect.TypeFor[retry.Policy](), "") {
		t.Run(field, func(t *testing.T) {
			w, ok := table[field]
			if !ok {
				t.Fatal("the field has no witness")
			}
			delete(table, field)
			if got := differences(reflect.ValueOf(w.a), reflect.ValueOf(w.b), ""); !slices.Equal(got, []string{field}) {
				t.Fatalf("the policies of the witness differ in %q", got)
			}
			for _, p := range []retry.Policy{w.a, w.b} {
				mustSurviveJSON(t, p)
				throughText(t, p)
			}
			without, with := play(t, field, w, w.a), play(t, field, w, w.b)
			if text := play(t, field, w, throughText(t, w.b)); text != with {
				t.Errorf("from text its outcome is\n%s\nand from Go\n%s", text, with)
			}
			if engine := slices.Contains(golden.EngineOnly, field); engine != (without == with) {
				t.Errorf("engine only: %v, and these are the outcomes\n%s\n%s", engine, without, with)
			}
		})
	}
	for field := range table {
		t.Errorf("%s is no field", field)
	}
	if len(golden.EngineOnly) > 1 {
		t.Errorf("%q grows; see whether Decide or Do can honor it", golden.EngineOnly)
	}
}

// play returns what happens under the policy, by Do and by Decide.
func play(t *testing.T, field string, w witness, p retry.Policy) string {
	t.Helper()
	c := golden.Case{Policy: p, Attempts: w.attempts, CancelAt: golden.NotCanceled}
	trace := c.Simulate().String()
	if field == "Rules[].Stop" {
		return trace // without its Stop the rule is empty, which Do refuses
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if slices.Contains(golden.AtGates, field) {
			trace += playAtABusyGate(t, p)
		} else {
			trace += playDo(t.Context(), &c).String()
		}
	})
	return trace
}

// playAtABusyGate returns what becomes of a call whose gate is free in a minute.
func playAtABusyGate(t *testing.T, p retry.Policy) string {
	t.Helper()
	busy := gate.New("busy", 1)
	release, err := busy.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Minute, func() { _ = release() })
	began := time.Now()
	err = retry.Do(t.Context(), p, func(context.Context) error { return nil }, gate.Through(busy))
	return fmt.Sprint(err, " after ", time.Since(began).Round(10*time.Second))
}

// mustSurviveJSON checks that a policy can be written and read.
func mustSurviveJSON(t *testing.T, p retry.Policy) {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back retry.Policy
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(p, back) {
		t.Errorf("%s is read as %+v, %v", data, back, err)
	}
}

// throughText returns the policy as it is read from its text. What Validate
// refuses has no words: a rule without a setting is a witness of Decide alone.
func throughText(t *testing.T, p retry.Policy) retry.Policy {
	t.Helper()
	if p.Validate() != nil {
		return p
	}
	back, err := retry.Parse(p.String())
	if err != nil || !reflect.DeepEqual(plain(p), plain(back)) {
		t.Errorf("%s is read as %s, %v", p, back, err)
	}
	return back
}

// fieldsOf lists the fields of a struct, those of its parts included.
func fieldsOf(t reflect.Type, prefix string) []string {
	var fields []string
	for _, f := range reflect.VisibleFields(t) {
		name := prefix + f.Name
		switch {
		case f.Type.Kind() == reflect.Struct:
			fields = append(fields, fieldsOf(f.Type, name+".")...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			fields = append(fields, name)
			fields = append(fields, fieldsOf(f.Type.Elem(), name+"[].")...)
		default:
			fields = append(fields, name)
		}
	}
	return fields
}

// differences lists the fields in which two structs differ.
func differences(a, b reflect.Value, prefix string) []string {
	var fields []string
	for i := range a.NumField() {
		x, y, name := a.Field(i), b.Field(i), prefix+a.Type().Field(i).Name
		switch {
		case x.Kind() == reflect.Struct:
			fields = append(fields, differences(x, y, name+".")...)
		case x.Kind() == reflect.Slice && x.Type().Elem().Kind() == reflect.Struct && x.Len() == y.Len():
			for j := range x.Len() {
				fields = append(fields, differences(x.Index(j), y.Index(j), name+"[].")...)
			}
		case !reflect.DeepEqual(x.Interface(), y.Interface()):
			fields = append(fields, name)
		}
	}
	return fields
}

// TestR17_TheWalkFindsDifferences guards the test above.
func TestR17_TheWalkFindsDifferences(t *testing.T) {
	a := retry.Policy{Rules: []retry.Rule{{Types: []string{"A"}, Backoff: retry.Fixed(1)}}}
	b := retry.Policy{CrashLimit: 2, Rules: []retry.Rule{{Types: []string{"B"}, Backoff: retry.Fixed(2)}}}
	got := fmt.Sprint(differences(reflect.ValueOf(a), reflect.ValueOf(b), ""))
	if got != "[Rules[].Types Rules[].Backoff.Initial CrashLimit]" {
		t.Errorf("got %s", got)
	}
}
