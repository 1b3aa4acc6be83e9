package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// flowScreen shows the progress of a run on standard error: events in lines that stay and,
// on a terminal, what the run waits for below them.
type flowScreen struct {
	mu    sync.Mutex // @log is called by the goroutines of attempts
	panel term.Panel
	now   func() time.Time

	id     string
	start  time.Time
	run    string           // the displayed run, the last of its chain
	next   string           // the run that follows it, once it is closed
	seen   int              // events of the history seen
	names  map[int64]string // of calls
	done   int              // calls done
	told   map[int64]int    // the last failed attempt of a call that was reported
	held   map[string]bool  // reported pairs of call and holding state
	places *flowPlaces      // where actions stand in the file; nil: not known
}

// How often the screen polls, and how often a pipe gets a line.
const (
	flowLook = 100 * time.Millisecond
	flowTell = time.Second
)

func newFlowScreen(scr *screen) *flowScreen {
	return &flowScreen{
		panel: term.Panel{Out: scr.env.Stderr, Terminal: scr.stderr}, now: scr.env.Now, start: scr.env.Now(),
		names: map[int64]string{}, told: map[int64]int{}, held: map[string]bool{},
	}
}

// say prints a line that stays, about now.
func (s *flowScreen) say(format string, args ...any) { s.sayOf(s.now(), format, args...) }

// sayOf prints a line that stays, about something that happened at a time.
func (s *flowScreen) sayOf(at time.Time, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := fmt.Sprintf("%7s", human.Duration(max(at.Sub(s.start), 0).Round(100*time.Millisecond)))
	s.panel.Say("%s  "+format, append([]any{term.Painted{Text: passed, Colour: term.Faint}}, args...)...)
}

// log implements @log.
func (s *flowScreen) log(message string) {
	for _, line := range human.Lines(message) {
		s.say("%s", line)
	}
}

// begin says whether the run is new, continues, or ended before, in which case its steps
// are not repeated.
func (s *flowScreen) begin(h perdure.Handle[json.RawMessage], last *view.Description, ended bool) {
	s.id, s.run = h.ID(), h.RunID()
	switch {
	case !h.Attached():
		s.say("%s starts.", s.id)
	case ended:
		s.say("%s ended on %s. To start a new run: --again", s.id, last.Closed.Format("2006-01-02 15:04:05"))
		s.seen = math.MaxInt
	default:
		s.say("%s continues.", s.id)
	}
}

// follow shows the progress of the run until it ends.
func (s *flowScreen) follow(ctx context.Context, eng *perdure.Engine, h perdure.Handle[json.RawMessage]) (json.RawMessage, error) {
	type end struct {
		result json.RawMessage
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		result, err := h.Result(ctx)
		ended <- end{result, err}
	}()
	look := flowLook
	if !s.panel.Terminal.Moves {
		look = flowTell
	}
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case e := <-ended:
			if ctx.Err() == nil {
				s.news(ctx, eng)
			}
			s.mu.Lock()
			s.panel.Clear()
			s.mu.Unlock()
			return e.result, e.err
		case <-ticker.C:
			s.news(ctx, eng)
			s.draw(ctx, eng)
		}
	}
}

// news reports what happened since the last call, in all runs of the chain. What cannot be
// read now is read the next time.
func (s *flowScreen) news(ctx context.Context, eng *perdure.Engine) {
	for {
		events, err := eng.Workflow(s.id).OfRun(s.run).History(ctx)
		if err != nil {
			return
		}
		for _, e := range events[min(s.seen, len(events)):] {
			s.event(ctx, eng, e)
		}
		s.seen = max(s.seen, len(events))
		if s.next == "" {
			return
		}
		s.run, s.next, s.seen = s.next, "", 0
		clear(s.names)
		clear(s.told)
		clear(s.held)
	}
}

func (s *flowScreen) event(ctx context.Context, eng *perdure.Engine, e view.Event) {
	r, err := wording.EventOf(&e)
	if err != nil {
		return
	}
	name := s.names[e.Call]
	switch e.Kind {
	case "RunContinued":
		s.next = r.ID
	case "ActivityScheduled":
		s.names[e.Call] = "@" + e.Name + s.places.describe(e.Name, r.Input.JSON)
	case "CallCompleted":
		if name == "" {
			return // a timer
		}
		s.done++
		tries := ""
		if r.Retry != nil && r.Retry.Attempts > 1 {
			s.attempts(ctx, eng, e.Call)
			tries = fmt.Sprintf(", attempt %d", r.Retry.Attempts)
		}
		s.sayOf(e.Time, "%s  %s%s", term.Painted{Text: "done", Colour: term.Good}, name, tries)
	case "CallFailed":
		if name == "" || r.Failure == nil {
			return
		}
		s.done++
		s.attempts(ctx, eng, e.Call)
		last := r.Failure
		if last.Type == retry.TypeExhausted && len(last.Causes) > 0 {
			last = last.Causes[0] // of the last attempt
		}
		s.sayOf(e.Time, "%s  %s: %s", term.Painted{Text: "failed", Colour: term.Bad}, name, human.Clip(wording.Typed(last.Type, last.Message), 200))
	}
}

// attempts reports the failed attempts of a call that were followed by another one, with the
// times at which they failed, however long ago the last look was.
func (s *flowScreen) attempts(ctx context.Context, eng *perdure.Engine, call int64) {
	part := view.AttemptRange{Call: call, After: view.AttemptPlace{Call: call, Number: s.told[call]}}
	attempts, err := eng.Workflow(s.id).OfRun(s.run).AttemptsRange(ctx, part)
	if err != nil {
		return
	}
	for _, a := range attempts {
		if a.Next == nil || a.Ended == nil || a.ErrorType == "" || a.Number <= s.told[call] {
			continue
		}
		s.told[call] = a.Number
		name := cmp.Or(s.names[call], "@"+a.Name)
		s.sayOf(*a.Ended, "%s  %s, attempt %d: %s; next in %s", term.Painted{Text: "retry", Colour: term.Busy}, name, a.Number,
			human.Clip(wording.Typed(a.ErrorType, a.Message), 200), human.Duration(a.Next.Sub(*a.Ended)))
	}
}

// mostPending is the maximum number of calls shown.
const mostPending = 8

// draw shows what the run waits for.
func (s *flowScreen) draw(ctx context.Context, eng *perdure.Engine) {
	d, err := eng.Workflow(s.id).OfRun(s.run).Describe(ctx)
	if err != nil {
		return
	}
	now := s.now()
	for _, p := range d.Pending {
		if p.Kind == "activity" && p.State == "backoff" && s.told[p.Call] < p.Attempt-1 {
			s.attempts(ctx, eng, p.Call)
		}
	}
	s.tellHeld(d)
	if !s.panel.Terminal.Moves {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panel.Draw(s.lines(d, now))
}

// tellHeld says, once per held call, why it is held and what to type.
func (s *flowScreen) tellHeld(d *view.Description) {
	if d.Paused != nil {
		s.tellOnce("run", "paused", "the run as a whole", "perdure resume-run "+human.ShellWord(s.id))
	}
	for _, p := range d.Pending {
		call := fmt.Sprint(p.Call)
		name := "@" + p.Name
		verb := fmt.Sprintf("%s --call %d", human.ShellWord(s.id), p.Call)
		switch {
		case p.State == "quarantined":
			s.tellOnce(call, "quarantined", name+", whose attempts ended their processes: another attempt may end this one, too", "perdure show "+human.ShellWord(s.id))
		case p.Paused != nil:
			s.tellOnce(call, "paused", name+because(p), "perdure resume "+verb)
		case p.ActivityPaused != nil:
			s.tellOnce(call, "paused", name+" in the whole group", "perdure resume --activity "+human.ShellWord(p.Name))
		case p.State == "paused":
			s.tellOnce(call, "paused", name+because(p), "perdure retry-now "+verb)
		case p.Unserved != "":
			s.tellOnce(call, "waiting", name+": "+p.Unserved, "perdure show "+human.ShellWord(s.id))
		case p.State == "gated" && p.Gate != nil:
			s.tellOnce(call, "waiting", fmt.Sprintf("%s at gate %s", name, p.Gate.Name), "perdure gates")
		}
	}
}

func because(p view.Call) string {
	if p.LastError == "" {
		return ""
	}
	return ": " + human.Clip(wording.Typed(p.LastErrorType, p.LastError), 200)
}

// tellOnce says what holds a call, unless that was already said.
func (s *flowScreen) tellOnce(call, state, what, next string) {
	if key := call + " " + state; !s.held[key] {
		s.held[key] = true
		s.say("%s  %s. To continue: %s", term.Painted{Text: state, Colour: term.Bad}, what, next)
	}
}

// lines returns the lines of the panel.
func (s *flowScreen) lines(d *view.Description, now time.Time) []string {
	all := []string{fmt.Sprintf("%s is %s, for %s, with %s done", s.id, d.Status, human.Duration(now.Sub(s.start).Round(time.Second)), human.Plural(s.done, "step", "steps"))}
	for i, p := range d.Pending {
		if i == mostPending {
			all = append(all, fmt.Sprintf("  and %d more", len(d.Pending)-i))
			break
		}
		all = append(all, "  "+pendingLine(p, now))
	}
	return all
}

// pendingLine describes the state of a call.
func pendingLine(p view.Call, now time.Time) string {
	if p.Kind == "timer" {
		if p.Next == nil {
			return "sleeping"
		}
		return "sleeping; wakes " + human.Until(*p.Next, now)
	}
	if p.Kind == "signal" {
		return "waiting for the signal " + p.Name + ", for " + human.Duration(max(now.Sub(p.Scheduled), 0).Round(time.Second))
	}
	if p.Kind == "block" {
		line := fmt.Sprintf("a block with a policy, attempt %d", max(p.Attempt, 1))
		if p.Next != nil {
			line += " " + human.Until(*p.Next, now)
		}
		return line
	}
	attempt := fmt.Sprintf("attempt %d", max(p.Attempt, 1))
	if p.Max > 1 && p.Max < 1<<30 {
		attempt += fmt.Sprintf(" of %d", p.Max)
	}
	line := "@" + p.Name + "  " + attempt
	switch {
	case p.State == "backoff" && p.Next != nil:
		line += " " + human.Until(*p.Next, now)
	case p.State == "running" && p.Started != nil:
		line += ", running for " + human.Duration(max(now.Sub(*p.Started), 0).Round(100*time.Millisecond))
	case p.Unserved != "":
		line += ", waiting: " + p.Unserved
	case p.State == "paused" || p.State == "quarantined":
		line += ", waiting for a person"
	default:
		line += ", " + p.State
	}
	if p.LastError != "" {
		line += "; last: " + wording.Typed(p.LastErrorType, p.LastError)
	}
	return line
}
