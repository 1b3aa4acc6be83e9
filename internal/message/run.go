package message

import (
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// FromRun returns a message that a run or a schedule sends to another run with its turn.
func FromRun(g store.Group, m *core.Message) (store.Message, error) {
	if s := m.Start; s != nil {
		data, err := history.EncodeStart(*s)
		return store.Message{
			Partition: entity.Place(g, s.WorkflowID), WorkflowID: s.WorkflowID, Run: s.Run, Kind: KindStart, Key: key(KindStart, s.Run), Data: data,
		}, err
	}
	switch in := m.Input.(type) {
	case core.Control:
		return Request(g, m.WorkflowID, m.Run, &in)
	case core.FromChild:
		return toRun(g, m.WorkflowID, m.Run, KindChild, key(KindChild, m.Run, in.Call), Data{Child: &in})
	}
	return store.Message{}, fmt.Errorf("there is no message for %T", m.Input)
}

// ToParent returns a message to the parent of a run.
func ToParent(g store.Group, p *history.Parent, in core.FromChild) (store.Message, error) {
	in.Call = p.Call
	return FromRun(g, &core.Message{WorkflowID: p.WorkflowID, Run: p.Run, Input: in})
}

// ToParentBegun returns what the turn that creates a run tells its parent: that a detached child
// exists. It returns none for other runs.
func ToParentBegun(g store.Group, s *history.Start) ([]store.Message, error) {
	if s.Parent == nil || !s.Parent.Detached {
		return nil, nil
	}
	m, err := ToParent(g, s.Parent, core.FromChild{Status: core.ChildStarted, Run: s.Run})
	return []store.Message{m}, err
}

// ToParentInUse returns what the parent of a child is told whose workflow ID another run has.
func ToParentInUse(g store.Group, p *history.Parent, existing *store.Run) (store.Message, error) {
	return ToParent(g, p, core.FromChild{Status: core.ChildIDInUse, Run: existing.ID, Note: string(existing.Status)})
}

// Refusal returns the reply to the sender of mail that no run takes: a gate gets back what it holds
// for the run, and the caller of an update learns that the run has ended. It returns false if
// nobody waits for one.
func Refusal(g store.Group, partition int, in core.Input) (store.Message, bool) {
	switch in := in.(type) {
	case core.FromGate:
		if reply, needed := in.Decline(); needed {
			return ToGate(g, &reply), true
		}
	case core.UpdateArrived:
		m, err := Answer(partition, in.Asker, Data{Closed: true})
		return m, err == nil
	}
	return store.Message{}, false
}
