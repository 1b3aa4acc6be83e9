package wording

import (
	"strconv"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/view"
)

// GateParts are the parts of a gate that can be edited, with their labels.
var GateParts = []string{"limit", "rate", "budget", "breaker", "per key"}

// GatePart describes a part of a gate's spec.
func GatePart(s gate.Spec, part string) string {
	switch part {
	case "limit":
		return strconv.Itoa(s.Limit)
	case "rate":
		return s.Rate.String()
	case "budget":
		return s.Budget.String()
	case "per key":
		return s.PerKey.String()
	}
	return s.Breaker.String()
}

// GatePartEdited says what the code declares for a part of a gate that people have edited; ""
// for other parts.
func GatePartEdited(g *view.Gate, part string) string {
	e := g.Edited
	if e == nil || !map[string]bool{"limit": e.Limit != 0, "rate": e.Rate != nil, "budget": e.Budget != nil, "breaker": e.Breaker != nil, "per key": e.PerKey != nil}[part] {
		return ""
	}
	return "edited; in code " + GatePart(e.Declared, part)
}
