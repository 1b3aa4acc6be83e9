package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/torture"
)

// tortured is what programs are told at the end of a torture.
type tortured struct {
	Database string `json:"database"`
	Own      string `json:"own"` // the schema or file of the torture
	Kept     bool   `json:"kept,omitempty"`
	Again    string `json:"again"`
	*torture.Report
}

// tellTorture shows what came of a torture.
func tellTorture(scr *screen, t tortured) error {
	return scr.judge(t, t.Clean(), "The torture has found something.", func() { torturePage(scr, t) })
}

// torturePage shows people what came of a torture.
func torturePage(scr *screen, t tortured) {
	early := ""
	if t.Interrupted {
		early = ", until it was interrupted"
	}
	fate := "is removed"
	if t.Kept {
		fate = "stays"
	}
	scr.printf("Tortured for %s%s, in %s, which %s.\n\n", human.Duration(seconds(t.Seconds)), early, t.Own, fate)
	w, h := t.Work, t.Hurt
	amounts(scr, "Done", []amount{
		{w.Runs, "run", "runs"}, {w.Activities, "execution of an activity", "executions of activities"}, {w.Signals, "signal", "signals"}, {w.Timers, "timer", "timers"},
		{w.Gates, "pass of a gate", "passes of gates"}, {w.Queue, "task from a queue", "tasks from queues"}, {w.Steps, "step transaction", "step transactions"},
		{w.Cancels, "cancellation", "cancellations"},
	})
	amounts(scr, "Hurt", []amount{
		{h.Kills, "kill -9", "kills -9"}, {h.Freezes, "freeze", "freezes"}, {h.Leaves, "process left in good order", "processes left in good order"},
		{h.Deploys, "deploy", "deploys"}, {h.Cuts, "cut of the network", "cuts of the network"}, {h.Delays, "slow network", "slow networks"},
		{h.LostAnswers, "lost answer of COMMIT", "lost answers of COMMIT"}, {h.Restarts, "trouble of the server", "troubles of the server"},
		{h.Rivals, "second process refused", "second processes refused"},
	})
	amounts(scr, "On record", []amount{{w.Attempts["lost"], "attempt lost", "attempts lost"}, {w.Attempts["drained"], "given back", "given back"}, {w.Attempts["failed"], "failed", "failed"}, {w.Attempts["completed"], "completed", "completed"}})
	scr.printf("At rest     for %s at most, %s after the beginning", human.Duration(seconds(t.Still.Seconds)), human.Duration(seconds(t.Still.At)))
	if n := len(t.Still.Amid); n > 0 {
		scr.printf(", amid:")
		for _, what := range t.Still.Amid[:min(n, maxAmid)] {
			scr.printf("\n            %s", what)
		}
		if n > maxAmid {
			scr.printf("\n            and %s more", human.Count(n-maxAmid))
		}
	}
	scr.printf("\n\n")
	for _, v := range []struct {
		name string
		n    int
	}{{"lost", t.Lost}, {"doubled", t.Doubled}, {"orphaned", t.Orphaned}, {"wrong", t.Wrong}} {
		colour := term.Good
		if v.n > 0 {
			colour = term.Bad
		}
		scr.printf("%-9s %s\n", v.name, term.Painted{Text: human.Count(v.n), Colour: colour})
	}
	for _, f := range t.Findings {
		scr.printf("\n%s\n", term.Painted{Text: string(f.Kind), Colour: term.Bad})
		for _, line := range human.Lines(f.What) {
			scr.printf("  %s\n", line)
		}
	}
	if all := t.Lost + t.Doubled + t.Orphaned + t.Wrong; all > len(t.Findings) {
		scr.printf("\nThere are %s more.\n", human.Count(all-len(t.Findings)))
	}
	scr.printf("\nThe seed is %s. To do the same again:\n\n  %s\n", fmt.Sprint(t.Seed), t.Again)
}

// maxAmid is how many of the deeds are shown amid which nothing moved.
const maxAmid = 10

// amount is how many there are of something.
type amount struct {
	n         int
	one, many string
}

// amounts prints those that are above zero, wrapped.
func amounts(scr *screen, head string, all []amount) {
	var parts []string
	for _, p := range all {
		if p.n > 0 {
			parts = append(parts, human.Plural(p.n, p.one, p.many))
		}
	}
	const indent = 12
	for i, line := range wrap(strings.Join(parts, ", "), 80-indent) {
		if i > 0 {
			head = ""
		}
		scr.printf("%-12s%s\n", head, line)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// torturePanel shows the progress: on a terminal as lines that are redrawn, elsewhere as a line
// now and then.
type torturePanel struct {
	term.Panel
	last time.Time
}

// betweenLines is the time between two lines where nothing can be redrawn.
const betweenLines = 10 * time.Second

func (p *torturePanel) show(now torture.Progress) {
	doing := now.Stage
	if doing == "" {
		doing = human.Duration(max(now.For-now.Elapsed, 0).Round(time.Second)) + " left"
	}
	d := now.Done
	line := fmt.Sprintf("%s  %s, %s in the book; killed %d, froze %d, cut %d, left %d, server %d", human.Duration(now.Elapsed.Round(time.Second)), doing,
		human.Plural(now.Entries, "entry", "entries"), d.Kills, d.Freezes, d.Cuts+d.Delays, d.Leaves, d.Restarts)
	if now.Judged > 0 {
		line += fmt.Sprintf("; %s judged", human.Plural(now.Judged, "run", "runs"))
	}
	if p.Terminal.Moves {
		p.Draw([]string{line, now.Latest})
		return
	}
	if time.Since(p.last) >= betweenLines {
		p.last = time.Now()
		p.Say("%s", line)
	}
}
