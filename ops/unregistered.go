package ops

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/view"
)

// Unregistered returns a warning if no program in the engine's group is known to have a
// workflow or activity of that name, and suggests similar names. kind is "workflow" or
// "activity". It is empty if a node or a worker that is remembered has registered the name, if
// calls of an activity or step of that name have ended, or if none is remembered. A request
// with an unknown name is not wrong: its program may come later.
func Unregistered(ctx context.Context, e *perdure.Engine, kind, name string) (string, error) {
	if kind != "workflow" && kind != "activity" {
		return "", &view.InputError{What: fmt.Sprintf("kind %q", kind), Problem: "is neither workflow nor activity"}
	}
	if err := history.CheckName(kind+" name", name); err != nil {
		return "", fmt.Errorf("perdure: %s %q: %w", kind, name, err)
	}
	all, err := Nodes(ctx, e)
	if err != nil {
		return "", err
	}
	known := map[string]bool{}
	for i := range all {
		if kind == "activity" {
			for _, a := range all[i].Activities {
				known[a] = true
			}
			continue
		}
		for _, w := range all[i].Workflows {
			known[w.Name] = true
		}
	}
	if kind == "activity" && !known[name] { // steps are registered nowhere
		stats, err := ActivityStats(ctx, e, time.Time{}, time.Time{})
		if err != nil {
			return "", err
		}
		for i := range stats {
			known[stats[i].Name] = true
		}
	}
	if known[name] || len(known) == 0 {
		return "", nil
	}
	warning := fmt.Sprintf("no node is known that has %s %q", kind, name)
	if hint := near.Hint(name, maps.Keys(known)); hint != "" {
		return warning + ". " + hint, nil
	}
	return warning, nil
}
