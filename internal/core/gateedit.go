package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/gate/spec"
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

// mergeEdits returns two edits as one. The later one overrides the earlier one.
func mergeEdits(e, later spec.Edit) spec.Edit {
	return spec.Edit{
		Limit: cmp.Or(later.Limit, e.Limit), Rate: cmp.Or(later.Rate, e.Rate),
		Budget: cmp.Or(later.Budget, e.Budget), Breaker: cmp.Or(later.Breaker, e.Breaker), PerKey: cmp.Or(later.PerKey, e.PerKey),
	}
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
	if g.Asked(string(m.Word), m.Request) != nil {
		g.out.Dropped++
		return
	}
	outcome, text := g.carryOut(m)
	g.log.add(g.out, Note{At: g.now, Word: string(m.Word), Request: m.Request, By: m.By, Why: m.Why, Outcome: outcome, Text: text})
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
		edit = mergeEdits(edit, m.Edits.Recorded())
	}
	var own []string // keys whose bounds are set back
	if m.Anew {
		own = slices.Sorted(maps.Keys(g.machine.OwnBounds()))
	}
	if equalEdits(edit, had) && len(own) == 0 {
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

// equalEdits compares edits by value.
func equalEdits(a, b spec.Edit) bool {
	return a.Limit == b.Limit && equal(a.Rate, b.Rate) && equal(a.Budget, b.Budget) && equal(a.Breaker, b.Breaker) && equal(a.PerKey, b.PerKey)
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
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
