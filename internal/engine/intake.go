package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// mail is an input for a resident, with the inbox message that carried it, if any.
type mail struct {
	input       core.Input // nil: the message only says that the run exists, or is void
	sequence    int64      // of the message; 0 if there is none
	at          int64      // its moment: see inOrder
	latest      string     // workflow ID whose latest run gets the mail; "" if the mail is for one run
	transaction *attempt.Transaction
	unread      *unreadEnd // set if the result of an attempt cannot be read; input is a placeholder then
}

// rule is what one feature requires of the mail that a run takes. The turn of a run names no
// feature: it asks the rules, which Open registers. Each field may be nil.
type rule struct {
	// limits reports whether m limits its turn: a turn takes at most one such message of a
	// rule. If alone is set, the turn takes no other message at all.
	limits func(m mail) bool
	// alone completes a message that has a turn to itself.
	alone func(r *activeRun, m *mail) error
	// void reports whether a message has become meaningless while it waited.
	void func(r *activeRun, m mail) bool
	// arrived is called for each message that is delivered to a run.
	arrived func(run string, in core.Input)
	// refusal returns the reply to the sender of a message that no run takes.
	refusal func(p *partition, in core.Input) (store.Message, bool)
}

func (e *Engine) rules() []rule {
	return []rule{transactionRule(), resetRule(e), outsideRule(e), slotRule(), gateRule(e), updateRule()}
}

// limited returns the rule that limits m, nil if there is none.
func (e *Engine) limited(m mail) *rule {
	for i := range e.intake {
		if limits := e.intake[i].limits; limits != nil && limits(m) {
			return &e.intake[i]
		}
	}
	return nil
}

// upTo returns how many of the first messages go into one turn.
func (e *Engine) upTo(all []mail) int {
	var seen []*rule
	for i, m := range all {
		by := e.limited(m)
		switch {
		case by == nil:
			continue
		case by.alone != nil:
			return max(i, 1)
		case slices.Contains(seen, by):
			return i
		}
		seen = append(seen, by)
	}
	return len(all)
}

// alone returns the rule of a message that has a turn to itself, nil for any other mail.
func (e *Engine) alone(all []mail) *rule {
	if len(all) == 1 {
		if by := e.limited(all[0]); by != nil && by.alone != nil {
			return by
		}
	}
	return nil
}

// takeDeferred implements stepper.
func (r *activeRun) takeDeferred(t *turn) {
	if r.engine.alone(t.mail) != nil {
		return
	}
	if before := r.partition.inbox.deferred[untaken(r.id)]; takesAny(r.run, before) {
		t.mail, t.given = slices.Concat(before, t.mail), len(before)
	}
}

// takesAny reports whether a run can take any of its deferred mail now.
func takesAny(run *core.Run, deferred []mail) bool {
	return slices.ContainsFunc(deferred, func(m mail) bool { return m.input == nil || run.Takes(m.input) })
}

// inputs returns the inputs of a step: first core.TakenOver if the run was loaded, else nil,
// then the input of each message, nil if the message is void.
func (e *Engine) inputs(r *activeRun, t *turn) []core.Input {
	inputs := append(t.inputs[:0], nil)
	if t.loaded {
		inputs[0] = e.takenOver(r, t)
	}
	for i, m := range t.mail {
		for k := range e.intake {
			if void := e.intake[k].void; void != nil && void(r, m) {
				t.mail[i].input = nil
			}
		}
		inputs = append(inputs, timed(&t.mail[i]))
	}
	if t.more != 0 {
		inputs = append(inputs, core.More{At: t.more})
	}
	t.inputs = inputs
	return inputs
}

// split divides the mail of a turn into what the turn consumes and what is deferred: for this
// run, or for the next run of the chain if this one has ended.
func split(out *core.Turn, todo []mail) (taken, deferred []mail) {
	if len(out.Deferred) == 0 {
		return todo, nil
	}
	for i, m := range todo {
		if slices.Contains(out.Deferred, i+1) && (m.latest != "" || !out.Ended) {
			deferred = append(deferred, m)
		} else {
			taken = append(taken, m)
		}
	}
	return taken, deferred
}

// putOff keeps mail that a durable turn did not take for a later one. The engine's mu is held.
func (e *Engine) putOff(r *activeRun, t *turn) {
	in, c, deferred := &r.partition.inbox, untaken(r.id), t.deferred
	if before := in.deferred[c]; len(before) > 0 && t.given == 0 {
		deferred = slices.Concat(before, deferred)
	}
	switch {
	case len(deferred) == 0:
		delete(in.deferred, c)
	case t.out.Ended:
		delete(in.deferred, c)
		r.mail = append(deferred, r.mail...)
	default:
		in.deferred[c] = deferred
		r.poked = r.poked || takesAny(r.run, deferred)
	}
}

// refusals returns the replies to the senders of mail that no run takes.
func (e *Engine) refusals(p *partition, todo []mail) (messages []store.Message) {
	for _, m := range todo {
		for i := range e.intake {
			if refusal := e.intake[i].refusal; refusal != nil {
				if answer, due := refusal(p, m.input); due {
					messages = append(messages, answer)
				}
			}
		}
	}
	return messages
}

// sequences returns the sequence numbers of the inbox messages among the mail.
func sequences(todo []mail) (numbers []int64) {
	for _, m := range todo {
		if m.sequence != 0 {
			numbers = append(numbers, m.sequence)
		}
	}
	return numbers
}
