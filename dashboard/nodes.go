package dashboard

import (
	"cmp"
	"html/template"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
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
	Queues   []view.Queue
	Lines    []*view.Waiting // for a slot of a node, or its code
	All      template.URL
	Unserved bool
	Canary   string // on which build runs begin
	Set      string // when the canary was set, by whom and why
	Done     string
	Buttons  []button
}

// servingNode is a node with its share of the partitions of its group.
type servingNode struct {
	*view.Node
	Share *barChart
}

// buildRow is a build of the code and the nodes that run it.
type buildRow struct {
	Group, Build      string
	Nodes, Partitions int
	Since             time.Time
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
	if q.URL.Query().Get("all") == "" {
		p.All = link("nodes", "all", "yes")
	}
	for i := range all {
		n := &all[i]
		if listing.Gone(*n) {
			p.Gone++
			if p.All != "" {
				continue
			}
		} else {
			p.build(n)
		}
		p.Nodes = append(p.Nodes, servingNode{n, shares([]share{{"of this node", "busy", n.Partitions}, {"of others", "track", total[n.Group] - n.Partitions}})})
	}
	if p.Gone == 0 {
		p.All = ""
	}
	call := func(name, state string) tile {
		return tile{name, amountOf(&status.Counts, status.Calls[state]), tone(state), link("runs", "call", state)}
	}
	p.Tiles = []tile{
		call("calls in queues", view.CallOffered), call("calls in line", view.CallQueued), call("calls at gates", view.CallGated),
		{"calls retrying", amountOf(&status.Counts, status.Calls[view.CallBackoff]), "retry", link("runs", "call", view.CallRetrying)}, call("completed from outside", view.CallExternal),
	}
	p.Queues = status.Queues
	for i := range status.Waiting {
		if w := &status.Waiting[i]; w.For == view.WaitSlot || w.For == view.WaitActivityPaused || w.For == view.WaitCode {
			p.Lines = append(p.Lines, w)
		}
	}
	return p, nil
}

// build counts a node with those of the same code.
func (p *nodesPage) build(n *view.Node) {
	at := slices.IndexFunc(p.Builds, func(b buildRow) bool { return b.Group == n.Group && b.Build == n.Build })
	if at < 0 {
		p.Builds = append(p.Builds, buildRow{Group: n.Group, Build: n.Build, Since: n.Joined})
		at = len(p.Builds) - 1
	}
	b := &p.Builds[at]
	b.Nodes++
	b.Partitions += n.Partitions
	if n.Joined.Before(b.Since) {
		b.Since = n.Joined
	}
}
