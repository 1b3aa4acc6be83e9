package wording

import (
	"math"
	"strconv"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// GateParts are the parts of a gate that can be edited, with their labels.
var GateParts = []string{"limit", "rate", "budget", "breaker", "per key"}

// GatePart describes a part of a gate's spec.
func GatePart(s gate.Spec, part string) string {
	switch part {
	case "limit":
		if s.Limit == math.MaxInt32 {
			return GateLimit(s.Limit)
		}
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

// GateLimit is the number of slots of a gate.
func GateLimit(n int) string {
	if n == math.MaxInt32 { // that of perdure.PerKey
		return "unlimited"
	}
	return human.Count(n)
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
