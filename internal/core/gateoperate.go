package core

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// applyEdit returns a declaration with an edit applied. The fields that an edit names hold until
// an operator takes them back, whatever the code declares. The rest follows the code.
func applyEdit(declared spec.Spec, e spec.Edit) spec.Spec {
	declared.Limit = cmp.Or(e.Limit, declared.Limit)
	declared.Rate = *cmp.Or(e.Rate, &declared.Rate)
	declared.Budget = *cmp.Or(e.Budget, &declared.Budget)
	declared.Breaker = *cmp.Or(e.Breaker, &declared.Breaker)
	declared.PerKey = *cmp.Or(e.PerKey, &declared.PerKey)
	return declared
}

// GateEdited holds a gate's edits and who made the last of them.
type GateEdited struct {
	history.GateEdit
	Declared history.GateSpec `json:"declared"` // by the latest call
	By       string           `json:"by,omitempty"`
	Why      string           `json:"why,omitempty"`
	At       int64            `json:"at"`
}

// Declared returns the gate's spec without edits, as the latest call declared it.
func (d *GateDetail) Declared() spec.Spec {
	if d.Edited != nil {
		return spec.Spec(d.Edited.Declared)
	}
	return spec.Spec(d.Spec)
}

// Declared returns a copy of the spec that the code declares, for a message.
func (g *Gate) Declared() *history.GateSpec {
	declared := history.GateSpec(g.detail.Declared())
	return &declared
}

// operate carries out an operator's message and notes it.
func (g *Gate) operate(m *ToGate) {
	g.obey(Note{At: g.now, Word: string(m.Word), Request: m.Request, By: m.By, Why: m.Why}, func() (outcome, text string) { return g.carryOut(m) })
}

func (g *Gate) carryOut(m *ToGate) (outcome, text string) {
	switch m.Word {
	case GatePause:
		if g.detail.Pause != nil {
			return Unchanged, "it is paused already"
		}
		g.detail.Pause = &Pause{By: m.By, Reason: m.Why, At: g.now}
		g.apply(g.machine.Pause(g.now, true))
	case GateResume:
		if g.detail.Pause == nil {
			return Unchanged, "it is not paused"
		}
		g.detail.Pause = nil
		g.apply(g.machine.Pause(g.now, false))
	case GateEdit:
		return g.edit(m)
	case GateProbe:
		return g.probe(m.Key)
	case GateReset:
		return g.reset(m)
	}
	return Applied, ""
}

// edit changes the gate's spec away from what the code declares.
func (g *Gate) edit(m *ToGate) (outcome, text string) {
	if m.Edits != nil && m.Edits.Key != "" {
		return g.editKey(m)
	}
	declared, was, had := g.detail.Declared(), spec.Spec(g.detail.Spec), spec.Edit{}
	if g.detail.Edited != nil {
		had = g.detail.Edited.Recorded()
	}
	edit := had
	if m.Anew {
		edit = spec.Edit{}
	}
	if m.Edits != nil {
		later := m.Edits.Recorded()
		edit = spec.Edit{
			Limit: cmp.Or(later.Limit, edit.Limit), Rate: cmp.Or(later.Rate, edit.Rate),
			Budget: cmp.Or(later.Budget, edit.Budget), Breaker: cmp.Or(later.Breaker, edit.Breaker), PerKey: cmp.Or(later.PerKey, edit.PerKey),
		}
	}
	var own []string // keys whose bounds are set back
	if m.Anew {
		own = slices.Sorted(maps.Keys(g.machine.OwnBounds()))
	}
	if reflect.DeepEqual(edit, had) && len(own) == 0 {
		return Unchanged, "it does that already"
	}
	is := applyEdit(declared, edit)
	step, err := g.machine.Reconfigure(g.now, is)
	if err != nil {
		return Refused, err.Error()
	}
	g.detail.Spec, g.detail.Edited = history.GateSpec(is), nil
	if edit != (spec.Edit{}) {
		g.detail.Edited = &GateEdited{GateEdit: history.RecordGateEdit(edit), Declared: history.GateSpec(declared), By: m.By, Why: m.Why, At: g.now}
	}
	g.apply(step)
	for _, key := range own {
		if step, err := g.machine.BoundKey(g.now, key, nil); err == nil {
			g.apply(step)
		}
	}
	return Applied, strings.Join(append(GateDifference(was, is), own...), ", ")
}

// editKey changes what bounds one run key.
func (g *Gate) editKey(m *ToGate) (outcome, text string) {
	key, was := m.Edits.Key, g.specOf(m)
	var own *spec.PerKey
	if had, has := g.machine.OwnBounds()[key]; has && !m.Anew {
		own = &had
	}
	own = cmp.Or(m.Edits.PerKey, own)
	if had, has := g.machine.OwnBounds()[key]; has == (own != nil) && (own == nil || had == *own) {
		return Unchanged, "it does that already"
	}
	step, err := g.machine.BoundKey(g.now, key, own)
	if err != nil {
		return Refused, err.Error()
	}
	g.apply(step)
	return Applied, "key " + key + ": " + strings.Join(GateDifference(was, g.specOf(m)), ", ")
}

// specOf returns what the gate does, to the key alone that a request is about.
func (g *Gate) specOf(m *ToGate) spec.Spec {
	is := spec.Spec(g.detail.Spec)
	if m.Edits != nil {
		if own, has := g.machine.OwnBounds()[m.Edits.Key]; has {
			is.PerKey = own
		}
	}
	return is
}

// GateDifference describes the differences between two specs.
func GateDifference(before, after spec.Spec) (all []string) {
	differ := func(what, was, is string) {
		if was != is {
			all = append(all, what+" "+was+" -> "+is)
		}
	}
	differ("limit", fmt.Sprint(before.Limit), fmt.Sprint(after.Limit))
	differ("rate", before.Rate.String(), after.Rate.String())
	differ("budget", before.Budget.String(), after.Budget.String())
	differ("breaker", before.Breaker.String(), after.Breaker.String())
	differ("per key", before.PerKey.String(), after.PerKey.String())
	return all
}

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
