package api

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

func textForm() Schema     { return Schema{"type": "string"} }
func anyForm() Schema      { return Schema{} }
func durationForm() Schema { return Schema{"type": "string", "examples": []string{"1h30m0s"}} }
func timeForm() Schema     { return Schema{"type": "string", "format": "date-time"} }

// forms are the schemas of types whose JSON does not follow from their fields. A test
// compares them with responses.
var forms = map[reflect.Type]func() Schema{
	reflect.TypeFor[json.RawMessage]():  anyForm,
	reflect.TypeFor[time.Time]():        timeForm,
	reflect.TypeFor[time.Duration]():    durationForm,
	reflect.TypeFor[span]():             durationForm,
	reflect.TypeFor[moment]():           textForm,
	reflect.TypeFor[policy]():           func() Schema { return Schema{"type": []string{"string", "object"}} },
	reflect.TypeFor[retry.Policy]():     func() Schema { return Schema{"type": "object"} },
	reflect.TypeFor[Document]():         func() Schema { return Schema{"type": "object"} },
	reflect.TypeFor[view.Event]():       func() Schema { return Schema{"type": "object"} },
	reflect.TypeFor[schedule.Overlap](): textForm,
	reflect.TypeFor[schedule.Spec](): func() Schema {
		return object(nil, "cron", textForm, "time_zone", textForm, "every", durationForm, "offset", durationForm,
			"jitter", durationForm, "overlap", textForm, "catch_up", durationForm)
	},
	reflect.TypeFor[gate.Spec](): func() Schema {
		return object([]string{"name", "limit"}, "name", textForm, "limit", integerForm, "mode", textForm, "max_hold", durationForm,
			"rate", rateForm, "budget", budgetForm, "breaker", breakerForm)
	},
	reflect.TypeFor[gate.Rate]():    rateForm,
	reflect.TypeFor[gate.Budget]():  budgetForm,
	reflect.TypeFor[gate.Breaker](): breakerForm,
}

func integerForm() Schema { return Schema{"type": "integer"} }
func numberForm() Schema  { return Schema{"type": "number"} }
func truthForm() Schema   { return Schema{"type": "boolean"} }

func rateForm() Schema {
	return object([]string{"per_second"}, "per_second", numberForm, "burst", integerForm)
}

func budgetForm() Schema {
	return object([]string{"tokens"}, "tokens", integerForm, "cost", numberForm, "refund", numberForm)
}

func breakerForm() Schema {
	return object([]string{"failures", "cooldown"}, "failures", integerForm, "cooldown", durationForm, "wait", truthForm)
}

// object returns the schema of an object; fields alternates names and schemas.
func object(required []string, fields ...any) Schema {
	properties := map[string]Schema{}
	for i := 0; i < len(fields); i += 2 {
		properties[fields[i].(string)] = fields[i+1].(func() Schema)()
	}
	s := Schema{"type": "object", "properties": properties}
	if required != nil {
		s["required"] = required
	}
	return s
}
