package engine

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// showPayload returns a recorded value as a view has it.
func showPayload(p history.Payload) view.Payload {
	if p.Encoding == history.EncodingJSON {
		return view.Payload{JSON: p.Data}
	}
	return view.Payload{Encoding: p.Encoding, Bytes: p.Data}
}

func showOptional(p *history.Payload) *view.Payload {
	if p == nil {
		return nil
	}
	v := showPayload(*p)
	return &v
}

// showFailure returns a recorded error as a view has it.
func showFailure(f *history.Failure) *view.Failure {
	if f == nil {
		return nil
	}
	v := &view.Failure{Type: f.Type, Name: f.Name, Message: f.Message, Form: string(f.Form), Data: f.Data, Stack: f.Stack}
	for _, c := range f.Causes {
		v.Causes = append(v.Causes, showFailure(c))
	}
	return v
}

// showMismatch returns a difference between code and history as a view has it.
func showMismatch(m *core.Mismatch) (*view.Mismatch, error) {
	if m == nil {
		return nil, nil
	}
	v := &view.Mismatch{Turn: m.Turn, Command: m.Command}
	var err error
	if v.Expected, err = command(m.Turn, m.Expected); err != nil {
		return nil, err
	}
	v.Actual, err = command(m.Turn, m.Actual)
	return v, err
}

// command returns an event of a mismatch. It has no time: its turn may not exist.
func command(turn int64, ev *history.Event) (*view.Event, error) {
	if ev == nil {
		return nil, nil
	}
	record, err := json.Marshal(ev)
	return &view.Event{Turn: turn, Kind: string(ev.Kind), Call: ev.Call, Name: ev.Name, Record: record}, err
}

// showGateSpec returns the declaration of a gate as a view has it.
func showGateSpec(g history.Gate) view.GateSpec {
	return view.GateSpec{
		Name: g.Name, Limit: g.Limit, Mode: g.Mode, MaxHold: g.MaxHold,
		Rate: view.GateRate(g.Rate), Budget: view.GateBudget(g.Budget), Breaker: view.GateBreaker(g.Breaker),
	}
}

// showEvent returns an event of a history as a view has it.
func showEvent(ev *TurnEvent) (view.Event, error) {
	record, err := json.Marshal(ev)
	return view.Event{Turn: ev.Turn, Time: ev.Time, Kind: string(ev.Kind), Call: ev.Call, Name: ev.Name, Record: record}, err
}

// runFilter returns a filter as the store has it, for the runs of these partitions.
func runFilter(f view.Filter, partitions []int) store.Filter {
	out := store.Filter{
		Partitions: partitions, Type: f.Workflow, IDPrefix: f.IDPrefix, Call: store.CallState(f.Call), ErrorType: f.ErrorType,
		Attributes: record.StoreAttributes(f.Attributes), Since: f.Since, Until: f.Until, Before: f.Before, Limit: f.Limit,
	}
	for _, s := range f.Status {
		out.Status = append(out.Status, store.Status(s))
	}
	return boundedByTime(out)
}
