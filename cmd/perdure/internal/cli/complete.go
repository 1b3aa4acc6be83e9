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

// recently is how far back errors are searched. The user is waiting for the names.
const recently = 7 * 24 * time.Hour

// workflowTypes adds the types of the latest workflows, and of all with a closed step.
func workflowTypes(ctx context.Context, e *perdure.Engine, found names) error {
	runs, err := e.List(ctx, view.Filter{Limit: 1000})
	for _, r := range runs {
		found[r.Workflow] = ""
	}
	if err != nil {
		return err
	}
	stats, err := ops.ActivityStats(ctx, e, time.Time{}, time.Time{})
	for _, s := range stats {
		found[s.Workflow] = ""
	}
	return err
}

// activities adds the activities and steps that have ended, failed or are paused. A
// database does not list those that wait for their first attempt.
func activities(ctx context.Context, e *perdure.Engine, found names) error {
	stats, err := ops.ActivityStats(ctx, e, time.Time{}, time.Time{})
	for _, s := range stats {
		found[s.Name] = ""
	}
	if err != nil {
		return err
	}
	failed, err := ops.ErrorStats(ctx, e, view.AttemptFilter{Since: time.Now().Add(-recently), Limit: view.MaxErrors})
	for _, s := range failed {
		found[s.Name] = ""
	}
	if err != nil {
		return err
	}
	paused, err := ops.PausedActivities(ctx, e)
	for _, s := range paused {
		found[s.Name] = "paused"
	}
	return err
}

func errorTypes(ctx context.Context, e *perdure.Engine, found names) error {
	stats, err := ops.ErrorStats(ctx, e, view.AttemptFilter{Since: time.Now().Add(-recently), Limit: view.MaxErrors})
	for _, s := range stats {
		found[s.ErrorType] = ""
	}
	return err
}

func gateNames(ctx context.Context, e *perdure.Engine, found names) error {
	gates, err := ops.Gates(ctx, e)
	for _, g := range gates {
		found[g.Name] = ""
		if g.Paused != nil {
			found[g.Name] = "paused"
		}
	}
	return err
}

func scheduleNames(ctx context.Context, e *perdure.Engine, found names) error {
	all, err := ops.Schedules(ctx, e)
	for _, s := range all {
		found[s.Name] = s.Workflow
	}
	return err
}
