package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/view"
)

// WorkflowStats returns the workflows of the group by name: those that a live node has, and those
// of the newest runs. Since is when "lately" begins.
func (in *Inspector) WorkflowStats(ctx context.Context, since time.Time) ([]view.WorkflowStats, error) {
	nodes, err := in.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	open, err := in.List(ctx, view.Filter{Status: openStatuses, Limit: view.MaxWorkflowRuns})
	if err != nil {
		return nil, err
	}
	lately, err := in.List(ctx, view.Filter{Since: since, Limit: view.MaxWorkflowRuns})
	if err != nil {
		return nil, err
	}
	all := workflowSums{}
	all.addNodes(nodes, in.group.Name)
	for i := range open {
		all.addOpen(&open[i])
	}
	for i := range lately {
		all.addLately(&lately[i])
	}
	return all.stats(max(len(open), len(lately)) == view.MaxWorkflowRuns), nil
}

// workflowSums are the workflows by name, with the times that their runs took.
type workflowSums map[string]*workflowSum

type workflowSum struct {
	view.WorkflowStats
	took []time.Duration
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
			w := all.of(d.Name)
			at := slices.IndexFunc(w.Builds, func(b view.WorkflowBuild) bool { return b.Build == n.Build && b.Version == d.Version })
			if at < 0 {
				at = len(w.Builds)
				w.Builds = append(w.Builds, view.WorkflowBuild{Build: n.Build, Version: d.Version})
			}
			w.Builds[at].Nodes++
		}
	}
}

func (all workflowSums) addOpen(r *view.Run) {
	w := all.of(r.Workflow)
	if w.Open++; r.Status == view.StatusParked || r.Status == view.StatusWaitingForCode {
		w.Held++
	}
}

func (all workflowSums) addLately(r *view.Run) {
	w := all.of(r.Workflow)
	w.Started++
	if w.Latest == nil || r.Created.After(*w.Latest) {
		w.Latest = &r.Created
	}
	switch r.Status {
	case view.StatusCompleted:
		w.Completed++
		w.took = append(w.took, r.Closed.Sub(r.Created))
	case view.StatusFailed, view.StatusTimedOut:
		w.Failed++
	case view.StatusCanceled, view.StatusTerminated:
		w.Canceled++
	}
}

func (all workflowSums) stats(more bool) []view.WorkflowStats {
	var stats []view.WorkflowStats
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w := all[name]
		slices.Sort(w.took)
		w.Median, w.P95, w.AtLeast = rank(w.took, 50), rank(w.took, 95), more
		slices.SortFunc(w.Builds, func(a, b view.WorkflowBuild) int {
			return cmp.Or(cmp.Compare(a.Build, b.Build), cmp.Compare(a.Version, b.Version))
		})
		stats = append(stats, w.WorkflowStats)
	}
	return stats
}

// rank returns the smallest of sorted times that so many percent do not exceed (nearest rank); 0
// if there are none.
func rank(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
