package httpretry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

func TestE4_HTTPErrorsComeBackEqual(t *testing.T) {
	for _, before := range []error{
		&httpretry.StatusError{Method: "POST", URL: "https://example.org/x", Status: 503, RetryAfter: "7", Body: "a\nb"},
		retry.Terminal(&httpretry.StatusError{Method: "GET", URL: "https://example.org", Status: 404}),
		retry.After(&httpretry.StatusError{Method: "GET", Status: 429}, 7),
		&httpretry.NetworkError{Method: "GET", URL: "https://example.org", Err: errors.New("no route")},
		&httpretry.NetworkError{Method: "GET", URL: "https://example.org", TimedOut: true, Err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED)},
	} {
		data, err := json.Marshal(history.FromError(before))
		if err != nil {
			t.Fatal(err)
		}
		var stored history.Failure
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		after := stored.Err()
		if after.Error() != before.Error() || fmt.Sprint(retry.Classify(after)) != fmt.Sprint(retry.Classify(before)) {
			t.Errorf("%v %+v was %v %+v", after, retry.Classify(after), before, retry.Classify(before))
		}
		if want, ok := errors.AsType[*httpretry.StatusError](before); ok {
			if got, _ := errors.AsType[*httpretry.StatusError](after); got == nil || *got != *want || !errors.Is(after, want.Unwrap()) {
				t.Errorf("%+v was %+v", got, want)
			}
			continue
		}
		want, _ := errors.AsType[*httpretry.NetworkError](before)
		if got, _ := errors.AsType[*httpretry.NetworkError](after); got == nil || got.TimedOut != want.TimedOut || got.Err.Error() != want.Err.Error() {
			t.Errorf("%+v was %+v", got, want)
		}
	}
}
