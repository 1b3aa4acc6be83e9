package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// canaryFlags say what to do with the canary.
type canaryFlags struct {
	build, share string
	end, dry     bool
	person
	once func() []ops.ControlOption
}

func (a *app) canaryCommand() *cobra.Command {
	var f canaryFlags
	cmd := &cobra.Command{
		Use:   "canary",
		Short: "Let a share of new workflows begin on one build",
		Long: `Let a share of the workflows that are started from now on begin at nodes of one build, and
the others at nodes of other builds; without flags, show what is set. Which workflows these
are follows from their IDs, so a greater share includes those of a smaller one. With the
share 0 none begins on the build, with 100 all. --end lets them begin at whichever node has
their IDs.

It is about where workflows begin. Those that are pinned (workflow.Pinned) stay there;
others go on where code is that fits. If no node of the right build lives, a workflow
begins where it would without this. See which builds there are: perdure nodes`,
		Example: `  perdure canary --build v1.5.0 --share 10% --reason "the new tariffs"
  perdure canary --build v1.5.0 --share 0
  perdure canary
  perdure canary --end`,
		Args: a.noArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.build, "build", "", "the `build`, as perdure nodes shows it")
	flags.StringVar(&f.share, "share", "", "the `percentage` of new workflows that begin there, as in 10% or 0.5%")
	flags.BoolVar(&f.end, "end", false, "let new workflows begin on any build")
	flags.BoolVar(&f.dry, "dry-run", false, "only say what it would be")
	f.addFlags(cmd)
	f.once = onceFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		percent, sets, err := f.check(cmd)
		if err != nil {
			return err
		}
		return a.withEngine(cmd.Context(), func(e *perdure.Engine) error { return a.canary(cmd.Context(), e, &f, percent, sets) })
	}
	return cmd
}

// check returns what the share is, and whether something is to be set.
func (f *canaryFlags) check(cmd *cobra.Command) (percent float64, sets bool, err error) {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	build, share := given("build"), given("share")
	extra := anyChanged(cmd, []string{"dry-run", "request", "by", "reason"})
	switch {
	case f.end && (build || share):
		return 0, false, usage("Leave --build and --share out.", "--end is for whatever canary is set.")
	case f.end:
		return 0, true, nil
	case build && !share:
		return 0, false, usage("Say how much, as in --share 10%.", "The share of build %s is missing.", f.build)
	case share && !build:
		return 0, false, usage("Name it with --build. See which there are: perdure nodes", "The build that gets the share is missing.")
	case !build && extra != "":
		return 0, false, usage("Say what to set with --build and --share, or --end it.", "--%s is for setting a canary.", extra)
	case !build:
		return 0, false, nil
	}
	percent, err = strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(f.share), "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, false, usage("Use a percentage from 0 to 100, as in 10% or 0.5%.", "The share is %q.", f.share)
	}
	return percent, true, nil
}

func (a *app) canary(ctx context.Context, e *perdure.Engine, f *canaryFlags, percent float64, sets bool) error {
	options := append(f.once(), ops.By(a.user(f.person)), ops.Why(f.why))
	if f.dry {
		options = append(options, ops.DryRun())
	}
	var c view.Canary
	var err error
	switch {
	case !sets:
		return a.currentCanary(ctx, e)
	case f.end:
		c, err = ops.EndCanary(ctx, e, options...)
	default:
		c, err = ops.SetCanary(ctx, e, f.build, percent, options...)
	}
	if err != nil {
		return err
	}
	if a.format != formatTable {
		return a.document(c)
	}
	if f.dry {
		a.printf("Nothing was changed. It would be:\n")
	}
	a.printf("%s\n", wording.Canary(&c))
	if f.end {
		return nil
	}
	return a.liveBuilds(ctx, e, c.Build)
}

// currentCanary shows what is set.
func (a *app) currentCanary(ctx context.Context, e *perdure.Engine) error {
	c, err := ops.Canary(ctx, e)
	if err != nil {
		return err
	}
	if a.format != formatTable {
		return a.document(struct {
			Canary *view.Canary `json:"canary"`
		}{c})
	}
	if c == nil {
		a.printf("No canary is set. %s\n", wording.Canary(&view.Canary{Ended: true}))
		return a.liveBuilds(ctx, e, "")
	}
	a.printf("%s\n", wording.Canary(c))
	a.printf("Set %s%s.\n", human.Ago(c.Time, a.env.Now()), wording.Person(c.By, c.Why))
	return a.liveBuilds(ctx, e, c.Build)
}

// liveBuilds shows of which builds nodes of the group live, and says so if there is none of
// the one that is meant.
func (a *app) liveBuilds(ctx context.Context, e *perdure.Engine, meant string) error {
	nodes, err := ops.Nodes(ctx, e)
	if err != nil {
		return err
	}
	group, _ := a.group()
	count := map[string]int{}
	var builds []string
	for _, n := range nodes {
		if !works(n) || n.Group != group {
			continue
		}
		if count[n.Build]++; count[n.Build] == 1 {
			builds = append(builds, n.Build)
		}
	}
	slices.Sort(builds)
	for i, b := range builds {
		builds[i] = fmt.Sprintf("%s (%s)", b, human.Plural(count[b], "node", "nodes"))
	}
	switch {
	case len(builds) == 0:
		a.printf("%s\n", a.unserved())
	case meant != "" && count[meant] == 0:
		a.printf("No node of build %s is live; until one is, new workflows begin on: %s.\n", meant, strings.Join(builds, ", "))
	default:
		a.printf("Live builds: %s.\n", strings.Join(builds, ", "))
	}
	return nil
}
