package cli

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// switchActivity pauses or resumes an activity on all nodes.
func (a *app) switchActivity(ctx context.Context, r *request, off bool) error {
	if flag := anyChanged(r.cmd, append([]string{"call", "state", errorType}, selecting...)); flag != "" {
		return usage("To act on calls of workflows, name a workflow or add --all.", "--%s means nothing for an activity as a whole.", flag)
	}
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		set := ops.ResumeActivity
		if off {
			set = ops.PauseActivity
		}
		record, err := set(ctx, e, r.calls.Name, r.options(a)...)
		if err != nil {
			return err
		}
		if a.format != formatTable {
			return a.document(record)
		}
		is := "is"
		if r.dry {
			is = "would be"
		}
		a.printf("Activity %s %s %s on all nodes%s.\n", record.Name, is, r.Did, a.inGroup())
		a.warn(record.Warning)
		if r.dry {
			return a.waitsForActivity(ctx, e, record.Name)
		}
		return nil
	})
}

// waitsForActivity says how much a pause of an activity would hold, or holds.
func (a *app) waitsForActivity(ctx context.Context, e *perdure.Engine, name string) error {
	calls, err := ops.ControlAll(ctx, e, view.Filter{}, view.CallFilter{Name: name}, ops.Pause(), ops.DryRun())
	if err == nil {
		a.printf("It has %s in %s that are open.\n", human.Plural(calls.Calls, "call", "calls"), human.Plural(calls.Runs, "workflow", "workflows"))
	}
	return err
}

// warn prints a warning, which is a clause or empty, beside the output.
func (a *app) warn(warning string) {
	if warning != "" {
		a.notef("%s %s\n", term.Painted{Text: "perdure: warning:", Colour: term.Bad}, human.Sentence(warning))
	}
}
