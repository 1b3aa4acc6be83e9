package dashboard

import (
	"cmp"
	"html/template"
	"slices"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// nodesPage shows the nodes, the code they run, and what waits for them.
type nodesPage struct {
	Nodes    []servingNode
	Gone     int
	Tiles    []tile
	Builds   []buildRow
	Queues   []queueRow
	Lines    []lineRow
	All      template.URL
	Unserved bool
	Canary   string // on which build runs begin
	Set      string // when the canary was set, by whom and why
	Done     string
	Buttons  []button
}

// rowOfNode is a node.
type servingNode struct {
	Key, Name, Group, State string
	Partitions              int
	Share                   *barChart
	Build                   string
	Joined, Seen, Expires   *stamp
	Workflows, Activities   int
	Code                    []string
	Grave                   bool
}

// buildRow is a build of the code and the nodes that run it.
type buildRow struct {
	Group, Build      string
	Nodes, Partitions int
	Since             *stamp
}

// queueRow is a queue of attempts and the processes that serve it.
type queueRow struct {
	Name             string
	Waiting, Running int
	Limit, Workers   int
	Oldest           *stamp
	Unserved         []string // activities that no process there has
	Grave            bool
}

// lineRow is what waits in line for a slot of a node.
type lineRow struct {
	Name  string
	Count string
	Since *stamp
	Run   *linked
}

func nodes(q *request) (any, error) {
	all, err := ops.Nodes(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	status, err := ops.Status(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	q.now = status.Time
	p := &nodesPage{Unserved: !status.Served}
	if status.Canary != nil {
		p.Canary = wording.Canary(status.Canary)
		p.Set = "Set at " + human.Time(status.Canary.Time) + wording.Person(status.Canary.By, status.Canary.Why) + "."
	}
	if p.Done = doneText(q, command.Canary); q.operator() {
		p.Buttons = changeButtons(command.Canary, "", "set")
		if status.Canary != nil {
			p.Buttons = append(p.Buttons, changeButtons(command.Canary, "", "end")...)
		}
	}
	total := map[string]int{}
	for i := range all {
		total[all[i].Group] += all[i].Partitions
	}
	slices.SortStableFunc(all, func(a, b view.Node) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Partitions, a.Partitions), cmp.Compare(a.Name, b.Name))
	})
	gone := func(n *view.Node) bool { return n.Gone() && n.Partitions == 0 }
	if q.URL.Query().Get("all") == "" {
		p.All = link("nodes", "all", "yes")
	}
	for i := range all {
		n := &all[i]
		if gone(n) {
			p.Gone++
			if p.All != "" {
				continue
			}
		} else {
			p.build(q, n)
		}
		p.Nodes = append(p.Nodes, rowOfNode(q, n, total[n.Group]))
	}
	if p.Gone == 0 {
		p.All = ""
	}
	call := func(name, state string) tile {
		return tile{name, status.Calls[state], tone(state), link("runs", "call", state)}
	}
	p.Tiles = []tile{
		call("calls in queues", view.CallOffered), call("calls in line", view.CallQueued), call("calls at gates", view.CallGated),
		{"calls retrying", status.Calls[view.CallBackoff], "retry", link("runs", "call", view.CallRetrying)}, call("completed from outside", view.CallExternal),
	}
	for i := range status.Queues {
		u := &status.Queues[i]
		p.Queues = append(p.Queues, queueRow{u.Queue, u.Waiting, u.Running, u.Limit, u.Workers, q.ago(u.Oldest), u.Unserved, len(u.Unserved) > 0 || u.Waiting > 0 && u.Workers == 0})
	}
	for i := range status.Waiting {
		w := &status.Waiting[i]
		if w.For != view.WaitSlot && w.For != view.WaitActivityPaused && w.For != view.WaitCode {
			continue
		}
		row := lineRow{Name: cmp.Or(w.Name, w.Gate), Count: human.Count(w.Count), Since: q.ago(w.Since)}
		if w.For != view.WaitSlot {
			row.Name += " (" + wording.WaitName(w.For) + ")"
		}
		if w.AtLeast {
			row.Count += "+"
		}
		if w.WorkflowID != "" {
			to := runLink(w.WorkflowID, w.RunID)
			row.Run = &to
		}
		p.Lines = append(p.Lines, row)
	}
	return p, nil
}

// build counts a node with those of the same code.
func (p *nodesPage) build(q *request, n *view.Node) {
	at := slices.IndexFunc(p.Builds, func(b buildRow) bool { return b.Group == n.Group && b.Build == n.Build })
	if at < 0 {
		p.Builds = append(p.Builds, buildRow{Group: n.Group, Build: n.Build, Since: q.ago(&n.Joined)})
		at = len(p.Builds) - 1
	}
	b := &p.Builds[at]
	b.Nodes++
	b.Partitions += n.Partitions
	if since := q.ago(&n.Joined); since != nil && since.ISO < b.Since.ISO {
		b.Since = since
	}
}

func rowOfNode(q *request, n *view.Node, total int) servingNode {
	row := servingNode{
		Key: n.ID, Name: n.Name, Group: n.Group, State: n.State, Partitions: n.Partitions, Build: n.Build, Joined: q.ago(&n.Joined), Seen: q.ago(&n.Seen),
		Workflows: len(n.Workflows), Activities: len(n.Activities), Grave: n.State == view.NodeExpired && n.Partitions > 0,
	}
	if n.State == view.NodeLive || n.State == view.NodeDraining {
		row.Expires = q.until(n.Expires)
	}
	row.Share = shares([]share{{"of this node", "busy", n.Partitions}, {"of others", "track", total - n.Partitions}})
	for _, w := range n.Workflows {
		text := "workflow " + w.Name
		if w.Version != "" {
			text += ", version " + w.Version
		}
		row.Code = append(row.Code, text)
	}
	for _, a := range n.Activities {
		row.Code = append(row.Code, "activity "+a)
	}
	return row
}
