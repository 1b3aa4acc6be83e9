package engine

import (
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// A canary gives a share of the runs that begin to nodes of one build, and the others to
// nodes of other builds (store.SwitchCanary). Which runs are of the share follows from their
// workflow IDs, so every node decides alike, and a greater share has all runs of a smaller
// one. The home of a run decides when the run is about to take its first turn, as it does
// where code is missing: the run moves to the ward of a live node, which begins it. If there
// is no such node the run begins at home: a canary lets nothing wait.
//
// It is about the first run of a chain, of whoever starts it. Later runs of the chain, resets
// and forks begin where the one before is.

// canary is the switch that is in force, nil if none is.
func (s *switches) canary() *store.Switch {
	var last store.Switch
	for key, w := range s.latest {
		if key.kind == store.SwitchCanary && w.Number > last.Number {
			last = w
		}
	}
	if !last.Off {
		return nil
	}
	return &last
}

// ofShare reports whether a run of this workflow ID is one of those that the build gets.
func ofShare(canary *store.Switch, workflowID string) bool {
	return core.Uniform(canary.Name+"\n"+workflowID, 0, 0)*store.WholeShare < float64(canary.Share)
}

// beginsAt returns the ID of the node to which a run goes that begins, "" if it begins here.
// Code that was tried is not asked for again.
func (e *Engine) beginsAt(start *history.Start, tried []string) (node string) {
	canary := e.canary.Load()
	if canary == nil || start.Run != start.Chain || start.Base != nil {
		return ""
	}
	of := ofShare(canary, start.WorkflowID)
	if of == (e.config.Build == canary.Name) {
		return ""
	}
	partition := entity.Place(e.group, start.WorkflowID) // one node for each, so that there are few wards
	return e.nodeFor(start.Type, "", strconv.Itoa(partition), func(build, code string) bool {
		return (build == canary.Name) == of && !slices.Contains(tried, code)
	})
}

// sendToBegin moves a run that has taken no turn to the node where it begins: errElsewhere
// says that it did. Nil says that it begins here.
func (e *Engine) sendToBegin(r *activeRun, past *core.Past, todo []mail) error {
	if e.canary.Load() == nil || len(past.Turns) > 0 || r.partition.ward != 0 || r.create != nil || e.atWork(r, todo) {
		return nil
	}
	detail, err := core.DecodeDetail(past.State.Detail)
	if err != nil {
		return nil
	}
	move := store.Move{Partition: r.partition.home, Epoch: r.partition.epoch, Run: r.id}
	return e.giveAway(r, todo, move, func() string { return e.beginsAt(&past.Start, detail.Tried) }, func(string) {})
}
