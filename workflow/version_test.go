package workflow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/workflow"
)

func TestE40_VersionOfIsRecordedOnce(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		for range 3 {
			log("%d %d", workflow.VersionOf(wf, "a", 0, 1), workflow.VersionOf(wf, "b", 1, 3))
			_ = workflow.Sleep(wf, time.Second)
		}
		return "", nil
	})
	expect(t, log, "1 3", "1 3", "1 3")
	if a, b := w.has("VersionMarked a"), w.has("VersionMarked b"); a != 1 || b != 1 {
		t.Errorf("there are %d and %d marks: %q", a, b, w.kinds())
	}
}

func TestE48_VersionsThatAreNone(t *testing.T) {
	for _, c := range []struct {
		change        string
		least, latest int
		want          string
	}{
		{"", 0, 1, "the name of a change is empty"},
		{strings.Repeat("x", 201), 0, 1, "the limit is 200"},
		{"x", -1, 1, "versions count from 0"},
		{"x", 0, 0, "the latest is at least 1"},
		{"x", 2, 1, `the change "x" has versions from 2 to 1`},
	} {
		_, log := play(t, func(wf *workflow.Context, log logger) (_ string, err error) {
			defer func() { log("%v", recover()) }()
			workflow.VersionOf(wf, c.change, c.least, c.latest)
			return "", nil
		})
		if len(log) == 0 || !contains(log[0], c.want) {
			t.Errorf("%q %d %d: %q, want %q", c.change, c.least, c.latest, log, c.want)
		}
	}
}

// E48: a custom status has a limit, and is text that every database can keep.
func TestE48_CustomStatusIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"3 of 20":                "3 of 20",
		strings.Repeat("x", 500): strings.Repeat("x", 500),
		strings.Repeat("x", 501): strings.Repeat("x", 497) + "…",
		strings.Repeat("é", 251): strings.Repeat("é", 248) + "…",
		"a\x00b\xffc":            "a\ufffdb\ufffdc",
	} {
		w, _ := play(t, func(wf *workflow.Context, _ logger) (string, error) {
			workflow.SetStatus(wf, "before")
			workflow.SetStatus(wf, text)
			return "", workflow.Sleep(wf, time.Second)
		})
		d, err := core.DecodeDetail(w.state.Detail)
		if err != nil || d.Says != want || !utf8.ValidString(d.Says) {
			t.Errorf("%q is kept as %q, %v", text, d.Says, err)
		}
		if got := fmt.Sprint(w.kinds()); got != "[TimerStarted sleep TimerFired RunCompleted]" {
			t.Errorf("the history is %s", got)
		}
	}
}
