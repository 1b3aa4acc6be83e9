package schedule_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/schedule"
)

func TestSpecsAreTheSameInJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })
		want := schedule.Spec{
			Cron: rapid.String().Draw(t, "cron"), TimeZone: rapid.String().Draw(t, "zone"),
			Every: duration.Draw(t, "every"), Offset: duration.Draw(t, "offset"), Jitter: duration.Draw(t, "jitter"),
			Overlap: schedule.BufferOne, CatchUp: duration.Draw(t, "catch-up"),
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got schedule.Spec
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s gives %+v, %v", data, got, err)
		}
	})
}

func TestSpecsInJSON(t *testing.T) {
	data, err := json.Marshal(schedule.Spec{Every: 90 * time.Minute, Overlap: schedule.Skip})
	if want := `{"every":"1h30m0s","overlap":"skip"}`; err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
	for text, want := range map[string]string{
		`{"every":3600}`:   "in quotes, with its units",
		`{"every":"90"}`:   `"90" is not a duration`,
		`{"every":["1h"]}`: "is not a duration",

		`{"every":"1h","jiter":"5m"}`: `unknown field "jiter"`,
	} {
		var s schedule.Spec
		if err := json.Unmarshal([]byte(text), &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
