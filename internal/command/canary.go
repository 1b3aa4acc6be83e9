package command

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var canaryCommands = []Command{
	fills(Row(Command{
		On: Canary, Name: "set", Label: "Set the canary", Short: "Let a share of new workflows begin on one build", Typed: "canary --share", Address: "POST /api/canary",
		Means: "A share of the workflows that start from now on begins at nodes of one build, the others at nodes of other builds. Runs that have begun stay where they are. It replaces the canary that is in force.",
	}, setCanary), canaryForm),
	Row(Command{
		On: Canary, Name: "end", Label: "End the canary", Short: "Let new workflows begin on any build", Typed: "canary --end", Address: "POST /api/canary/end",
		Means: "New workflows begin on whichever build is at the node to which their IDs lead, as without a canary. Runs that have begun stay where they are.",
	}, func(a *Ask, p *Reason) (view.Canary, Effect, error) {
		now, err := ops.Canary(a.Ctx, a.Engine)
		if err != nil {
			return view.Canary{}, Effect{}, err
		}
		next, err := ops.EndCanary(a.Ctx, a.Engine, a.Settings(p)...)
		return next, canaryEffect(now, &next), err
	}),
}

type canary struct {
	Build   string   `json:"build" help:"the {build}, as perdure nodes shows it" label:"Build" need:"name the build on which the share begins; see which there are: perdure nodes"`
	Percent *float64 `json:"percent" flag:"share" help:"the {percentage} of new workflows that begin there, as in 10% or 0.5%" label:"Share of new workflows, in per cent" hint:"from 0 to 100" need:"say how much begins on the build, from 0 to 100"`
	Reason
}

func setCanary(a *Ask, p *canary) (next view.Canary, e Effect, err error) {
	now, err := ops.Canary(a.Ctx, a.Engine)
	if err != nil {
		return next, e, err
	}
	if next, err = ops.SetCanary(a.Ctx, a.Engine, p.Build, *p.Percent, a.Settings(&p.Reason)...); err != nil {
		return next, e, err
	}
	e = canaryEffect(now, &next)
	builds, count, err := LiveBuilds(a.Ctx, a.Engine)
	switch {
	case err != nil:
		return next, e, err
	case len(builds) > 0 && count[p.Build] == 0:
		e.say("No node of build " + p.Build + " is live; until one is, new workflows begin on the others.")
	case len(builds) == 1:
		e.say("All live nodes have this build. While no node of another is live, all new workflows begin on it, whatever the share.")
	}
	return next, e, nil
}

// canaryEffect is the canary before and after a change.
func canaryEffect(now, next *view.Canary) (e Effect) {
	if now == nil {
		now = &view.Canary{Ended: true}
	}
	e.differ("canary", wording.Canary(now), wording.Canary(next))
	if e.Same = now.Ended && next.Ended || !now.Ended && now.Build == next.Build && now.Percent == next.Percent && !next.Ended; e.Same {
		e.say(map[bool]string{true: "No canary is set.", false: "Nothing is different from what is in force."}[now.Ended])
	}
	return e
}

// canaryForm shows what is in force, and which builds there are.
func canaryForm(a *Ask, p *canary) (f Form, err error) {
	// A database that cannot have a canary says so before anything is entered.
	if _, err := ops.SetCanary(a.Ctx, a.Engine, "any", 0, ops.DryRun()); err != nil {
		return f, err
	}
	now, err := ops.Canary(a.Ctx, a.Engine)
	if err != nil {
		return f, err
	}
	if now != nil {
		p.Build, p.Percent = now.Build, &now.Percent
	}
	builds, count, err := LiveBuilds(a.Ctx, a.Engine)
	if err != nil {
		return f, err
	}
	if len(builds) == 0 {
		return f, param.Bad("build", "start a node that has a build", "cannot be chosen: no node of the group is live and says its build")
	}
	f.Choices = map[string][]Choice{}
	for _, b := range builds {
		f.Choices["build"] = append(f.Choices["build"], Choice{b, b + " (" + human.Plural(count[b], "node", "nodes") + ")"})
	}
	return f, nil
}

// LiveBuilds returns the builds of the live nodes of the engine's group, and how many nodes
// have each.
func LiveBuilds(ctx context.Context, e *perdure.Engine) (builds []string, count map[string]int, err error) {
	status, err := ops.Status(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	count = map[string]int{}
	for _, n := range status.Nodes {
		if n.State != view.NodeLive || n.Worker {
			continue
		}
		if count[n.Build]++; count[n.Build] == 1 {
			builds = append(builds, n.Build)
		}
	}
	slices.SortFunc(builds, cmp.Compare[string])
	return builds, count, nil
}
