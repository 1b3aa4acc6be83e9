package wording

import (
	"cmp"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

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
