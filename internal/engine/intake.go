package engine

import (
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// rule is what one feature requires of the mail that a run takes. The turn of a run names no
// feature: it asks the rules, which Open registers. Each field may be nil.
type rule struct {
	// limits reports whether m limits its turn: a turn takes at most one such message of a
	// rule. If alone is set, the turn takes no other message at all.
	limits func(m post.Mail) bool
	// alone completes a message that has a turn to itself.
	alone func(r *activeRun, m *post.Mail) error
	// void reports whether a message has become meaningless while it waited.
	void func(r *activeRun, m post.Mail) bool
	// arrived is called for each message that is delivered to a run.
	arrived func(run string, in core.Input)
	// refusal returns the reply to the sender of a message that no run takes.
	refusal func(p *location, in core.Input) (store.Message, bool)
}

// rules are asked in this order.
type rules []rule

func newRules(e *Engine) rules {
	return rules{transactionRule(), resetRule(e), outsideRule(e), slotRule(), gateRule(e), updateRule()}
}

// limited returns the rule that limits m, nil if there is none.
func (all rules) limited(m post.Mail) *rule {
	for i := range all {
		if limits := all[i].limits; limits != nil && limits(m) {
			return &all[i]
		}
	}
	return nil
}

// upTo returns how many of the first messages go into one turn.
func (all rules) upTo(mail []post.Mail) int {
	var seen []*rule
	for i, m := range mail {
		by := all.limited(m)
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
	return len(mail)
}

// alone returns the rule of a message that has a turn to itself, nil for any other mail.
func (all rules) alone(mail []post.Mail) *rule {
	if len(mail) == 1 {
		if by := all.limited(mail[0]); by != nil && by.alone != nil {
			return by
		}
	}
	return nil
}

// takeDeferred implements stepper.
func (r *activeRun) takeDeferred(t *turn) {
	if r.engine.inbox.rules.alone(t.mail) != nil {
		return
	}
	if before := r.location.box.Deferred(r.id); takesAny(r.run, before) {
		t.mail, t.given = slices.Concat(before, t.mail), len(before)
	}
}

// takesAny reports whether a run can take any of its deferred mail now.
func takesAny(run *core.Run, deferred []post.Mail) bool {
	return slices.ContainsFunc(deferred, func(m post.Mail) bool { return m.Input == nil || run.Takes(m.Input) })
}

// inputs returns the inputs of a step: first core.TakenOver if the run was loaded, else nil,
// then the input of each message, nil if the message is void.
func (r *activeRun) inputs(t *turn) []core.Input {
	e := r.engine
	inputs := append(t.inputs[:0], nil)
	if t.loaded {
		inputs[0] = r.takenOver(t)
	}
	for i, m := range t.mail {
		for k := range e.inbox.rules {
			if void := e.inbox.rules[k].void; void != nil && void(r, m) {
				t.mail[i].Input = nil
			}
		}
		inputs = append(inputs, t.mail[i].Timed())
	}
	if t.more.At != 0 {
		inputs = append(inputs, t.more)
	}
	t.inputs = inputs
	return inputs
}

// split divides the mail of a turn into what the turn consumes and what is deferred: for this
// run, or for the next run of the chain if this one has ended.
func split(out *core.Turn, todo []post.Mail) (taken, deferred []post.Mail) {
	if len(out.Deferred) == 0 {
		return todo, nil
	}
	for i, m := range todo {
		if slices.Contains(out.Deferred, i+1) && (m.Latest != "" || !out.Ended) {
			deferred = append(deferred, m)
		} else {
			taken = append(taken, m)
		}
	}
	return taken, deferred
}

// putOff keeps mail that a durable turn did not take for a later one. The engine's mu is held.
func (r *activeRun) putOff(t *turn) {
	box, before, deferred := r.location.box, r.location.box.Deferred(r.id), t.deferred
	if t.given == 0 {
		deferred = slices.Concat(before, deferred)
	}
	if t.out.Ended {
		r.mail = append(deferred, r.mail...)
		deferred = nil
	}
	if len(before) > 0 || len(deferred) > 0 {
		box.Defer(r.id, deferred)
		r.poked = r.poked || takesAny(r.run, deferred)
	}
}

// refusals returns the replies to the senders of mail that no run takes.
func (p *location) refusals(todo []post.Mail) (messages []store.Message) {
	e := p.engine
	for _, m := range todo {
		for i := range e.inbox.rules {
			if refusal := e.inbox.rules[i].refusal; refusal != nil {
				if answer, due := refusal(p, m.Input); due {
					messages = append(messages, answer)
				}
			}
		}
	}
	return messages
}
