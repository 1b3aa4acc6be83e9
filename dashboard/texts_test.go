package dashboard

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	recording "github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// TestF6_AHistoryIsAFile: the history page leads to the whole history as a file, as a test replays it,
// under the name of its run; one that is not there is said so.
func TestF6_AHistoryIsAFile(t *testing.T) {
	srv, eng := served(t, made(t))
	get := func(path string) (*http.Response, []byte) {
		t.Helper()
		answer, err := srv.Client().Get(srv.URL + "/shop/" + path)
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer, body
	}
	if _, page := get("history?id=slow-1"); !strings.Contains(string(page), `href="text?id=slow-1&amp;what=record"`) {
		t.Errorf("the history page does not lead there: %s", page)
	}
	answer, body := get("text?id=slow-1&what=record")
	want, err := eng.Workflow("slow-1").Record(t.Context())
	must(t, err)
	if _, err := recording.DecodeRecording(body); err != nil || !bytes.Equal(body, want) {
		t.Errorf("%v: %.200s", err, body)
	}
	if got := answer.Header.Get("Content-Disposition"); got != "attachment; filename=slow-1.json" || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", answer.Header)
	}
	if answer, _ := get("text?id=nobody&what=record"); answer.StatusCode != http.StatusNotFound {
		t.Error(answer.Status)
	}
}

// TestAnErrorIsShownOfThoseThatHadIt: the overview says so as the command line does.
func TestAnErrorIsShownOfThoseThatHadIt(t *testing.T) {
	why := new(sheet).functions()["waitwhy"].(func(*waitingRow) string)
	row := &waitingRow{Waiting: &view.Waiting{Wait: view.Wait{Error: "no answer", ErrorType: "Timeout"}, Count: 40, Failed: 3}}
	if got := why(row); got != "3 failed: Timeout: no answer" {
		t.Errorf("it says %q", got)
	}
}
