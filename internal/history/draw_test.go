package history

import (
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/retry"
)

// drawEvent draws an event of any content.
func drawEvent(t *rapid.T) Event {
	payload := rapid.Custom(func(t *rapid.T) Payload {
		switch rapid.IntRange(0, 3).Draw(t, "payload") {
		case 0:
			return Payload{}
		case 1:
			return Payload{Encoding: "other", Data: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")}
		}
		p, err := Encode(rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Float64(), func(f float64) any { return f }),
			rapid.SampledFrom([]any{nil, 0, "", false, `{"k":"ran","c":1},{"k":"done"}`, `]},"crc":1}`, map[string]any{"k": "ran", "crc": 7}, []any{[]any{}, "}\\", "\""}}),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
		).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
	e := Event{
		Kind:    Kind(rapid.String().Draw(t, "kind")),
		Call:    rapid.Int64().Draw(t, "call"),
		Name:    rapid.String().Draw(t, "name"),
		Input:   payload.Draw(t, "input"),
		Result:  payload.Draw(t, "result"),
		Queue:   rapid.StringMatching(`[a-z<>&"\\]*`).Draw(t, "queue"),
		Trace:   rapid.String().Draw(t, "trace"),
		Due:     rapid.Int64().Draw(t, "due"),
		Attempt: rapid.Int().Draw(t, "attempt"),
		Node:    rapid.String().Draw(t, "node"),
		Queued:  rapid.Int64().Draw(t, "queued"),
		Started: rapid.Int64().Draw(t, "started"),
		Ended:   rapid.Int64().Draw(t, "ended"),
		ID:      rapid.String().Draw(t, "id"),
		Place:   rapid.Int64().Draw(t, "place"),
		Reason:  rapid.String().Draw(t, "reason"),
		Closed:  rapid.Bool().Draw(t, "closed"), Shielded: rapid.Bool().Draw(t, "shielded"),

		Version:   rapid.Int().Draw(t, "version"),
		Block:     rapid.Int64().Draw(t, "block"),
		Priority:  rapid.Int().Draw(t, "priority"),
		Operation: rapid.String().Draw(t, "operation"),
		By:        rapid.String().Draw(t, "by"),
		Outcome:   rapid.String().Draw(t, "outcome"),
		Note:      rapid.String().Draw(t, "note"),
		Initiator: rapid.String().Draw(t, "initiator"),
		Deadline:  rapid.Int64().Draw(t, "deadline"),
	}
	if rapid.Bool().Draw(t, "rich") {
		e.Policy = &retry.Policy{MaxAttempts: 3, Within: time.Hour}
		e.Child = &Child{Run: rapid.String().Draw(t, "run"), OnParentClose: AbandonChild, Memo: payload.Draw(t, "memo")}
		e.Failure = &Failure{Type: "T", Message: rapid.String().Draw(t, "message")}
		e.Retry = &Summary{TotalAttempts: 2, Errors: []AttemptError{{Attempt: 1, Type: "T"}}}
	}
	return e
}
