package api

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

func textForm() Schema     { return Schema{"type": "string"} }
func anyForm() Schema      { return Schema{} }
func durationForm() Schema { return Schema{"type": "string", "examples": []string{"1h30m0s"}} }
func objectForm() Schema   { return Schema{"type": "object"} }
func policyForm() Schema   { return Schema{"type": []string{"string", "object"}} } // in the notation, or as an object
func timeForm() Schema     { return Schema{"type": "string", "format": "date-time"} }

// forms are the schemas of types whose JSON does not follow from their fields. A test
// compares them with responses.
var forms = map[reflect.Type]func() Schema{
	reflect.TypeFor[json.RawMessage]():    anyForm,
	reflect.TypeFor[time.Time]():          timeForm,
	reflect.TypeFor[time.Duration]():      durationForm,
	reflect.TypeFor[span]():               durationForm,
	reflect.TypeFor[param.Age]():          durationForm,
	reflect.TypeFor[param.Moment]():       textForm,
	reflect.TypeFor[command.PolicyEdit](): policyForm,
	reflect.TypeFor[command.Policy]():     policyForm,
	reflect.TypeFor[retry.Policy]():       objectForm,
	reflect.TypeFor[Document]():           objectForm,
	reflect.TypeFor[view.Event]():         objectForm,
	reflect.TypeFor[schedule.Overlap]():   textForm,
}

// shapes are structs with the JSON of types that write and read themselves.
var shapes = map[reflect.Type]reflect.Type{
	reflect.TypeFor[operationBody](): operationShape(reflect.TypeFor[operationFields]()),
	reflect.TypeFor[bulkBody]():      operationShape(reflect.TypeFor[bulkFields]()),
	reflect.TypeFor[schedule.Spec](): reflect.TypeFor[scheduleShape](),
}

type scheduleShape struct {
	Cron     string           `json:"cron,omitempty"`
	TimeZone string           `json:"time_zone,omitempty"`
	Every    time.Duration    `json:"every,omitempty"`
	Offset   time.Duration    `json:"offset,omitempty"`
	Jitter   time.Duration    `json:"jitter,omitempty"`
	Overlap  schedule.Overlap `json:"overlap,omitempty"`
	CatchUp  time.Duration    `json:"catch_up,omitempty"`
}
