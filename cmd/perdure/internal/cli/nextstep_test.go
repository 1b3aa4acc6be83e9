package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/view"
)

// TestF11_SuggestionsCanBeTyped: whatever waits, what status suggests is a command with flags that
// it has, and the first suggestion is never one that kills.
func TestF11_SuggestionsCanBeTyped(t *testing.T) {
	scr, db, _ := printer(time.Now())
	root := rootCommand(scr, db)
	crash := []view.Crash{{Node: "n1", Build: "v1"}}
	for _, w := range []view.Wait{
		{For: view.WaitQuarantined, Call: 3, Name: "charge"}, {For: view.WaitQuarantined, Call: 3, Name: "charge", Crashes: crash},
		{For: view.WaitQuarantined, Call: 3, Name: "charge", Crashes: crash, NoOtherBuild: true},
		{For: view.WaitDamaged, Name: "checkout"}, {For: view.WaitParked, Name: "checkout"}, {For: view.WaitParked, Name: "checkout", Broken: view.BrokenCrashed}, {For: view.WaitParked, Name: "checkout", Needs: &view.NeededCode{Build: "v1", Node: "n1"}},
		{For: view.WaitCode, Name: "checkout"}, {For: view.WaitCode, Name: "checkout", Build: "v1"},
		{For: view.WaitBuild, Name: "checkout", Build: "v1"},
		{For: view.WaitUnserved, Call: 3, Name: "charge", Queue: "gpu"}, {For: view.WaitPaused, Call: 3, Name: "charge"}, {For: view.WaitPaused, Call: 3, Name: "charge", By: "ann"},
		{For: view.WaitPaused, Name: "checkout", By: "ann"}, {For: view.WaitActivityPaused, Name: "charge", By: "ann"}, {For: view.WaitGatePaused, Gate: "bank", By: "ann"},
		{For: view.WaitBreaker, Gate: "bank"}, {For: view.WaitBackoff, Call: 3, Name: "charge"},
	} {
		for _, n := range []int{1, 40} {
			lines := nextLines(db, &view.Waiting{Wait: w, Count: n, WorkflowID: "order-17"})
			if len(lines) == 0 {
				t.Errorf("%s: nothing is suggested", w.For)
				continue
			}
			if w.NoOtherBuild && strings.Contains(strings.Join(lines, "\n"), "retry-now") {
				t.Errorf("%s: %q would crash more processes", w.For, lines)
			}
			if w.For == view.WaitQuarantined && !w.NoOtherBuild && len(w.Crashes) == 0 && !strings.HasPrefix(lines[1], "#") { // below what to read
				t.Errorf("%s: the first thing to type is %q", w.For, lines[1])
			}
			for _, line := range lines {
				if strings.HasPrefix(line, "# ") {
					continue
				}
				words := strings.Fields(strings.ReplaceAll(line, "'given up by hand'", "x"))
				cmd, rest, err := root.Find(words[1:])
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if words[0] != "perdure" || err != nil || !cmd.Runnable() {
					t.Errorf("%s: %q cannot be typed: %v", w.For, line, err)
				}
				if n > 1 && w.Gate == "" && w.For != view.WaitActivityPaused && !strings.Contains(line, "--dry-run") && !strings.Contains(line, "perdure show") {
					t.Errorf("%s: %q does it to %d without showing them first", w.For, line, n)
				}
			}
		}
	}
}

// TestADecisionHasSomethingToRead: what a person has to know before choosing among the commands is
// the first line, a comment of the shell; a wait that has one next step leads nowhere.
func TestADecisionHasSomethingToRead(t *testing.T) {
	_, db, _ := printer(time.Now())
	for kind, address := range map[string]string{view.WaitInDoubt: see.Unknown, view.WaitQuarantined: see.Probation, view.WaitBackoff: ""} {
		lines := nextLines(db, &view.Waiting{Wait: view.Wait{For: kind, Name: "charge", Call: 1}, Count: 1, WorkflowID: "order-17"})
		reads := strings.HasPrefix(lines[0], "# ") && address != "" && strings.HasSuffix(lines[0], address)
		if reads != (address != "") || !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "perdure ") }) {
			t.Errorf("%s: %q", kind, lines)
		}
	}
}
