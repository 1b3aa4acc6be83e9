package wording

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// Needed says where the code is, or was, that a run needs which cannot continue; "" if it needs none.
func Needed(d *view.Description, now time.Time) string {
	n, version := d.Needs, ""
	if n != nil && n.Version != "" {
		version = " (version " + n.Version + " of its workflow)"
	}
	switch {
	case n == nil && d.Status == view.StatusWaitingForCode:
		return "No node is remembered that had it."
	case n == nil:
		return ""
	case n.Node == "":
		return "It stays on build " + n.Build + ", and no node is remembered that had it."
	case n.Live:
		return fmt.Sprintf("The node %s has build %s%s, with which it continues when that node serves its partition.", n.Node, n.Build, version)
	}
	return fmt.Sprintf("It continues with build %s%s, last seen %s on the node %s.", n.Build, version, human.Ago(n.Seen, now), n.Node)
}

// Builds says which builds have a workflow.
func Builds(all []view.WorkflowBuild) string {
	var texts []string
	for _, b := range all {
		text := cmp.Or(b.Build, "no build")
		if b.Version != "" {
			text += ", version " + b.Version
		}
		if b.Nodes > 1 {
			text += " (" + human.Plural(b.Nodes, "node", "nodes") + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
