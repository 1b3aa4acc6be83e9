package cli

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// completeID offers the shell the workflow IDs that begin with what was typed.
func (a *app) completeID(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	err := a.withEngine(cmd.Context(), func(e *perdure.Engine) error {
		runs, err := e.List(cmd.Context(), view.Filter{IDPrefix: typed})
		for _, r := range runs {
			if term.Escape(r.WorkflowID) == r.WorkflowID { // others cannot be typed
				ids = append(ids, r.WorkflowID+"\t"+term.Escape(r.Workflow)+", "+r.Status)
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
