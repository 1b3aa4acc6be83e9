package sim

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// TestP4_WhatTheModelRefuses: each promise that the model stands for is one that it sees broken.
func TestP4_WhatTheModelRefuses(t *testing.T) {
	run := func(id string) store.Run {
		return store.Run{ID: id, WorkflowID: "w", RunState: store.RunState{Status: store.Running}}
	}
	turn := func(number, epoch int64) *store.Turn {
		return &store.Turn{Run: "r", Number: number, Epoch: epoch}
	}
	closing := func(number int64) *store.Turn {
		t := turn(number, 1)
		t.State = &store.RunState{Status: store.Completed}
		return t
	}
	at := func(call int64, attempt int, state store.CallState, name string) *store.Turn {
		t := turn(0, 1)
		t.Calls = []store.Call{{Number: call, Attempt: attempt, State: state, Name: name}}
		return t
	}
	for name, c := range map[string]struct {
		says string
		do   func(m *model)
	}{
		"two owners": {"whose lease has not run out", func(m *model) {
			m.claim("b", []store.Ownership{{Partition: 0, Epoch: 2}}, nil)
		}},
		"an epoch that does not grow": {"has epoch 1 after 1", func(m *model) {
			m.claim("a", []store.Ownership{{Partition: 0, Epoch: 1}}, nil)
		}},
		"a claim by nobody": {"is not a member", func(m *model) { m.claim("c", nil, nil) }},
		"a renewal after the end": {"renews the lease that it has not", func(m *model) {
			m.leave("b", nil)
			m.renew(&store.Renewal{Node: "b"}, &store.Membership{}, nil)
		}},
		"a renewal that shows another owner": {"is said to belong to b", func(m *model) {
			m.renew(&store.Renewal{Node: "b"}, &store.Membership{Owners: []store.Ownership{{Partition: 0, Epoch: 1, Node: "b"}}}, nil)
		}},
		"a turn under an old epoch":   {"I4: turn 1", func(m *model) { m.turn(turn(1, 0), nil) }},
		"a turn of nobody's":          {"I4: turn 1", func(m *model) { m.release("a", []int{0}, nil); m.turn(turn(1, 1), nil) }},
		"a turn that is left out":     {"I2: turn 2", func(m *model) { m.turn(turn(2, 1), nil) }},
		"a turn after the end":        {"I1: turn 2", func(m *model) { m.turn(closing(1), nil); m.turn(turn(2, 1), nil) }},
		"two open runs of one ID":     {"begins, and r is open", func(m *model) { r := run("s"); m.create(&r, nil) }},
		"an attempt before the last":  {"I3: call 1", func(m *model) { m.turn(at(1, 2, store.Backoff, ""), nil); m.turn(at(1, 1, store.Dispatched, ""), nil) }},
		"a message for two":           {"message 7 is consumed", func(m *model) { m.consumed[7] = "s"; x := turn(1, 1); x.Consumed = []int64{7}; m.turn(x, nil) }},
		"a conflict with nobody":      {"is said to belong to x", func(m *model) { r := run("s"); m.create(&r, &store.ConflictError{Existing: run("x")}) }},
		"a task of two workers":       {"is claimed by v and by w", func(m *model) { m.grab("v", []store.Task{{}}); m.grab("w", []store.Task{{}}) }},
		"a task settled by another":   {"is settled by w", func(m *model) { m.grab("v", []store.Task{{}}); m.settle("w", []store.SettledTask{{}}, []error{nil}) }},
		"the last run is deleted":     {"which is the last of w", func(m *model) { m.turn(closing(1), nil); m.forget([]string{"r"}, nil) }},
		"a move under an old epoch":   {"moves at epoch 0", func(m *model) { m.move(&store.Move{Run: "r"}, nil) }},
		"a ward that is still served": {"is dissolved, and b lives", func(m *model) { m.place(store.Place(0, 2)).node = "b"; m.dissolve(0, 1, 2, true, nil) }},
		"a turn at another place": {"is of ward 2", func(m *model) {
			*m.place(store.Place(0, 2)) = holding{node: "b", epoch: 5}
			x := turn(1, 5)
			x.Ward = 2
			m.turn(x, nil)
		}},
		"a run too many of a key": {"T3: 2 runs of ann have begun, of which 1 may run", func(m *model) {
			m.perKey = 1
			for _, id := range []string{"s", "u"} {
				r := run(id)
				r.WorkflowID, r.Key = id, "ann"
				m.create(&r, nil)
				x := turn(1, 1)
				x.Run = id
				x.Events, _ = history.SealTurn(id, 1, 0, []history.Event{{Kind: history.CodeAdvanced}})
				m.turn(x, nil)
			}
		}},
		"an attempt past an open breaker": {"T3: the gate lets attempt 0", func(m *model) {
			m.fuse(atGate(1, gateRow(store.GateTripped, 1, "ann", gates.ShareRecord{Health: gates.Health{OpenUntil: 9}})))
			m.fuse(atGate(8, gateRow(store.TicketHolding, 2, "", gates.Ticket[core.TicketKey]{RunKey: "ann", Phase: gates.Running})))
		}},
		"two that try a breaker": {"T3: 2 attempts of \"ann\" try", func(m *model) {
			m.fuse(atGate(1,
				gateRow(store.TicketHolding, 1, "", gates.Ticket[core.TicketKey]{RunKey: "ann", Phase: gates.Running, Probe: true}),
				gateRow(store.TicketHolding, 2, "", gates.Ticket[core.TicketKey]{RunKey: "ann", Phase: gates.Running, Probe: true})))
		}},
		"more than a gate lets pass": {"3 attempts are behind a gate of 2", func(m *model) {
			for call := range int64(3) {
				m.turn(at(call, 1, store.Dispatched, gatedCall.Name()), nil)
			}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, db: memory.New(), trace: &trace{begun: time.Now()}}
			w.model = newModel(w)
			m, r := w.model, run("r")
			m.join(&store.Node{ID: "a", Name: "a", Lease: time.Second}, nil)
			m.join(&store.Node{ID: "b", Name: "b", Lease: time.Second}, nil)
			m.claim("a", []store.Ownership{{Partition: 0, Epoch: 1}}, nil)
			m.create(&r, nil)
			if len(w.faults) > 0 {
				t.Fatalf("%s: before that, %q", name, w.faults)
			}
			c.do(m)
			if len(w.faults) != 1 || !strings.Contains(w.faults[0], c.says) {
				t.Errorf("%s: %q", name, w.faults)
			}
		})
	}
}

// atGate is a turn of the gate.
func atGate(time int64, rows ...store.Call) *store.Turn {
	return &store.Turn{Run: entity.Find(store.Group{Partitions: 1}, entity.Gate, narrow.Name()).Run, Time: time, Calls: rows}
}

func gateRow(state store.CallState, number int64, name string, document any) store.Call {
	data, err := history.Seal(document)
	if err != nil {
		panic(err)
	}
	return store.Call{Number: number, State: state, Name: name, Data: data}
}

// TestP2_WhatClientsMayNotBeTold: each answer that contradicts another one is found, and an
// unanswered request explains what it may explain.
func TestP2_WhatClientsMayNotBeTold(t *testing.T) {
	type told = porcupine.Operation
	say := func(from, to int64, what, answer any) told {
		return told{Input: asked{"w", what}, Output: answer, Call: from << 10, Return: to << 10}
	}
	const late = never >> 10
	start, done := say(0, 1, starts{}, started{"r", false}), ending{status: core.StatusCompleted, value: 3}
	for name, c := range map[string]struct {
		fine bool
		all  []told
	}{
		"a run from beginning to end":       {true, []told{start, say(2, 3, signals{0}, nil), say(4, 5, results{}, done), say(6, 7, signals{1}, store.ErrClosed)}},
		"two beginnings":                    {false, []told{start, say(2, 3, starts{}, started{"s", false})}},
		"an end, and then a signal":         {false, []told{start, say(2, 3, results{}, done), say(4, 5, signals{0}, nil)}},
		"an end, and then a cancellation":   {false, []told{start, say(2, 3, results{}, done), say(4, 5, asksForEnd{}, nil)}},
		"a refusal while it is open":        {false, []told{start, say(2, 3, signals{0}, store.ErrClosed), say(4, 5, signals{1}, nil)}},
		"two ends":                          {false, []told{start, say(2, 3, results{}, done), say(4, 5, results{}, ending{status: core.StatusCompleted, value: 4})}},
		"canceled by nobody":                {false, []told{start, say(2, 3, results{}, ending{status: core.StatusCanceled})}},
		"canceled by one without an answer": {true, []told{start, say(2, late, asksForEnd{}, errCrashed), say(4, 5, results{}, ending{status: core.StatusCanceled})}},
		"an update that was counted twice":  {false, []told{start, say(2, 3, updates{0}, 1), say(4, 5, updates{0}, 2)}},
		"an update that was left out":       {false, []told{start, say(2, 3, updates{0}, 1), say(4, 5, updates{1}, 3)}},
		"an unanswered update was counted":  {true, []told{start, say(2, late, updates{0}, errCrashed), say(4, 5, updates{1}, 2)}},
		"no run after its beginning":        {false, []told{start, say(2, 3, signals{0}, store.ErrNotFound)}},
	} {
		h := &hearsay{all: c.all}
		if wrong := h.check(nil); (len(wrong) == 0) != c.fine {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// TestP2_WhatIsLeftOutMakesNoDifference: of histories drawn at random, with many requests that got
// no answer, the same are found wrong with and without those that telling leaves out.
func TestP2_WhatIsLeftOutMakesNoDifference(t *testing.T) {
	visibly := visibly
	model := visibly.ToModel()
	fine, wrong, less := 0, 0, 0
	for seed := range 20_000 {
		d := dice(seed).of("told")
		all := []porcupine.Operation{{Input: asked{"w", starts{}}, Output: started{"r", false}, Call: 0, Return: 1}}
		for i := range 3 + d.of("many").below(6) {
			d := d.of("ask", i)
			op := porcupine.Operation{ClientId: i + 1, Call: int64(2 + 2*i), Return: int64(3 + 2*i + d.of("long").below(6))}
			n := d.of("n").below(2)
			what := []asked{{"w", starts{}}, {"w", signals{n}}, {"w", updates{n}}, {"w", updates{n}}, {"w", results{}}, {"w", asksForEnd{}}}[d.of("what").below(6)]
			op.Input = what
			switch answers := map[any]any{starts{}: started{"r", true}, signals{n}: nil, updates{n}: 1 + d.of("count").below(2),
				results{}: ending{status: []core.Status{core.StatusCompleted, core.StatusCanceled}[d.of("end").below(2)]}, asksForEnd{}: nil}; {
			case d.of("lost").oneIn(2):
				op.Output, op.Return = errCrashed, never
			case d.of("closed").oneIn(8):
				op.Output = store.ErrClosed
			default:
				op.Output = answers[what.what]
			}
			all = append(all, op)
		}
		some := telling(all)
		want, got := porcupine.CheckOperations(model, all), porcupine.CheckOperations(model, some)
		if want != got {
			t.Fatalf("seed %d: %v of all, %v of what is left: %v", seed, want, got, all)
		}
		if len(some) < len(all) {
			less++
		}
		if want {
			fine++
		} else {
			wrong++
		}
	}
	if fine < 1000 || wrong < 1000 || less < 1000 {
		t.Errorf("%d histories are fine, %d wrong, of %d something was left out", fine, wrong, less)
	}
}

// TestP1_AFailingWorldIsMadeSmaller: what a world does not need to fail is left out.
func TestP1_AFailingWorldIsMadeSmaller(t *testing.T) {
	p := draw(3, anything)
	p.programs = append(p.programs, order{id: "wrong"})
	fails := func(q plan) bool {
		for i := range q.programs {
			if q.programs[i].id == "wrong" {
				return true
			}
		}
		return false
	}
	small := shrink(p, fails)
	if len(small.programs) != 1 || len(small.events) != 0 || !fails(small) {
		t.Errorf("what is left are %d programs and %d events", len(small.programs), len(small.events))
	}
	if again := p.keeping(t, strings.TrimPrefix(small.command()[strings.Index(small.command(), "-keep"):], "-keep ")); len(again.programs) != 1 || again.programs[0].id != "wrong" {
		t.Errorf("%s keeps %v", small.command(), again.programs)
	}
}
