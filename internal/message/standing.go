package message

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// ToGate returns a message of a run to a gate.
func ToGate(g store.Group, m *core.ToGate) store.Message {
	return to(entity.Find(g, entity.Gate, m.Gate), KindToGate, gateKey("", m.Word, m.Ticket, m.Attempt, m.Returns), m)
}

// ControlGate returns a request of a person to a gate. Requests with one idempotency key count
// once; those without count each.
func ControlGate(g store.Group, m *core.ToGate) store.Message {
	return to(entity.Find(g, entity.Gate, m.Gate), KindToGate, said(string(m.Word), m.Request), m)
}

// FromGate returns a message of a gate to a run: that of a call, or the latest of a chain.
func FromGate(g store.Group, m *core.FromGate) store.Message {
	run := m.Ticket.Run
	if m.Ticket.OfRun() {
		run = ""
	}
	return store.Message{
		Partition: entity.Place(g, m.Ticket.Workflow), WorkflowID: m.Ticket.Workflow, Run: run, Kind: KindFromGate,
		Key: gateKey(m.Gate, m.Word, m.Ticket, m.Attempt, m.Returns), Data: encode(m),
	}
}

// gateKey is equal for two messages only if receiving one has the effect of receiving both.
// Gate is "" in the gate's own inbox.
func gateKey(gate string, word core.GateWord, t core.TicketKey, attempt, returns int) string {
	return key("gate", gate, word, t.Run, t.Call, t.Ticket, attempt, returns)
}

// said returns the key of a person's request under an idempotency key.
func said(word, request string) string {
	if request == "" {
		return key(word, ident.NewToken())
	}
	return key(word, "request", request)
}

// ToSchedule returns a request of a person to a schedule. Requests with one idempotency key
// count once; those without count each.
func ToSchedule(g store.Group, name string, m *core.ToSchedule) store.Message {
	to := to(entity.Find(g, entity.Schedule, name), KindToSchedule, said(string(m.Word), m.Request), m)
	to.Ordered = true // of two edits the first is obeyed, and both must agree which that is
	return to
}

func to(s entity.Standing, kind, key string, m any) store.Message {
	return store.Message{Partition: s.Partition, WorkflowID: s.WorkflowID, Run: s.Run, Kind: kind, Key: key, Data: encode(m)}
}

func encode(m any) []byte {
	data, _ := history.Seal(m) // strings and finite numbers only: cannot fail
	return data
}
