package history

import (
	"bytes"
	"encoding/json"
	"testing"
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
		Closed:  rapid.Bool().Draw(t, "closed"),

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

// The hand-written encoder is held to what encoding/json makes of the tags.
func TestEventsAreWrittenAsTheirTagsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEvent(t)
		want, err := json.Marshal(document{Format: Format, Events: []Event{e, e}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := EncodeTurn([]Event{e, e})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func BenchmarkEncodeTurn(b *testing.B) {
	in, _ := Encode(map[string]int{"n": 1})
	events := []Event{
		{Kind: AttemptStarted, Call: 1, Attempt: 1, Node: "host:1234/abcdef01", Queued: 1 << 60, Started: 1 << 60},
		{Kind: CallCompleted, Call: 1, Result: in, Ended: 1 << 60},
		{Kind: ActivityScheduled, Call: 2, Name: "charge", Input: in},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeTurn(events); err != nil {
			b.Fatal(err)
		}
	}
}
