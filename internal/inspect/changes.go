package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Limits of what is told of the last hour.
const (
	changedNodes      = 10
	changedOperations = 5
	notesRead         = 10_000
	suspectsRead      = 100 // runs
	fewestRemembered  = 100 // nodes that are gone, in any store
)

// changes tells what happened since, from all nodes of the group.
func (in *Inspector) changes(ctx context.Context, nodes []view.Node, since time.Time, lost bool) (view.Changes, error) {
	c := view.Changes{Since: since}
	changedNodesOf(&c, nodes)
	if c.Builds = servingBuilds(nodes); len(c.Builds) < 2 {
		c.Builds = nil
	}
	var err error
	if lost { // a suspect was lost with its process not long ago
		if c.Suspects, err = in.suspects(ctx); err != nil {
			return c, err
		}
	}
	runs, err := in.suspectedRuns(ctx)
	if err != nil {
		return c, err
	}
	c.Suspects = append(c.Suspects, runs...)
	return c, in.addOperations(ctx, &c)
}

// changedNodesOf tells which processes ended since, by the names of their nodes.
func changedNodesOf(c *view.Changes, nodes []view.Node) {
	gone, before := 0, false
	lives := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		if !n.Gone() {
			lives[n.Name] = true
			continue
		}
		gone++
		if n.Ended == nil || n.Ended.Before(c.Since) {
			before = true
			continue
		}
		same := func(o view.NodeChange) bool { return o.Name == n.Name && o.Worker == n.Worker }
		o := among(&c.Nodes, same, view.NodeChange{Name: n.Name, Worker: n.Worker})
		if n.State == view.NodeLeft {
			o.Left++
		} else {
			o.Died++
		}
		if !n.Ended.Before(o.Last) {
			o.Last, o.Build = *n.Ended, n.Build
		}
	}
	c.Forgotten = gone >= fewestRemembered && !before
	for i := range c.Nodes {
		c.Nodes[i].Live = lives[c.Nodes[i].Name]
	}
	for i := range nodes {
		n := &nodes[i]
		if !n.Gone() && !n.Joined.Before(c.Since) && !slices.ContainsFunc(c.Nodes, func(o view.NodeChange) bool { return o.Name == n.Name }) {
			c.Joined++
		}
	}
	slices.SortStableFunc(c.Nodes, func(a, b view.NodeChange) int {
		return cmp.Or(cmp.Compare(b.Died, a.Died), b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name))
	})
	if len(c.Nodes) > changedNodes {
		c.MoreNodes, c.Nodes = len(c.Nodes)-changedNodes, c.Nodes[:changedNodes]
	}
}

// suspects sums up the calls that run in the probation lane, or wait for it.
func (in *Inspector) suspects(ctx context.Context) (all []view.Suspect, err error) {
	for _, state := range []store.CallState{store.Dispatched, store.Queued, store.Remote, store.Offered} {
		calls, err := in.db.Waiting(ctx, store.CallFilter{Partitions: in.group.All(), State: state, Limit: statusCalls})
		if err != nil {
			return nil, err
		}
		for i := range calls {
			c := &calls[i]
			p, err := core.DecodeProgress(c.Data)
			if !readable(err) || !p.OnProbation {
				continue
			}
			for number := range c.Numbers() {
				all = withSuspect(all, view.Suspect{
					Activity: c.Name, Workflow: c.Type, Deaths: len(p.CrashedOn), WorkflowID: c.WorkflowID, RunID: c.Run, Call: number,
				})
			}
		}
	}
	return all, nil
}

// suspectedRuns sums up the runs in the books of those whose code is tried.
func (in *Inspector) suspectedRuns(ctx context.Context) (all []view.Suspect, err error) {
	read := 0
	err = in.eachStanding(ctx, entity.Book, func(book *store.Run) error {
		for run, s := range suspects.Runs(book.Detail) {
			if read++; read > suspectsRead {
				return errEnough
			}
			row, err := in.db.Find(ctx, book.Partition, "", run)
			if errors.Is(err, store.ErrNotFound) {
				continue // deleted meanwhile
			}
			if err != nil {
				return err
			}
			all = withSuspect(all, view.Suspect{Workflow: row.Type, Deaths: s.Deaths, WorkflowID: row.WorkflowID, RunID: row.ID})
		}
		return nil
	})
	return all, err
}

// withSuspect counts a call or a run among others of its kind.
func withSuspect(all []view.Suspect, s view.Suspect) []view.Suspect {
	o := among(&all, func(o view.Suspect) bool {
		return o.Activity == s.Activity && (s.Activity != "" || o.Workflow == s.Workflow)
	}, s)
	n := o.Count + 1
	if s.Deaths > o.Deaths || s.Deaths == o.Deaths && s.RunID < o.RunID {
		*o = s
	}
	o.Count = n
	return all
}

// addOperations tells the latest operations that are on record for the group as a whole.
func (in *Inspector) addOperations(ctx context.Context, c *view.Changes) error {
	a := &auditor{filter: view.AuditFilter{Since: c.Since, Limit: notesRead}}
	if err := in.auditSwitches(ctx, a); err != nil {
		return err
	}
	notes, err := in.db.Waiting(ctx, store.CallFilter{Partitions: in.group.All(), State: store.Noted, Limit: notesRead})
	for i := range notes {
		kind := entity.KindOf(notes[i].Run)
		for _, r := range logOf(kind.String(), entity.NameOf(notes[i].Run), []core.Note{core.DecodeNote(notes[i].Name, notes[i].Data)}) {
			a.add(r)
		}
	}
	a.sort()
	if c.Operations = a.out.Records; len(c.Operations) > changedOperations {
		c.MoreOperations, c.Operations = len(c.Operations)-changedOperations, c.Operations[:changedOperations:changedOperations]
	}
	return err
}
