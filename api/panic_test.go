package api_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// shared is a buffer for a log.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestF40_StacksStayInTheLog: who asks code that panics gets what it panicked with; the stack is
// in the log.
func TestF40_StacksStayInTheLog(t *testing.T) {
	query, update := workflow.NewQuery[int, int]("q"), workflow.NewUpdate[int, int]("u")
	rude := workflow.New("rude", func(wf *workflow.Context, _ int) (int, error) {
		workflow.HandleQuery(wf, query, func(int) (int, error) { panic("no queries") })
		workflow.HandleUpdate(wf, update, func(*workflow.Context, int) (int, error) { return 0, nil }, workflow.Validator(func(int) error { panic("no updates") }))
		_, err := workflow.Receive(wf, workflow.NewSignal[int]("never"))
		return 0, err
	})
	log := &shared{}
	c, _, _ := serveOn(t, memory.New(), perdure.Register(rude), perdure.Logger(slog.New(slog.NewTextHandler(log, nil))))
	c.want(201, "POST", "/api/runs", object{"workflow": "rude", "workflow_id": "r", "input": 0})
	c.until("/api/runs/r", func(a answer) bool { return count(a.Body, "pending") > 0 })
	for path, said := range map[string]string{"queries/q": "panicked: no queries", "updates/u": "panicked: no updates"} {
		var key []string
		if strings.HasPrefix(path, "updates") {
			key = []string{"Idempotency-Key", "k"}
		}
		a := c.ask("POST", "/api/runs/r/"+path, object{"input": 0}, key...)
		if text := string(a.Raw); a.Status < 400 || !strings.Contains(text, said) || strings.Contains(text, "goroutine") || strings.Contains(text, ".go:") {
			t.Errorf("%s: %d %s", path, a.Status, text)
		}
	}
	for _, part := range []string{"event=handler_panicked", "no queries", "no updates", "panic_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q:\n%s", part, log)
		}
	}
}
