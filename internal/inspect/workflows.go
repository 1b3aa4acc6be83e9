package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// WorkflowStats returns the workflows of the group by name: those that a live node has, those of
// open runs, and those whose runs were counted since a time.
func (in *Inspector) WorkflowStats(ctx context.Context, since time.Time) ([]view.WorkflowStats, error) {
	nodes, err := in.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	open, err := in.List(ctx, view.Filter{Status: openStatuses, Limit: view.MaxWorkflowRuns})
	if err != nil {
		return nil, err
	}
	counted, err := in.counted(ctx, store.TallyFilter{From: bound(since), ByBucket: true})
	if err != nil {
		return nil, err
	}
	all := workflowSums{}
	all.addNodes(nodes, in.group.Name)
	for i := range open {
		all.addOpen(&open[i])
	}
	for i := range counted {
		if counted[i].Name == "" {
			all.addCounted(&counted[i])
		}
	}
	return all.stats(len(open) == view.MaxWorkflowRuns), nil
}

// workflowSums are the workflows by name, with the times that their runs took.
type workflowSums map[string]*workflowSum

type workflowSum struct {
	view.WorkflowStats
	took took
}

func (all workflowSums) of(name string) *workflowSum {
	w := all[name]
	if w == nil {
		w = &workflowSum{WorkflowStats: view.WorkflowStats{Workflow: name}}
		all[name] = w
	}
	return w
}

func (all workflowSums) addNodes(nodes []view.Node, group string) {
	for i := range nodes {
		n := &nodes[i]
		if n.Group != group || n.State != view.NodeLive {
			continue
		}
		for _, d := range n.Workflows {
			same := func(b view.WorkflowBuild) bool { return b.Build == n.Build && b.Version == d.Version }
			among(&all.of(d.Name).Builds, same, view.WorkflowBuild{Build: n.Build, Version: d.Version}).Nodes++
		}
	}
}

func (all workflowSums) addOpen(r *view.Run) {
	w := all.of(r.Workflow)
	if w.Open++; r.Status == view.StatusParked || r.Status == view.StatusWaitingForCode {
		w.Held++
	}
}

// addCounted adds an hour, later than those before.
func (all workflowSums) addCounted(c *counted) {
	w := all.of(c.Type)
	if w.Started += int(c.Started); c.Started > 0 {
		w.Latest = optional(c.Bucket)
	}
	w.Completed += int(c.FirstTry)
	w.Failed += int(c.Failed)
	w.Canceled += int(c.Canceled)
	w.took = append(w.took, c.took...)
}

func (all workflowSums) stats(more bool) []view.WorkflowStats {
	var stats []view.WorkflowStats
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w := all[name]
		w.Median, w.P95 = w.took.says()
		w.AtLeast = more
		slices.SortFunc(w.Builds, func(a, b view.WorkflowBuild) int {
			return cmp.Or(cmp.Compare(a.Build, b.Build), cmp.Compare(a.Version, b.Version))
		})
		stats = append(stats, w.WorkflowStats)
	}
	return stats
}
