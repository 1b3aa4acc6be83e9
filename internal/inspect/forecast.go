package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// departure is a build that no node keeps: its last one is gone or draining.
type departure struct {
	node    string
	leaving bool  // the node drains
	last    int64 // when the node was seen last, or was known to be gone
	until   int64 // when the last of its nodes was gone; now while one drains, or that is not known
}

// departures returns the builds without a node that stays, of those on which runs may have
// been pinned.
func departures(members []store.Member, now int64) map[string]departure {
	gone, stays := map[string]departure{}, map[string]bool{}
	for _, m := range members {
		if m.Live && !m.Draining {
			stays[m.Build] = true
			continue
		}
		all, err := record.DecodeDefinitions(m.Definitions)
		if err != nil || !slices.ContainsFunc(all.Workflows, func(w record.Workflow) bool { return w.Pinned }) {
			continue
		}
		last, until := max(m.Seen, m.Left), now
		switch {
		case m.Left != 0:
			until = m.Left
		case !m.Live && m.Expires != store.Never:
			until = m.Expires
		}
		d, known := gone[m.Build]
		until = max(until, d.until)
		if !known || m.Live && !d.leaving || m.Live == d.leaving && last >= d.last {
			d = departure{node: m.Name, leaving: m.Live, last: last}
		}
		d.until = until
		gone[m.Build] = d
	}
	for build := range stays {
		delete(gone, build)
	}
	return gone
}

// addDeparted adds the runs that are not due yet and stay on a build that no node will have when
// they are: nothing else tells before it is too late to keep one. They began before the last node
// of their build was gone, so the runs that began before that are read, latest first.
func (in *Inspector) addDeparted(ctx context.Context, o *obstacles, sum *summary) error {
	if err := o.readNodes(ctx, in.group.Name); err != nil {
		return err
	}
	gone := departures(o.nodes, in.now())
	var latest int64
	for _, d := range gone {
		latest = max(latest, d.until)
	}
	if len(gone) == 0 {
		return nil
	}
	rows, err := in.db.List(ctx, Bounded(store.Filter{
		Partitions: in.group.All(), Status: []store.Status{store.Running}, Until: time.Unix(0, latest+1), Limit: statusCalls,
	}))
	sum.partly = len(rows) == statusCalls
	slices.SortStableFunc(rows, func(a, b store.Run) int { return cmp.Compare(dueAt(&a), dueAt(&b)) }) // the example is the one that is due first
	for i := range rows {
		row := &rows[i]
		detail, err := core.DecodeDetail(row.Detail)
		d, is := gone[detail.Pin]
		if !readable(err) || !is || detail.Pin == "" {
			continue
		}
		w := view.Wait{For: view.WaitBuild, Name: row.Type, Build: detail.Pin, Why: "it stays on build " + detail.Pin}
		if d.leaving {
			w.Why += ", whose last node, " + d.node + ", is leaving"
		} else {
			w.Since = optional(d.last)
			w.Why += ", which " + lastSeen(&view.NeededCode{Node: d.node, Seen: at(d.last)})
		}
		if due := dueAt(row); due != store.Never {
			w.Until = optional(due)
		}
		sum.add(w, row.WorkflowID, row.ID, row.Type)
	}
	return err
}

// dueAt returns when a run is due by time, store.Never if it is not.
func dueAt(row *store.Run) int64 {
	if row.Wake <= store.Hot || store.IsInLine(row.Wake) {
		return store.Never
	}
	return row.Wake
}

// servingBuilds returns the builds of the live nodes that serve runs, the oldest first.
func servingBuilds(nodes []view.Node) (all []view.ServingBuild) {
	for i := range nodes {
		n := &nodes[i]
		if n.Worker || n.State != view.NodeLive {
			continue
		}
		b := among(&all, func(b view.ServingBuild) bool { return b.Build == n.Build }, view.ServingBuild{Build: n.Build, Since: n.Joined})
		if b.Nodes++; n.Joined.Before(b.Since) {
			b.Since = n.Joined
		}
	}
	slices.SortFunc(all, func(a, b view.ServingBuild) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Build, b.Build))
	})
	return all
}
