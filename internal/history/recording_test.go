package history_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
)

// TestE41_RecordingsKeepTheBytes: a document is indented so that people can read
// and compare it; the values in it are compared with what code asks for byte by
// byte, and so must come back as they were.
func TestE41_RecordingsKeepTheBytes(t *testing.T) {
	payload := func(v any) history.Payload {
		p, err := history.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	object := map[string]any{"items": []any{1, "two  spaces", map[string]any{"<b>": "\u2028\n\t"}}, "empty": map[string]any{}, "none": nil}
	recorded := history.Recording{
		Start: history.Start{Kind: history.RunStarted, Format: history.Format, WorkflowID: "w", Run: "r", Type: "t", Attempt: 1, Input: payload(object), Settings: history.Settings{Memo: payload([]int{1, 2})}},
		Turns: []history.RecordedTurn{{Number: 1, Time: 7, Events: []history.Event{
			{Kind: history.ActivityScheduled, Call: 1, Name: "a", Input: payload(object)},
			{Kind: history.SideEffectRecorded, Call: 2, Name: "s", Result: payload([]any{object, "x"})},
			{Kind: history.RunCompleted, Result: payload(3.5)},
		}}},
	}
	document, err := history.EncodeRecording(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var other bytes.Buffer
	if err := json.Indent(&other, document, " ", "\t\t"); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{document, other.Bytes()} {
		got, err := history.DecodeRecording(data)
		if err != nil || !reflect.DeepEqual(got, recorded) {
			t.Errorf("%v: the document\n%s\nis read as\n%+v\nand not as\n%+v", err, data, got, recorded)
		}
	}
}

// TestE41_ARecordingOfALaterFormatIsRefused by its format, whatever else it changed.
func TestE41_ARecordingOfALaterFormatIsRefused(t *testing.T) {
	recorded, err := history.EncodeRecording(history.Recording{Start: history.Start{WorkflowID: "w", Run: "r", Type: "t"}, Turns: []history.RecordedTurn{{Number: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	const later = "history format 2 is not known to this program, which reads format 1; run a newer version"
	for old, change := range map[string]string{
		`"v": 1,`: `"v": 2, "created": "today",`, "\"turn\": {\n    \"v\": 1,": `"turn": {"v": 2, "events": {},`,
	} {
		changed := bytes.Replace(recorded, []byte(old), []byte(change), 1)
		if got, err := history.DecodeRecording(changed); bytes.Equal(changed, recorded) || err == nil || !strings.Contains(err.Error(), later) {
			t.Errorf("%s\nis read as %+v, %v", changed, got, err)
		}
	}
}
