package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// Lost is what stands for the type of error of attempts that were lost, and LostMessage for the
// message.
const (
	Lost        = "lost"
	LostMessage = "with their process, or with the lease of their node"
)

// Changes says what happened to the group in the last hour, a sentence each: what the command
// and the dashboard show above the errors of that hour.
func Changes(s *view.Status, now time.Time) (all []string) {
	c := &s.Changes
	for i := range c.Nodes {
		all = append(all, nodeChanged(&c.Nodes[i], now))
	}
	if c.MoreNodes > 0 {
		all = append(all, human.Plural(c.MoreNodes, "other node ended too.", "other nodes ended too."))
	}
	if c.Forgotten {
		all = append(all, "More may have died: the database remembers no process that ended earlier.")
	}
	if len(c.Nodes) > 0 && c.Joined > 0 {
		all = append(all, human.Plural(c.Joined, "node of another name joined.", "nodes of other names joined."))
	}
	if n := len(c.Builds); n > 1 {
		var builds []string
		for _, b := range c.Builds {
			builds = append(builds, fmt.Sprintf("%s (%s)", b.Build, human.Plural(b.Nodes, "node", "nodes")))
		}
		all = append(all, fmt.Sprintf("%d builds have served side by side for %s: %s.", n, human.Duration(now.Sub(c.Builds[n-1].Since)), strings.Join(builds, ", ")))
	}
	if s.Away > 0 {
		all = append(all, human.Plural(s.Away, "workflow is served by another node than that of its partition, because its code fits there.", "workflows are served by other nodes than those of their partitions, because their code fits there."))
	}
	for i := range c.Suspects {
		all = append(all, suspected(&c.Suspects[i]))
	}
	for i := range c.Operations {
		all = append(all, operated(&c.Operations[i], now))
	}
	if c.MoreOperations > 0 {
		all = append(all, human.Plural(c.MoreOperations, "earlier operation.", "earlier operations."))
	}
	return all
}

// nodeChanged says how the processes of a node ended: "web-1 died 7 times, last 3s ago; it is
// back."
func nodeChanged(n *view.NodeChange, now time.Time) string {
	text := n.Name
	if n.Worker {
		text = "The worker " + n.Name
	}
	times := func(what string, count int) string {
		if count == 1 {
			return what
		}
		return what + " " + human.Count(count) + " times"
	}
	switch {
	case n.Died == 0:
		text += times(" stopped", n.Left)
	case n.Left == 0:
		text += times(" died", n.Died)
	default:
		text += times(" died", n.Died) + ", and" + times(" stopped", n.Left)
	}
	if n.Died+n.Left > 1 {
		text += ", last"
	}
	text += " " + human.Ago(n.Last, now)
	switch {
	case n.Live:
		text += "; it is back"
	case n.Died > 0:
		text += "; it is not back"
	}
	return text + "."
}

// suspected says what is tried apart.
func suspected(s *view.Suspect) string {
	what, deaths := human.Plural(s.Count, "call of "+s.Activity, "calls of "+s.Activity), ""
	example := fmt.Sprintf("%s, call %d", s.WorkflowID, s.Call)
	if s.Activity == "" {
		what, example = "the code of "+human.Plural(s.Count, "workflow "+s.Workflow, "workflows "+s.Workflow), s.WorkflowID
	}
	if s.Deaths > 0 {
		deaths = ", alone at " + human.Plural(s.Deaths, "death", "deaths")
	}
	return fmt.Sprintf("On trial, because processes died meanwhile: %s (%s%s).", what, example, deaths)
}

// operated says what a person did: "Pause of activity charge 3m ago by zoe: the bank is down."
func operated(r *view.AuditRecord, now time.Time) string {
	text := strings.ToUpper(r.Operation[:1]) + fmt.Sprintf("%s of %s %s %s", r.Operation[1:], r.Kind, r.Name, human.Ago(r.Time, now))
	if r.Outcome != view.Applied {
		text += " (" + r.Outcome + ")"
	}
	return text + Person(r.By, r.Why) + "."
}
