package roomtest

import (
	"cmp"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// Serve reads all messages and makes all turns that are due, until nothing is left to do.
func (s *Scene) Serve() {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.serveMessages() || s.serveDue() {
	}
}

func (s *Scene) serveMessages() (moved bool) {
	s.Helper()
	messages, err := s.DB.Inbox(s.ctx(), s.Group.All(), store.InboxRead{})
	s.Must(err)
	for _, m := range messages {
		moved = s.deliver(m) || moved
	}
	return moved
}

// deliver hands a message to its reader and reports whether it is consumed.
func (s *Scene) deliver(m store.Message) bool {
	s.Helper()
	switch m.Kind {
	case message.KindAnswer:
		return false // its reader is not a run
	case message.KindStart:
		return s.startChild(m)
	case message.KindQuery:
		return s.query(m)
	}
	in, err := message.Input(m)
	s.Must(err)
	if entity.KindOf(m.WorkflowID) != entity.Run {
		s.standing(m.Partition, m.Run, []store.Message{m})
		return true
	}
	run := m.Run
	if c, is := in.(core.Control); is && run == "" && c.Chain == "" || run == "" {
		row, err := s.DB.Find(s.ctx(), m.Partition, m.WorkflowID, "")
		if errors.Is(err, store.ErrNotFound) {
			return s.discard(m)
		}
		s.Must(err)
		run = row.ID
	}
	r := s.load(run, m.Partition)
	switch {
	case r == nil:
		return s.refuse(m, in)
	case in == nil: // the run was created, and Load has made its first turn
		return s.discard(m)
	case !r.Core.Takes(in):
		return false
	}
	r.consumed = []int64{m.Sequence}
	r.step(in)
	return true
}

func (s *Scene) discard(m store.Message, answers ...store.Message) bool {
	s.Helper()
	s.write(store.Turn{
		Partition: m.Partition, Epoch: s.epochs[m.Partition], Run: cmp.Or(m.Run, m.WorkflowID), Consumed: []int64{m.Sequence}, Messages: answers, Repeatable: true,
	})
	for _, a := range answers {
		if s.Notify != nil {
			s.Notify(a.WorkflowID)
		}
	}
	return true
}

// refuse answers what comes to a closed run.
func (s *Scene) refuse(m store.Message, in core.Input) bool {
	s.Helper()
	if reply, needed := message.Refusal(s.Group, m.Partition, in); needed {
		return s.discard(m, reply)
	}
	return s.discard(m)
}

// query answers a question between two turns.
func (s *Scene) query(m store.Message) bool {
	s.Helper()
	d, err := message.Read(m)
	s.Must(err)
	answer := message.Data{}
	r := s.load(m.Run, m.Partition)
	if r == nil || r.Work == nil || r.Work.Ask == nil {
		answer.Failure = history.FromError(&history.InputError{What: "query", Problem: "has no handler"})
	} else if v, err := r.Work.Ask(d.Name, d.Value); err != nil {
		answer.Failure = history.FromError(err)
	} else {
		answer.Value = Payload(v)
	}
	a, err := message.Answer(m.Partition, d.ID, answer)
	s.Must(err)
	return s.discard(m, a)
}

// startChild begins the run that a parent or a schedule has asked for.
func (s *Scene) startChild(m store.Message) bool {
	s.Helper()
	start, err := history.DecodeStart(m.Data)
	s.Must(err)
	row, err := record.NewRun(m.Partition, &start)
	s.Must(err)
	existing, err := s.DB.Find(s.ctx(), m.Partition, m.WorkflowID, "")
	if err == nil && existing.Status.Open() {
		answer, err := message.ToParentInUse(s.Group, start.Parent, existing)
		s.Must(err)
		return s.discard(m, answer)
	}
	if err == nil {
		row.After = existing.ID
	}
	r := s.machine(m.Partition, start)
	r.create, r.consumed = row, []int64{m.Sequence}
	r.answers, err = message.ToParentBegun(s.Group, &start)
	s.Must(err)
	r.step()
	return true
}

func (s *Scene) serveDue() (moved bool) {
	s.Helper()
	line, err := s.DB.Due(s.ctx(), s.Group.All(), -1<<63, store.LastInLine, 0)
	s.Must(err)
	due, err := s.DB.Due(s.ctx(), s.Group.All(), -2, s.Now(), 0)
	s.Must(err)
	for _, w := range slices.Concat(line, due) {
		if entity.KindOf(w.Run) != entity.Run {
			moved = s.standing(w.Partition, w.Run, nil) || moved
			continue
		}
		known := s.runs[w.Run] != nil
		if r := s.load(w.Run, w.Partition); r != nil && known {
			moved = !r.step().Empty() || moved
		} else {
			moved = moved || r != nil
		}
	}
	return moved
}

// standing makes a turn of a gate or a schedule.
func (s *Scene) standing(partition int, id string, messages []store.Message) bool {
	s.Helper()
	inputs := make([]core.Input, len(messages))
	consumed := make([]int64, len(messages))
	for i, m := range messages {
		in, err := message.Input(m)
		s.Must(err)
		inputs[i], consumed[i] = in, m.Sequence
	}
	var machine interface {
		Step(now int64, inputs []core.Input) *core.StandingTurn
	}
	var create *store.Run
	rec, err := s.DB.Load(s.ctx(), partition, id)
	switch kind := entity.KindOf(id); {
	case errors.Is(err, store.ErrNotFound) && kind == entity.Gate:
		row, err := entity.Find(s.Group, kind, entity.NameOf(id)).Row(s.Now())
		s.Must(err)
		create, machine = &row, core.NewGate(entity.NameOf(id))
	case err != nil:
		s.Fatal(err)
	case kind == entity.Gate:
		machine, err = record.Gate(rec)
		s.Must(err)
	default:
		machine, err = record.Schedule(s.Group, rec)
		s.Must(err)
	}
	out := machine.Step(s.Now(), inputs)
	s.Must(errors.Join(out.Faults...))
	if out.Heard < len(inputs) {
		s.Fatalf("%s heard %d of %d messages", id, out.Heard, len(inputs))
	}
	if out.Empty() && len(messages) == 0 {
		return false
	}
	t, err := record.StandingTurn(s.Group, store.Turn{Partition: partition, Epoch: s.epochs[partition], Run: id, Consumed: consumed}, create, out)
	s.Must(err)
	s.write(t)
	return true
}
