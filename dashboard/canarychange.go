package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var canaryChanges = []change{
	{
		kind: "canary", name: "set", label: "Set the canary",
		means: "A share of the workflows that start from now on begins at nodes of one build, the others at nodes of other builds. Runs that have begun stay where they are. It replaces the canary that is in force.",
		ask:   askCanary,
		do: func(q *request, _ string, form url.Values, who []ops.ControlOption) (url.Values, error) {
			percent, err := percentOf(form)
			if err == nil {
				_, err = ops.SetCanary(q.ctx, q.engine, form.Get("build"), percent, who...)
			}
			return nil, err
		},
	},
	{
		kind: "canary", name: "end", label: "End the canary",
		means: "New workflows begin on whichever build is at the node to which their IDs lead, as without a canary. Runs that have begun stay where they are.",
		ask:   askCanaryEnd,
		do: func(q *request, _ string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			_, err := ops.EndCanary(q.ctx, q.engine, who...)
			return nil, err
		},
	},
}

// canary adds what operators may change, and says what was changed.
func (p *nodesPage) canary(q *request, current *view.Canary) {
	if c, err := changeOf("canary", q.URL.Query().Get("done")); err == nil {
		p.Done = c.label + ": it is on record, and the nodes of the group learn of it within seconds."
	}
	if !q.operator() {
		return
	}
	p.Buttons = changeButtons("canary", "", "set")
	if current != nil {
		p.Buttons = append(p.Buttons, changeButtons("canary", "", "end")...)
	}
	for i := range p.Buttons {
		p.Buttons[i].Says = p.Buttons[i].Label // it has the object
	}
}

// percentOf returns the share that a form names.
func percentOf(form url.Values) (float64, error) {
	text := strings.TrimSpace(form.Get("share"))
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil {
		return 0, wrongFieldf("The share is %q. Write a number from 0 to 100, such as 10 or 2.5.", clipBytes(text, 100))
	}
	return n, nil
}

// liveBuilds returns the builds of the live nodes of the engine's group, and how many nodes
// have each.
func (q *request) liveBuilds() (builds []string, count map[string]int, err error) {
	status, err := ops.Status(q.ctx, q.engine)
	if err != nil {
		return nil, nil, err
	}
	all, err := ops.Nodes(q.ctx, q.engine)
	if err != nil {
		return nil, nil, err
	}
	count = map[string]int{}
	for _, n := range all {
		if n.State != view.NodeLive || n.Worker || n.Group != status.Group {
			continue
		}
		if count[n.Build]++; count[n.Build] == 1 {
			builds = append(builds, n.Build)
		}
	}
	slices.Sort(builds)
	return builds, count, nil
}

// mayChangeCanary refuses callers who could not send the form.
func mayChangeCanary(q *request) error {
	switch {
	case q.guard.ReadOnly():
		return wrongFieldf("This dashboard only shows, so the canary cannot be changed here.")
	case !q.operator():
		return wrongFieldf("Only operators may change the canary; you may look.")
	}
	return nil
}

func askCanary(q *request, f *changeForm) error {
	if err := mayChangeCanary(q); err != nil {
		return err
	}
	builds, count, err := q.liveBuilds()
	if err != nil {
		return err
	}
	now, err := ops.Canary(q.ctx, q.engine)
	if err != nil {
		return err
	}
	if now == nil {
		now = &view.Canary{Ended: true}
	}
	// A database that cannot have a canary says so before anything is entered.
	if _, err := ops.SetCanary(q.ctx, q.engine, "any", 0, ops.DryRun()); err != nil {
		return err
	}
	build, asked := f.values.Get("build"), f.values.Has("asked")
	if len(builds) == 0 {
		return wrongFieldf("No node of the group is live and says its build, so there is none to choose. Start one first.")
	}
	share := f.values.Get("share")
	if !asked && !now.Ended {
		build, share = now.Build, strconv.FormatFloat(now.Percent, 'f', -1, 64)
	}
	in := changeInput{Name: "build", Label: "Build"}
	for _, b := range builds {
		in.Choices = append(in.Choices, changeChoice{b, b + " (" + human.Plural(count[b], "node", "nodes") + ")", b == build})
	}
	f.Fields = []changeInput{in, {Name: "share", Label: "Share of new workflows, in per cent", Hint: "from 0 to 100", Value: share, Number: true}}
	f.Asks = "Show what it means"
	if !asked {
		return nil
	}
	if count[build] == 0 {
		return wrongFieldf("No live node has build %q. Choose one that is live.", clipBytes(build, 100))
	}
	percent, err := percentOf(f.values)
	if err != nil {
		return err
	}
	next, err := ops.SetCanary(q.ctx, q.engine, build, percent, ops.DryRun())
	if err != nil {
		return err
	}
	f.canarySays(now, &next)
	if len(builds) == 1 {
		f.Says = append(f.Says, "All live nodes have this build. While no node of another is live, all new workflows begin on it, whatever the share.")
	}
	f.Sure = now.Ended || now.Build != next.Build || now.Percent != next.Percent
	if !f.Sure {
		f.Says = []string{"Nothing is different from what is in force."}
	}
	f.hide("asked", "yes")
	f.hide("build", build)
	f.hide("share", strconv.FormatFloat(percent, 'f', -1, 64))
	return nil
}

func askCanaryEnd(q *request, f *changeForm) error {
	if err := mayChangeCanary(q); err != nil {
		return err
	}
	now, err := ops.Canary(q.ctx, q.engine)
	if err != nil {
		return err
	}
	if now == nil {
		f.Says = []string{"No canary is set."}
		return nil
	}
	next, err := ops.EndCanary(q.ctx, q.engine, ops.DryRun())
	if err == nil {
		f.canarySays(now, &next)
		f.Sure = true
	}
	return err
}

// canarySays shows the canary before and after a change.
func (f *changeForm) canarySays(now, next *view.Canary) {
	if before, after := wording.Canary(now), wording.Canary(next); before != after {
		f.Diff = []partDiff{{"canary", before, after}}
	}
}
