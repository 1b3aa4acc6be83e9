package history

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
)

// TestE41_GatesOnRecord: the bytes of specs and edits are those of every release before, with
// durations in nanoseconds, and a field that this version does not know is passed over.
func TestE41_GatesOnRecord(t *testing.T) {
	full := spec.Spec{
		Name: "payments", Limit: 10, Mode: spec.Hold, MaxHold: time.Minute, Rate: spec.Rate{PerSecond: 50, Burst: 10},
		Budget: spec.Budget{Tokens: 100, Cost: 2, Refund: 0.1}, Breaker: spec.Breaker{Failures: 5, Cooldown: 30 * time.Second, Wait: true},
	}
	const onRecord = `{"name":"payments","limit":10,"mode":"hold","max_hold":60000000000,"rate":{"per_second":50,"burst":10},"budget":{"tokens":100,"cost":2,"refund":0.1},"breaker":{"failures":5,"cooldown":30000000000,"wait":true}}`
	own := full
	own.Budget.PerKey, own.Breaker.PerKey = true, true
	ownOnRecord := strings.NewReplacer(`"refund":0.1`, `"refund":0.1,"per_key":true`, `"wait":true`, `"wait":true,"per_key":true`).Replace(onRecord)
	small := spec.Spec{Name: "small", Limit: 1, Mode: spec.Rejoin}
	const smallOnRecord = `{"name":"small","limit":1,"mode":"rejoin"}`
	edit := spec.Edit{Limit: 3, Rate: &spec.Rate{}, Budget: &full.Budget, Breaker: &full.Breaker}
	type last struct { // as the row of a gate has an edit
		GateEdit
		Declared GateSpec `json:"declared"`
		By       string   `json:"by,omitempty"`
	}
	for want, v := range map[string]any{
		onRecord:      GateSpec(full),
		ownOnRecord:   GateSpec(own),
		smallOnRecord: GateSpec(small),
		`[` + onRecord + `,` + smallOnRecord + `]`: []GateSpec{GateSpec(full), GateSpec(small)},
		`{}`: RecordGateEdit(spec.Edit{AsInCode: true}),
		`{"limit":3,"rate":{"per_second":0},"budget":{"tokens":100,"cost":2,"refund":0.1},"breaker":{"failures":5,"cooldown":30000000000,"wait":true},"declared":` + smallOnRecord + `,"by":"ann"}`: last{RecordGateEdit(edit), GateSpec(small), "ann"},
	} {
		data, err := json.Marshal(v)
		if err != nil || string(data) != want {
			t.Errorf("%v\n%s\n%s", err, data, want)
		}
		back := reflect.New(reflect.TypeOf(v))
		if err := json.Unmarshal(data, back.Interface()); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if l, is := back.Interface().(*last); is && !reflect.DeepEqual(l.Recorded(), edit) {
			t.Errorf("%s is read as %+v", data, l.Recorded())
		} else if _, of := v.(GateEdit); !is && !of && !reflect.DeepEqual(back.Elem().Interface(), v) {
			t.Errorf("%s is read as %+v", data, back.Elem())
		}
	}
	var s GateSpec
	if err := json.Unmarshal([]byte(`{"name":"a","limit":1,"mode":"hold","share":2,"breaker":{"failures":1,"cooldown":5,"half":3}}`), &s); err != nil || s.Breaker.Cooldown != 5 {
		t.Errorf("fields of later versions: %+v, %v", s, err)
	}
}
