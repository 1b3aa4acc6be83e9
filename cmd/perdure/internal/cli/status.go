package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func statusCommand(scr *screen, db *source) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs, what waits for what, and what fails",
		Long: `Show on one screen which nodes serve the workflows, what waits for what and since when,
what changed in the last hour and which errors ended attempts in it, and the commands to
type next. Operations on workflows are not among the changes: perdure audit has them.

The exit code is 7 if something needs attention: if it will not continue by itself and
no operator paused it, if a circuit breaker is open, or if calls wait for an activity or
a gate that is paused. Workflows that stay on a build (workflow.Pinned) need attention
before they are due, when the last node of that build is leaving or gone. Of each kind of wait at most 1,000
calls or 100 workflows are read; "1,000+" says that there are more. If an attempt of only some
of the calls has failed, WHY says of how many, as in "3 failed: Timeout: no answer".

With --watch the screen is redrawn until the command is interrupted; less often if the
database takes long to read, so that watching costs it little.`,
		Example: `  perdure status
  perdure status --watch
  perdure status -o json
  perdure status > /dev/null || echo "look at it"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return db.withEngine(cmd.Context(), func(e *perdure.Engine) error {
				s, err := ops.Status(cmd.Context(), e)
				if err != nil {
					return err
				}
				return scr.judge(s, !s.Attention, "Something needs attention.", func() { tellStatus(scr, db, e, s) })
			})
		},
	}
}

// tellStatus shows the status to people.
func tellStatus(scr *screen, db *source, e *perdure.Engine, s *view.Status) {
	now := consistent(s.Time, s.Nodes)
	scr.printf("%s\n", headline(db, e, s))
	if !s.Served {
		scr.printf("%s\n", term.Painted{Text: db.unserved(), Colour: term.Bad})
	}
	for _, note := range slices.Concat(canaryNotes(s.Canary), nodeNotes(s.Nodes, now)) {
		scr.printf("%s\n", note)
	}
	waitingNow(scr, s.Waiting, now)
	keysTable(scr, "Whose calls wait", s.Keys, now)
	queues(scr, s.Queues, now)
	scr.lines("\nChanged in the last hour:\n\n", "  ", wording.Changes(s, now))
	errorTrends(scr, s.Errors, now)
	failedRuns(scr, s.Failed, now)
	tellCommands(scr, db, s)
}

// headline names the database, the nodes that serve it, and the number of workflows.
func headline(db *source, e *perdure.Engine, s *view.Status) string {
	var names []string
	for _, n := range s.Nodes {
		if works(n) {
			names = append(names, n.Name)
		}
	}
	text := db.place(e) + ": "
	if working := len(names); working > 0 {
		const most = 3
		if working > most {
			names = append(names[:most], "...")
		}
		text += human.Plural(working, "node", "nodes") + " (" + strings.Join(names, ", ") + "), "
	}
	text += atLeast(s, s.Runs[view.StatusRunning]) + human.Plural(s.Runs[view.StatusRunning], "workflow", "workflows") + " running"
	for _, status := range []string{view.StatusPaused, view.StatusWaitingForCode, view.StatusParked} {
		if n := s.Runs[status]; n > 0 {
			text += ", " + atLeast(s, n) + human.Count(n) + " " + status
		}
	}
	return text + "."
}

// atLeast goes before a number of runs that were not all counted.
func atLeast(s *view.Status, n int) string {
	if s.More(n) {
		return "at least "
	}
	return ""
}

// unserved says that no node serves the group.
func (db *source) unserved() string {
	return "No node serves " + served(db) + ". Work waits until an engine starts."
}

// waitingNow shows what blocks calls and workflows.
func waitingNow(scr *screen, all []view.Waiting, now time.Time) {
	if len(all) == 0 {
		scr.printf("\nNothing waits for a retry, a gate, a slot or a person.\n")
		return
	}
	scr.printf("\n")
	table := scr.table("WAITS FOR", "\tCOUNT", "WHAT", "SINCE", "UNTIL", "EXAMPLE", "WHY")
	table.Spare("UNTIL", "EXAMPLE") // what to type about them is printed below
	for i := range all {
		w := &all[i]
		count := human.Count(w.Count)
		if w.AtLeast {
			count += "+"
		}
		table.Row(waitPainted(w.For), count, whatWaits(w), when(w.Since, now, human.Ago), when(w.Until, now, human.Until), w.WorkflowID, wording.WhyWaiting(w))
	}
	table.Write(scr.out)
}

func waitPainted(kind string) term.Painted {
	return term.Painted{Text: wording.WaitName(kind), Colour: colourOf(kind)}
}

// whatWaits names the activity, the gate or the workflow.
func whatWaits(w *view.Waiting) string {
	if w.Gate != "" {
		return wording.GateAndKeys(w)
	}
	if w.Queue != "" {
		return w.Name + " in " + w.Queue
	}
	return w.Name
}

// when says when something was or will be; "" if that is not known.
func when(t *time.Time, now time.Time, say func(t, now time.Time) string) string {
	if t == nil {
		return ""
	}
	return say(*t, now)
}

// keysTable shows the run keys of which most calls wait.
func keysTable(scr *screen, title string, all []view.KeyWait, now time.Time) {
	table := scr.titled(title, "KEY", "\tWAITING", "OLDEST", "\tRUNNING", "BREAKER", "TOKENS")
	table.Spare("RUNNING")
	for _, k := range all {
		table.Row(wording.Key(k.Key, 0), human.Count(k.Waiting), when(k.Oldest, now, human.Ago), unlessZero(k.Running),
			breakerPainted(wording.Breaker(k.Breaker), k.Breaker, k.OpenUntil, now), tokensLeft(k.Tokens))
	}
	table.Write(scr.out)
}

// queues shows which processes serve each queue, and what is in it.
func queues(scr *screen, all []view.Queue, now time.Time) {
	table := scr.titled("Queues", "QUEUE", "\tWAITING", "OLDEST", "\tRUNNING", "\tLIMIT", "\tPROCESSES", "UNSERVED")
	for i := range all {
		q := &all[i]
		unserved := term.Painted{Text: strings.Join(q.Unserved, ", "), Colour: term.Bad}
		table.Row(q.Queue, human.Count(q.Waiting), when(q.Oldest, now, human.Ago), human.Count(q.Running), human.Count(q.Limit), human.Count(q.Workers), unserved)
	}
	table.Write(scr.out)
}

// errorTrends shows the worst errors of the last hour.
func errorTrends(scr *screen, all []view.ErrorTrend, now time.Time) {
	table := scr.titled("Errors of the last hour", "STEP", "ERROR", "\tATTEMPTS", "\tHOUR BEFORE", "", "\tCALLS", "LAST", "MESSAGE")
	for i := range all {
		t := &all[i]
		arrow := term.Painted{Text: "="}
		switch {
		case t.AtLeast: // only the latest of each hour were counted
			arrow = term.Painted{}
		case t.Attempts > t.Before:
			arrow = term.Painted{Text: "↑", Colour: term.Bad}
		case t.Attempts < t.Before:
			arrow = term.Painted{Text: "↓", Colour: term.Good}
		}
		kind, message, more := t.ErrorType, t.Example.Message, ""
		if t.Outcome == view.OutcomeLost {
			kind, message = wording.Lost, wording.LostMessage
		}
		if t.AtLeast {
			more = "+"
		}
		table.Row(t.Name, kind, human.Count(t.Attempts)+more, human.Count(t.Before)+more, arrow, human.Count(t.Calls)+more, human.Ago(t.Last, now), message)
	}
	table.Write(scr.out)
}

// failedRuns shows the latest workflows that failed.
func failedRuns(scr *screen, runs []view.Run, now time.Time) {
	table := scr.titled("Failed in the last hour", "ID", "WORKFLOW", "FAILED", "ERROR")
	for _, r := range runs {
		table.Row(r.WorkflowID, r.Workflow, when(r.Closed, now, human.Ago), wording.Typed(r.ErrorType, r.Error))
	}
	table.Write(scr.out)
}

// sameDatabase adds to a command words for a shell, and the flags by which this one found its
// database. It omits a password in them, because the output may end up in tickets.
func (db *source) sameDatabase(command string, words ...string) string {
	for _, word := range words {
		command += " " + human.ShellWord(word)
	}
	if name, err := database.Parse(db.named); db.named != "" && err == nil {
		text := db.named
		if name.HidesPassword() {
			text = name.String()
		}
		command += " --db " + human.ShellWord(text)
	}
	if db.groupFlag.Changed {
		command += " --group " + human.ShellWord(db.groupFlag.Value.String())
	}
	return command
}
