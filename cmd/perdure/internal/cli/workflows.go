package cli

import (
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

func workflowTable(scr *screen, stats []view.WorkflowStats) {
	table := scr.table("WORKFLOW", "\tOPEN", "\tHELD", "\tSTARTED", "\tCOMPLETED", "\tFAILED", "\tCANCELED", "MEDIAN", "95%", "LATEST HOUR", "BUILDS")
	table.Spare("CANCELED", "BUILDS")
	for i := range stats {
		w := &stats[i]
		table.Row(w.Workflow, human.Count(w.Open), painted(w.Held, term.Bad), human.Count(w.Started), human.Count(w.Completed), painted(w.Failed, term.Bad), human.Count(w.Canceled),
			human.Took(w.Median), human.Took(w.P95), latestHour(w), wording.Builds(w.Builds))
	}
	table.Write(scr.out)
	if len(stats) > 0 && stats[0].AtLeast {
		scr.printf("\nThere are more open runs: the newest %s were counted.\n", human.Count(view.MaxWorkflowRuns))
	}
}

func latestHour(w *view.WorkflowStats) string {
	if w.Latest == nil {
		return ""
	}
	return human.Hour(*w.Latest)
}

// painted is a number that has a colour unless it is 0.
func painted(n int, colour term.Colour) term.Painted {
	if n == 0 {
		return term.Painted{Text: "0"}
	}
	return term.Painted{Text: human.Count(n), Colour: colour}
}
