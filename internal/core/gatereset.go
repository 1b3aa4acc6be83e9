package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
)

// What people do about the breaker and the budget of a gate, or of its run keys if these have their
// own.

// sameForAll says of a part of the gate why nothing can be done about that of one run key.
const sameForAll = " is the same for all keys; leave the key out"

// probe sends the next attempt through an open breaker.
func (g *Gate) probe(key string) (outcome, text string) {
	s := g.machine.Stats(g.now)
	switch {
	case s.Breaker == spec.NoBreaker:
		return Refused, "it has no circuit breaker"
	case g.detail.Spec.Breaker.PerKey:
		return g.probeKeys(key)
	case key != "":
		return Refused, "its circuit breaker" + sameForAll
	case s.Breaker == spec.Closed:
		return Unchanged, "its circuit breaker is closed: attempts pass"
	case s.Paused:
		return Refused, "it is paused: no attempt passes until it is resumed"
	case s.Probing:
		return Unchanged, "a probe runs: its outcome decides"
	case s.Breaker == spec.HalfOpen:
		return Unchanged, "its circuit breaker is half-open: the next attempt is the probe"
	}
	g.apply(g.machine.Probe(g.now, key))
	switch after := g.machine.Stats(g.now); {
	case after.Probing:
		return Applied, "one attempt passes as the probe"
	case after.Depth > 0:
		return Applied, "the next attempt that gets a slot is the probe"
	}
	return Applied, "no call waits: the next one that comes is the probe"
}

// probeKeys sends the next attempt of a key, or of each if it is "", through its own breaker if that
// is open.
func (g *Gate) probeKeys(key string) (outcome, text string) {
	open := g.keysWith(key, func(k gates.KeyHealth) bool { return k.Breaker == spec.Open })
	switch {
	case g.detail.Pause != nil:
		return Refused, "it is paused: no attempt passes until it is resumed"
	case len(open) == 0 && key != "":
		return Unchanged, fmt.Sprintf("the circuit breaker of key %q is in no cooldown", key)
	case len(open) == 0:
		return Unchanged, "the circuit breaker of no key is in its cooldown"
	}
	g.apply(g.machine.Probe(g.now, key))
	return Applied, "the next attempt of " + ofKeys(open) + " is the probe"
}

// keysWith returns the run keys whose own breaker or budget has something: the one that is named, or
// all if it is "".
func (g *Gate) keysWith(key string, has func(gates.KeyHealth) bool) []gates.KeyHealth {
	return slices.DeleteFunc(g.machine.KeyHealths(g.now), func(k gates.KeyHealth) bool { return key != "" && k.Key != key || !has(k) })
}

// ofKeys names one run key, or counts several.
func ofKeys(keys []gates.KeyHealth) string {
	if len(keys) > 1 {
		return fmt.Sprintf("each of %d keys", len(keys))
	}
	return fmt.Sprintf("key %q", keys[0].Key)
}

// The parts of a gate that GateReset resets.
const (
	PartBreaker = "breaker"
	PartBudget  = "budget"
)

// reset makes parts of the gate forget their state.
func (g *Gate) reset(m *ToGate) (outcome, text string) {
	var did, why []string
	for _, part := range m.Parts {
		switch outcome, text := g.resetPart(part, m.Key); outcome {
		case Refused:
			return Refused, text
		case Applied:
			did = append(did, text)
		default:
			why = append(why, text)
		}
	}
	if len(did) == 0 {
		return Unchanged, strings.Join(why, "; ")
	}
	return Applied, strings.Join(append(did, why...), "; ")
}

// resetPart makes a part forget its state: that of a run key, or of all if the key is "".
func (g *Gate) resetPart(part, key string) (outcome, text string) {
	is, health := &g.detail.Spec, g.machine.Record().Health
	var (
		name, done, atRest string
		has, perKey        bool
		remembers          func(gates.Health) bool
		forget             func(now int64, key string) *gates.Step[TicketKey]
	)
	switch part {
	case PartBreaker:
		name, done, atRest = "circuit breaker", "closed", "counts no failures"
		has, perKey = is.Breaker != spec.Breaker{}, is.Breaker.PerKey
		remembers, forget = func(h gates.Health) bool { return h.Failures > 0 }, g.machine.Close
	case PartBudget:
		name, done, atRest = "retry budget", "full", "is full already"
		has, perKey = is.Budget != spec.Budget{}, is.Budget.PerKey
		remembers, forget = func(h gates.Health) bool { return h.Spent > 0 }, g.machine.Refill
	default:
		return Refused, fmt.Sprintf("it has no part %q that this version knows", part)
	}
	keys := g.keysWith(key, func(k gates.KeyHealth) bool { return remembers(k.Health) })
	switch {
	case !has:
		return Unchanged, "it has no " + name
	case !perKey && key != "":
		return Refused, "its " + name + sameForAll
	case !perKey && !remembers(health):
		return Unchanged, "its " + name + " " + atRest
	case perKey && len(keys) == 0:
		return Unchanged, "the " + name + " of no key has anything to forget"
	}
	g.apply(forget(g.now, key))
	if perKey {
		return Applied, "the " + name + " of " + ofKeys(keys) + " is " + done
	}
	return Applied, "its " + name + " is " + done
}
