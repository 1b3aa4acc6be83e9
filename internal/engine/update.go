package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// replies returns the messages to the callers of updates.
func replies(p *location, out *core.Turn) (messages []store.Message, err error) {
	for i := range out.Replies {
		reply := &out.Replies[i]
		m, err := message.Answer(p.partition, reply.Asker, message.Data{Run: reply.Run, Turn: reply.Turn, Failure: reply.Failure})
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// updateRule tells the caller of an update that the run has ended.
func updateRule() rule {
	return rule{refusal: func(p *location, in core.Input) (m store.Message, due bool) {
		u, is := in.(core.UpdateArrived)
		if !is {
			return m, false
		}
		m, err := message.Answer(p.partition, u.Asker, message.Data{Closed: true})
		return m, err == nil
	}}
}
