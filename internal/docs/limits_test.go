package docs

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/settings"
)

// TestTheTablesOfLimits: the page has the limits of the code.
func TestTheTablesOfLimits(t *testing.T) {
	bytes := func(n int) string {
		switch {
		case n >= 1<<20 && n%(1<<20) == 0:
			return fmt.Sprintf("%d MiB", n>>20)
		case n >= 1<<10 && n%(1<<10) == 0:
			return fmt.Sprintf("%d KiB", n>>10)
		}
		return human.Count(n) + " bytes"
	}
	Section(t, *update, "limits.md", "limits:bounds", table([]string{"what", "limit"}, [][]string{
		{"a workflow ID, a signal ID, an idempotency key", bytes(history.MaxID)},
		{"the name of a workflow, activity, step, signal, gate or schedule", bytes(history.MaxName)},
		{"an input, a result, a signal, a heartbeat's details: each, as JSON", bytes(history.MaxPayload)},
		{"the nesting of such a value", human.Count(history.MaxNesting) + " levels"},
		{"a memo", bytes(history.MaxMemo)},
		{"a reason (why)", bytes(history.MaxReason)},
		{"attributes of a run", fmt.Sprint(history.MaxAttributes)},
		{"headers of a run", fmt.Sprintf("%d, %s together", history.MaxHeaders, bytes(history.MaxHeaderText))},
		{"a priority", fmt.Sprintf("-%d to %d", history.MaxPriority, history.MaxPriority)},
	}))
	c := settings.Defaults()
	Section(t, *update, "limits.md", "limits:options", table([]string{"option", "what", "default"}, [][]string{
		{code("MaxHistory"), "events of a run; a warning at four fifths", human.Count(c.MaxHistory)},
		{code("MaxPendingCalls"), "open calls of a run", human.Count(c.MaxPendingCalls)},
		{code("MaxSignalBacklog"), "signals that a run has not read; a warning at four fifths; one that the run waits for is always taken", human.Count(c.MaxSignalBacklog)},
		{code("Concurrency"), "attempts that run at a time in a process; further ones queue", human.Count(c.Concurrency)},
		{code("MaxResident"), "idle runs that stay in memory; further ones leave it", human.Count(c.MaxResident)},
		{code("TurnTimeout"), "how long workflow code may run without waiting; then its run is parked", c.TurnTimeout.String()},
	}))
}
