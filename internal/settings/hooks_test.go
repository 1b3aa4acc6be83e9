package settings_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/view"
)

// meter counts what it is told, and panics if it is broken.
type meter struct {
	broken         bool
	turns, commits int
}

func (m *meter) Turn(*history.Start, *core.Turn) {
	m.turns++
	if m.broken {
		panic("no exporter")
	}
}

func (m *meter) Committed(int, time.Duration) {
	m.commits++
	if m.broken {
		panic("no exporter")
	}
}

// TestE63_AnObserverThatPanicsHurtsNobody: neither its process nor the next one; the log says so.
func TestE63_AnObserverThatPanicsHurtsNobody(t *testing.T) {
	var written bytes.Buffer
	log := logs.New(slog.New(slog.NewTextHandler(&written, nil)), false)
	broken, whole := &meter{broken: true}, &meter{}
	all := settings.Observers{broken, whole}
	all.Turn(log, &history.Start{Run: "run-1"}, &core.Turn{})
	all.Committed(log)(3, time.Millisecond)
	if broken.turns != 1 || broken.commits != 1 || whole.turns != 1 || whole.commits != 1 {
		t.Errorf("they were told of %d and %d turns, %d and %d commits", broken.turns, whole.turns, broken.commits, whole.commits)
	}
	if n := strings.Count(written.String(), "observer_panicked"); n != 2 || !strings.Contains(written.String(), "run-1") {
		t.Errorf("the log has %d of 2 panics: %s", n, &written)
	}
	if (settings.Observers{}).Committed(log) != nil {
		t.Error("commits are timed for nobody")
	}
}

// TestE64_AHookThatPanicsHurtsNobody: the call stays paused, and the log says so.
func TestE64_AHookThatPanicsHurtsNobody(t *testing.T) {
	var written bytes.Buffer
	log := logs.New(slog.New(slog.NewTextHandler(&written, nil)), false)
	(&settings.Engine{}).TellPaused(log, view.PausedCall{})
	c := settings.Engine{OnPaused: func(view.PausedCall) { panic("no pager") }}
	c.TellPaused(log, view.PausedCall{WorkflowID: "order-1", Call: 3})
	if text := written.String(); !strings.Contains(text, "order-1") || !strings.Contains(text, "no pager") {
		t.Errorf("the log says %q", text)
	}
}
