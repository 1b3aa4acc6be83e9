package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func canaryCommand(scr *screen, db *source) *cobra.Command {
	set, end := command.Find(command.Canary, "set"), command.Find(command.Canary, "end")
	u, ends := &use{Command: set, params: set.New()}, false
	cmd := &cobra.Command{
		Use:   "canary",
		Short: "Let a share of new workflows begin on one build",
		Long: `Let a share of the workflows that are started from now on begin at nodes of one build, and
the others at nodes of other builds; without flags, show what is set. Which workflows these
are follows from their IDs, so a greater share includes those of a smaller one. With the
share 0 none begins on the build, with 100 all. --end lets them begin at whichever node has
their IDs.

It is about where workflows begin. Those that are pinned (workflow.Pinned) stay there;
others continue where code is that fits. If no node of the right build lives, a workflow
begins where it would without this. See which builds there are: perdure nodes`,
		Example: `  perdure canary --build v1.5.0 --share 10% --reason "the new tariffs"
  perdure canary --build v1.5.0 --share 0
  perdure canary
  perdure canary --end`,
	}
	u.flags(scr, cmd)
	cmd.Flags().BoolVar(&ends, "end", false, "let new workflows begin on any build")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		named := anyChanged(cmd, []string{"build", "share"}) != ""
		extra := anyChanged(cmd, []string{"dry-run", "request", "by", "reason"})
		switch {
		case ends && named:
			return usage("Leave --build and --share out.", "--end is for whatever canary is set.")
		case ends:
			params := end.New()
			*command.ReasonOf(params) = *command.ReasonOf(u.params)
			u.Command, u.params = end, params
		case !named && extra != "":
			return usage("Say what to set with --build and --share, or --end it.", "--%s is for setting a canary.", extra)
		case !named:
			return db.withEngine(cmd.Context(), func(e *perdure.Engine) error { return currentCanary(scr, db, cmd.Context(), e) })
		}
		return carryOut(scr, db, cmd.Context(), u, "")
	}
	return cmd
}

// currentCanary shows what is set.
func currentCanary(scr *screen, db *source, ctx context.Context, e *perdure.Engine) error {
	c, err := ops.Canary(ctx, e)
	if err != nil {
		return err
	}
	if scr.format != formatTable {
		return scr.document(struct {
			Canary *view.Canary `json:"canary"`
		}{c})
	}
	if c == nil {
		scr.printf("No canary is set. %s\n", wording.Canary(&view.Canary{Ended: true}))
		return liveBuilds(scr, db, ctx, e, "")
	}
	scr.printf("%s\n", wording.Canary(c))
	scr.printf("Set %s%s.\n", human.Ago(c.Time, scr.env.Now()), wording.Person(c.By, c.Why))
	return liveBuilds(scr, db, ctx, e, c.Build)
}

// liveBuilds shows of which builds nodes of the group live, and says so if there is none of
// the one that is meant.
func liveBuilds(scr *screen, db *source, ctx context.Context, e *perdure.Engine, meant string) error {
	builds, count, err := command.LiveBuilds(ctx, e)
	if err != nil {
		return err
	}
	said := make([]string, len(builds))
	for i, b := range builds {
		said[i] = fmt.Sprintf("%s (%s)", b, human.Plural(count[b], "node", "nodes"))
	}
	switch {
	case len(builds) == 0:
		scr.printf("%s\n", db.unserved())
	case meant != "" && count[meant] == 0:
		scr.printf("No node of build %s is live; until one is, new workflows begin on: %s.\n", meant, strings.Join(said, ", "))
	default:
		scr.printf("Live builds: %s.\n", strings.Join(said, ", "))
	}
	return nil
}
