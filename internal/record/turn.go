package record

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Turn translates a turn of a run. Into names the run and its owner, and may have messages that go
// before those of the turn. Create is the row of the run if that is not in the database yet: the
// turn creates it, unless it creates the next run of the chain.
func Turn(g store.Group, into store.Turn, run *core.Run, create *store.Run, out *core.Turn) (t store.Turn, err error) {
	t = into
	of, began := store.RunRef{Partition: t.Partition, Run: t.Run}, run.Began()
	t.Number, t.Time, t.Closed = out.Number, out.Time, out.Closed
	if out.Number > 0 {
		if t.Events, err = history.SealTurn(t.Run, out.Number, out.Time, out.Events); err != nil {
			return t, err
		}
		t.CommitID, t.Tallies = ident.NewCommit(), Tallies(NameOf(began.Type, began.Attributes[view.FileAttribute]), began, out)
	}
	if out.Attributes != nil {
		changed := StoreAttributes(out.Attributes, began.Key)
		t.Attributes = &changed
	}
	if out.Next != nil {
		if t.Create, err = NewRun(t.Partition, out.Next); err != nil {
			return t, err
		}
		if t.Create.Base, err = StoreBase(out.Next.Run, of, out.Base); err != nil {
			return t, err
		}
		create = nil
	}
	storeState(&t, create, out.State)
	t.Calls, t.Attempts = StoreRows(of, out.Rows), Attempts(of, out.Attempts)
	if err = storeTasks(&t, of, run, out); err != nil {
		return t, err
	}
	if err = send(g, &t, out.Messages); err != nil {
		return t, err
	}
	for i := range out.Gates {
		t.Messages = append(t.Messages, message.ToGate(g, &out.Gates[i]))
	}
	t.Repeatable = len(t.Messages) == len(out.Gates)
	for i := range out.Replies { // to the callers of updates; they may arrive twice as well
		reply := &out.Replies[i]
		m, err := message.Answer(t.Partition, reply.Asker, message.Data{Run: reply.Run, Turn: reply.Turn, Failure: reply.Failure})
		if err != nil {
			return t, err
		}
		t.Messages = append(t.Messages, m)
	}
	return t, nil
}

// StandingTurn is Turn of a gate or a schedule. Each of them may be repeated.
func StandingTurn(g store.Group, into store.Turn, create *store.Run, out *core.StandingTurn) (t store.Turn, err error) {
	t = into
	t.Time, t.Closed, t.Remove, t.Repeatable = out.Time, out.Closed, out.Over, true
	t.Calls = StoreRows(store.RunRef{Partition: t.Partition, Run: t.Run}, out.Rows)
	if out.State != nil {
		storeState(&t, create, out.State)
	}
	for i := range out.Say {
		t.Messages = append(t.Messages, message.FromGate(g, &out.Say[i]))
	}
	err = send(g, &t, out.Messages)
	return t, err
}

// send adds messages to other runs to a turn.
func send(g store.Group, t *store.Turn, all []core.Message) error {
	for i := range all {
		m, err := message.FromRun(g, &all[i])
		if err != nil {
			return err
		}
		t.Messages = append(t.Messages, m)
	}
	return nil
}

// storeState puts a state into the row that a turn creates, else into the turn.
func storeState(t *store.Turn, create *store.Run, s *core.State) {
	var state *store.RunState
	if s != nil {
		stored := StoreState(*s)
		state = &stored
	}
	if create == nil {
		t.State = state
		return
	}
	row := *create
	if state != nil {
		row.RunState = *state
	}
	t.Create = &row
}
