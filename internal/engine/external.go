package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// CompleteAttempt ends the attempt of a token with a result. When it returns, that
// is durable; the owner of the run hears of it by a message. Saying it again does
// nothing. The error is ErrInvalidToken, ErrStaleToken, store.ErrNotFound if the
// run is gone, or that of the database.
func (e *Engine) CompleteAttempt(ctx context.Context, token string, result history.Payload) error {
	return e.endAttempt(ctx, token, core.Completed, message.Data{Value: result})
}

// FailAttempt ends the attempt of a token with a failure, which the policy of its
// call judges as any other. It is like CompleteAttempt else.
func (e *Engine) FailAttempt(ctx context.Context, token string, f *history.Failure) error {
	return e.endAttempt(ctx, token, core.Failed, message.Data{Failure: f})
}

// HeartbeatAttempt says that the attempt of a token is alive, and how far it has
// come.
func (e *Engine) HeartbeatAttempt(ctx context.Context, token string, details history.Payload) error {
	ref, err := e.read(token)
	if err != nil {
		return err
	}
	workflowID, _, err := e.awaited(ctx, ref, "")
	if err != nil {
		return err
	}
	// What is said last counts, so it takes the place of what waits, and nothing piles up
	// while nobody reads. But one without details says nothing else than those before.
	key := "heartbeat"
	if !details.Absent() {
		key = "details"
	}
	return e.tellAttempt(ctx, ref, workflowID, message.KindHeartbeat, key, message.Data{Value: details})
}

// endAttempt posts the end of an attempt, unless that is on record.
func (e *Engine) endAttempt(ctx context.Context, token string, outcome core.Outcome, m message.Data) error {
	ref, err := e.read(token)
	if err != nil {
		return err
	}
	workflowID, known, err := e.awaited(ctx, ref, outcome)
	if known || err != nil {
		return err
	}
	m.Outcome = outcome
	return e.tellAttempt(ctx, ref, workflowID, message.KindAttempt, "end", m) // the first one counts
}

func (e *Engine) tellAttempt(ctx context.Context, ref attemptRef, workflowID, kind, key string, m message.Data) error {
	m.Call, m.Attempt = ref.call, ref.attempt
	msg, err := message.New(e.group, workflowID, ref.run, kind, fmt.Sprintf("attempt/%d.%d/%s", ref.call, ref.attempt, key), m)
	if err != nil {
		return err
	}
	msg.Partition = ref.partition // of another group, perhaps
	msg.Replace = kind == message.KindHeartbeat
	err = e.post(ctx, msg)
	if errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("%w: its run has ended", ErrStaleToken)
	}
	return err
}

// read verifies a token.
func (e *Engine) read(token string) (attemptRef, error) {
	if e.currentPhase() == stopped {
		return attemptRef{}, ErrStopped
	}
	return verify(e.secret, token)
}

// awaited answers whose attempt it is, and ErrStaleToken if nobody waits for its
// end any more. Known says that it has ended with the outcome already. It reads
// what is committed; whatever happens between that and the message, the run has
// the last word.
func (e *Engine) awaited(ctx context.Context, ref attemptRef, outcome core.Outcome) (workflowID string, known bool, err error) {
	row, err := e.db.Find(ctx, ref.partition, "", ref.run)
	if err != nil {
		return "", false, err
	}
	calls, err := e.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return "", false, err
	}
	for _, c := range calls {
		if c.Number == ref.call && c.Attempt == ref.attempt && (c.State == store.External || c.State == store.Dispatched) {
			return row.WorkflowID, false, nil // as usual, and its history need not be read
		}
	}
	attempts, err := e.AttemptsOf(ctx, row, ref.call)
	if err != nil {
		return "", false, err
	}
	for _, a := range attempts {
		switch {
		case a.Number != ref.attempt:
		case a.Ended == nil:
			return row.WorkflowID, false, nil
		case a.Outcome == string(outcome):
			return row.WorkflowID, true, nil
		default:
			return "", false, fmt.Errorf("%w: it has the outcome %s", ErrStaleToken, a.Outcome)
		}
	}
	return "", false, ErrStaleToken
}

// outsideRule concerns what somebody outside says of attempts.
func outsideRule(e *Engine) rule {
	return rule{gather: e.inboxFirst, arrived: e.heardOutside}
}

// heardOutside keeps a body alive of whose attempt a heartbeat arrives from outside.
func (e *Engine) heardOutside(run string, in core.Input) {
	beat, is := in.(core.Heartbeat)
	if !is {
		return
	}
	e.mu.Lock()
	x := e.executions[attemptKey{run, beat.Call, beat.Attempt}]
	e.mu.Unlock()
	if x != nil {
		x.alive()
	}
}

// inboxFirst reads the inbox before a run takes an attempt for ended of which a message
// there may say how it ended: before it times out an attempt that goes on outside, and
// before it loses those that were in flight when it was taken over. It does so in a
// partition that leaves, too.
func (e *Engine) inboxFirst(r *activeRun, todo []mail, loaded bool) ([]mail, error) {
	var err error
	switch {
	case r.run.OutsideDue(e.clock.Now()):
		err = e.readInbox(r.partition)
	case loaded && !r.run.Idle() && !e.wasRead(r.partition):
		err = e.readInboxOnce(r.partition)
	default:
		return todo, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var rest []mail
	for _, m := range r.mail {
		if e.limited(m) != nil {
			rest = append(rest, m)
		} else {
			todo = append(todo, m)
		}
	}
	r.mail = rest
	return todo, err
}
