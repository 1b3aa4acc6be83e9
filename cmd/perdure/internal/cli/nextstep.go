package cli

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// commands shows what to type about what waits for an operator, or waits long: the safest
// first. What is to be done elsewhere is a comment of the shell above the commands.
func tellCommands(scr *screen, db *source, s *view.Status) {
	var lines []string
	add := func(line string) {
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if !s.Served {
		add(db.sameDatabase("perdure nodes --all"))
	}
	for i := range s.Waiting {
		for _, line := range nextLines(db, &s.Waiting[i]) {
			add(line)
		}
	}
	scr.lines("\nWhat to type:\n\n", "  ", lines)
}

// beforeDeciding says what to read before one of the commands is chosen.
var beforeDeciding = map[string]string{
	view.WaitInDoubt:     "a call in doubt may have had its effect " + see.Unknown,
	view.WaitQuarantined: "a quarantined call ran when its process died " + see.Probation,
}

// nextLines returns what to type about something that waits; nothing if it soon continues by
// itself.
func nextLines(db *source, w *view.Waiting) (lines []string) {
	if text := beforeDeciding[w.For]; text != "" {
		lines = append(lines, "# "+text)
	}
	for _, step := range wording.Steps(&w.Wait) {
		switch {
		case step.Do == "" && w.Gate == "" && w.Queue == "":
			lines = append(lines, "# "+w.Name+": "+step.Says)
		case step.Do == "":
			lines = append(lines, "# "+step.Says)
		default:
			lines = append(lines, db.sameDatabase(stepCommand(w, step.Do)))
		}
	}
	if len(lines) == 1 && w.WorkflowID != "" && (w.For == view.WaitParked || w.For == view.WaitDamaged || w.For == view.WaitCode) {
		lines = append(lines, db.sameDatabase("perdure show", w.WorkflowID))
	}
	return lines
}

// stepCommand returns the command of a step. About several calls or runs it is a dry run.
func stepCommand(w *view.Waiting, do string) string {
	id, name := human.ShellWord(w.WorkflowID), human.ShellWord(w.Name)
	more := map[string]string{"fail": " --error 'given up by hand'", "skip": " --result null"}[do]
	switch do {
	case wording.DoResumeActivity:
		return "perdure resume --activity " + name
	case wording.DoResumeGate:
		return gateCommand("resume", w.Gate, "")
	case wording.DoProbeGate:
		if w.Keys == 1 {
			return gateCommand("probe", w.Gate, w.Key)
		}
		return gateCommand("probe", w.Gate, "")
	case "move-runs":
		return fmt.Sprintf("perdure move-runs --all --from %s --to BUILD --dry-run", human.ShellWord(w.Build))
	case "resume-run":
		if w.Count == 1 {
			return "perdure resume-run " + id
		}
		return "perdure resume-run --all --status " + wording.WaitingRuns[w.For] + " --type " + name + " --dry-run"
	}
	if w.Count == 1 {
		return fmt.Sprintf("perdure %s %s --call %d%s", do, id, w.Call, more)
	}
	return fmt.Sprintf("perdure %s --all --activity %s --state %s%s --dry-run", do, name, wording.WaitingCalls[w.For], more)
}

// gateCommand is the command line of an operation on a gate, or on what one run key has of it.
func gateCommand(do, gate, key string) string {
	line := "perdure gates " + do + " " + human.ShellWord(gate)
	if key != "" {
		line += " --key " + human.ShellWord(key)
	}
	return line
}
