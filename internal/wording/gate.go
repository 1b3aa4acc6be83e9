package wording

import (
	"math"
	"strconv"
	"strings"

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

// GateAndKeys names a gate at which something waits, and the run keys whose own breakers are open.
func GateAndKeys(w *view.Waiting) string {
	switch {
	case w.Keys > 1:
		return w.Gate + " for " + human.Count(w.Keys) + " keys"
	case w.Key != "":
		return w.Gate + OfKey(w.Key)
	}
	return w.Gate
}

// GateBreaker says how the breaker of a gate is, or those of its run keys: "" without one.
func GateBreaker(g *view.Gate) string {
	switch {
	case g.OpenKeys > 0:
		return "open for " + human.Plural(g.OpenKeys, "key", "keys")
	case g.Spec.Breaker.PerKey:
		return "closed for each key"
	}
	return Breaker(g.Breaker)
}

// Breaker is the state of a circuit breaker in words.
func Breaker(state string) string { return strings.ReplaceAll(state, "_", " ") }
