package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// completeID offers the shell the workflow IDs that begin with the typed text.
func (db *source) completeID(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return db.completeArgument(func(ctx context.Context, e *perdure.Engine, found names) error {
		runs, err := e.List(ctx, view.Filter{IDPrefix: typed})
		for _, r := range runs {
			found[r.WorkflowID] = r.Workflow + ", " + r.Status
		}
		return err
	})(cmd, args, typed)
}

// names are offers to the shell, with descriptions.
type names map[string]string

// completion is the function that cobra calls for a word that is being typed.
type completion = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// namesFrom reads names from a database.
type namesFrom func(ctx context.Context, e *perdure.Engine, found names) error

// completeArgument offers names for the first argument of a command.
func (db *source) completeArgument(read namesFrom) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return db.completeNames(read)(cmd, nil, typed)
	}
}

// completeStart offers workflow types, and files if no type matches.
func (db *source) completeStart(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	offers, directive := db.completeArgument(workflowTypes)(cmd, args, typed)
	if len(offers) == 0 && len(args) == 0 {
		directive = cobra.ShellCompDirectiveDefault
	}
	return offers, directive
}

// completeNames offers the names that begin with the typed text.
func (db *source) completeNames(read namesFrom) completion {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		found := names{}
		err := db.withEngine(cmd.Context(), func(e *perdure.Engine) error { return read(cmd.Context(), e, found) })
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var offers []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if strings.HasPrefix(name, typed) && human.Escape(name) == name { // other names cannot be typed
				offers = append(offers, strings.TrimSuffix(name+"\t"+human.Escape(found[name]), "\t"))
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags offers names for the flags of all commands: a flag has the same meaning
// everywhere.
func completeFlags(db *source, cmd *cobra.Command) {
	for flag, read := range map[string]namesFrom{"type": workflowTypes, "activity": activities, errorType: errorTypes} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, db.completeNames(read))
		}
	}
	for _, sub := range cmd.Commands() {
		completeFlags(db, sub)
	}
}

// offers makes names of a list: of each what it is called, and what is said of that.
func offers[T any](read func(context.Context, *perdure.Engine) ([]T, error), of func(*T) (name, says string)) namesFrom {
	return func(ctx context.Context, e *perdure.Engine, found names) error {
		all, err := read(ctx, e)
		for i := range all {
			name, says := of(&all[i])
			found[name] = says
		}
		return err
	}
}

// together reads names from several lists.
func together(all ...namesFrom) namesFrom {
	return func(ctx context.Context, e *perdure.Engine, found names) error {
		for _, read := range all {
			if err := read(ctx, e, found); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	// workflowTypes are the types of the latest workflows, and of all with a closed step.
	workflowTypes = together(offers(latestRuns, func(r *view.Run) (string, string) { return r.Workflow, "" }),
		offers(closedSteps, func(s *view.ActivityStats) (string, string) { return s.Workflow, "" }))

	// activities are the activities and steps that have ended, failed or are paused. A database does
	// not list those that wait for their first attempt.
	activities = together(offers(closedSteps, func(s *view.ActivityStats) (string, string) { return s.Name, "" }),
		offers(lateErrors, func(s *view.ErrorStats) (string, string) { return s.Name, "" }),
		offers(ops.PausedActivities, func(s *view.SwitchRecord) (string, string) { return s.Name, "paused" }))

	errorTypes    = offers(lateErrors, func(s *view.ErrorStats) (string, string) { return s.ErrorType, "" })
	scheduleNames = offers(ops.Schedules, func(s *view.Schedule) (string, string) { return s.Name, s.Workflow })
	gateNames     = offers(ops.Gates, func(g *view.Gate) (name, says string) {
		if g.Paused != nil {
			says = "paused"
		}
		return g.Name, says
	})
)

func latestRuns(ctx context.Context, e *perdure.Engine) ([]view.Run, error) {
	return e.List(ctx, view.Filter{Limit: 1000})
}

func closedSteps(ctx context.Context, e *perdure.Engine) ([]view.ActivityStats, error) {
	return ops.ActivityStats(ctx, e, time.Time{}, time.Time{})
}

// lateErrors are not those of all times: the user is waiting for the names.
func lateErrors(ctx context.Context, e *perdure.Engine) ([]view.ErrorStats, error) {
	return ops.ErrorStats(ctx, e, view.AttemptFilter{Since: time.Now().Add(-7 * 24 * time.Hour), Limit: view.MaxErrors})
}
