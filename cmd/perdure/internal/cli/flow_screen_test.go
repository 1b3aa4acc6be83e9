package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func TestFlowScreenSaysWhatIsWaitedFor(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) *time.Time { at := now.Add(d); return &at }
	for want, p := range map[string]view.Call{
		"@http.get  attempt 2 of 4 in 43s; last: NetworkError: no route": {Kind: "activity", Name: "http.get", State: "backoff", Attempt: 2, Max: 4, Next: in(43 * time.Second), LastErrorType: "NetworkError", LastError: "no route"},
		"@http.get  attempt 1, running for 3s":                           {Kind: "activity", Name: "http.get", State: "running", Attempt: 1, Max: 1, Started: in(-3 * time.Second)},
		"@a  attempt 3, waiting for a person; last: Bad: no":             {Kind: "activity", Name: "a", State: "paused", Attempt: 3, Max: 1 << 31, LastErrorType: "Bad", LastError: "no"},
		"@a  attempt 1 of 2, queued":                                     {Kind: "activity", Name: "a", State: "queued", Max: 2},
		"waiting for the signal approval, for 1h00m":                     {Kind: "signal", Name: "approval", State: "waiting", Scheduled: now.Add(-time.Hour)},
		"@a  attempt 1, waiting: files are not allowed: --files DIR":     {Kind: "activity", Name: "a", State: "queued", Max: 1, Unserved: "files are not allowed: --files DIR"},
		"sleeping; wakes in 1h00m":                                       {Kind: "timer", Name: "sleep", State: "waiting", Next: in(time.Hour)},
	} {
		if got := pendingLine(p, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFlowScreenFitsTheTerminal: a line that breaks could not be erased, and what
// others wrote must not be obeyed.
func TestFlowScreenFitsTheTerminal(t *testing.T) {
	now := time.Unix(1000, 0)
	var out bytes.Buffer
	s := &flowScreen{panel: term.Panel{Out: &out, Terminal: term.Terminal{Moves: true}}, now: func() time.Time { return now }, start: now, id: "x"}
	d := &view.Description{}
	d.Status = "running"
	for range 12 {
		d.Pending = append(d.Pending, view.Call{Kind: "activity", Name: "a", State: "queued", LastErrorType: "T", LastError: strings.Repeat("é\x1b[2J", 100)})
	}
	lines := s.lines(d, now)
	if len(lines) != mostPending+2 || lines[len(lines)-1] != "  and 4 more" {
		t.Errorf("%q", lines)
	}
	s.panel.Draw(lines)
	for line := range strings.Lines(out.String()) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 79 || strings.Contains(line, "\x1b") {
			t.Errorf("%q", line)
		}
	}
	s.log("one\ntwo\x07")
	if text := out.String(); !strings.Contains(text, "\x1b[10A") || strings.Contains(text, "\x07") || !strings.HasSuffix(text, "two\\u0007\n") {
		t.Errorf("%q", text)
	}
}

// TestW19_HeldCallsAreToldIntoPipes once each, with what to type.
func TestW19_HeldCallsAreToldIntoPipes(t *testing.T) {
	now := time.Unix(1000, 0)
	var out bytes.Buffer
	s := &flowScreen{panel: term.Panel{Out: &out}, now: func() time.Time { return now }, start: now, id: "night run", held: map[string]bool{}}
	d := &view.Description{}
	d.Pending = []view.Call{
		{Call: 3, Kind: "activity", Name: "http.get", State: "paused", LastErrorType: "HTTPError503", LastError: "busy"},
		{Call: 4, Kind: "activity", Name: "parse", State: "quarantined", Paused: &view.Pause{}},
		{Call: 5, Kind: "activity", Name: "pay", State: "gated", Gate: &view.GateWait{Name: "payments"}},
	}
	for range 3 {
		s.tellHeld(d)
	}
	want := `     0s  paused  @http.get: HTTPError503: busy. To continue: perdure retry-now 'night run' --call 3
     0s  quarantined  @parse, whose attempts ended their processes: another attempt may end this one, too. To continue: perdure show 'night run'
     0s  waiting  @pay at gate payments. To continue: perdure gates
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
