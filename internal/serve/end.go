package serve

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// end is how an attempt ended. It is not durable yet.
type end struct {
	key   attempt.Key
	held  *held
	input core.AttemptEnded
	beat  *core.Heartbeat // its last heartbeat, which its run does not have

	failures int       // number of failed tries to report it
	due      time.Time // when it is reported again
	refused  error     // why the database refuses it
}

// beat is a heartbeat to post, or another word about an attempt that goes on.
type beat struct {
	held    *held
	says    func(g store.Group, workflowID, run string, d message.Data) (store.Message, error)
	details history.Payload
}

// errTransaction is the failure of a body that used activity.OnCommit.
var errTransaction = retry.Terminal(errors.New("the body used activity.OnCommit, but ran in a process that serves its queue: " +
	"what is done with a result is done in the transaction of the run's owner; call the activity without a queue, or write in the body itself " + see.Commit))

// owner is the server as attempt.Owner.
type owner struct{ s *Server }

// Ended enqueues the end of an attempt, to be made durable.
func (o owner) Ended(e attempt.End) {
	s, x := o.s, e.Attempt
	in := e.Input
	if e.Transaction != nil {
		in = core.AttemptEnded{Call: in.Call, Attempt: in.Attempt, Outcome: core.Failed, Failure: history.FromError(errTransaction), Ended: in.Ended}
	}
	s.mu.Lock()
	s.attempts.Remove(x)
	name := ""
	if h := s.held[x.Key]; h != nil {
		name = h.task.Name
		last := &end{key: x.Key, held: h, input: in}
		if in.Outcome != core.Completed {
			if b, fresh := x.TakeBeat(); fresh {
				last.beat = &b // the next attempt gets the last details of this one
			}
		}
		h.body, h.counts = nil, false
		delete(s.beats, x.Key)
		s.ends = append(s.ends, last)
	}
	s.mu.Unlock()
	if name != "" && e.Survived() {
		s.config.Survived(name, core.AttemptID(x.Run, x.Call, x.Number))
	}
	s.config.Attempts.Granted(e.Slot.Free())
	s.ended.Ring()
	s.Freed()
}

// Beat enqueues a heartbeat.
func (o owner) Beat(x *attempt.Attempt) {
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[x.Key]
	if b, fresh := x.TakeBeat(); fresh && h != nil && !x.Ended() {
		s.beats[x.Key] = beat{h, message.Heartbeat, b.Details}
		s.ended.Ring()
	}
}

// TrialOver moves an attempt out of the probation lane and tells its run.
func (o owner) TrialOver(x *attempt.Attempt) {
	s := o.s
	name := ""
	s.mu.Lock()
	if h := s.held[x.Key]; h != nil && !x.Ended() {
		name = h.task.Name
		s.beats[attempt.Key{Run: x.Run, Call: x.Call, Number: -x.Number}] = beat{held: h, says: message.TrialOver}
		h.cleared = true
		s.ended.Ring()
	}
	s.mu.Unlock()
	if name != "" {
		s.config.Survived(name, core.AttemptID(x.Run, x.Call, x.Number))
		s.Wake() // others of its activity may be claimed
	}
	s.config.Attempts.Granted(x.LeaveProbation())
}

// giveBack returns a task that cannot run here. The reason is this process, so no attempt is
// charged.
func (s *Server) giveBack(k attempt.Key, h *held) {
	s.mu.Lock()
	s.returns(k, h)
	s.mu.Unlock()
	s.config.Attempts.Granted(h.slot.Free())
	s.ended.Ring()
}

// returns enqueues the end of an attempt that does not begin here. The server's mu is held.
func (s *Server) returns(k attempt.Key, h *held) {
	s.held[k], h.counts = h, false
	s.ends = append(s.ends, &end{key: k, held: h, input: core.AttemptEnded{Call: k.Call, Attempt: k.Number, Outcome: core.Drained, Unbegun: true}})
}

// settle makes ends durable and posts heartbeats until the server ends.
func (s *Server) settle() {
	var again <-chan time.Time
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.ended:
		case <-again:
		}
		if again = nil; !s.say() {
			again = time.After(s.pause())
		}
	}
}

// tellAgain is the backoff of ends that could not be reported.
var tellAgain = retry.Exponential(20*time.Millisecond, 2, 2*time.Second)

// say posts heartbeats and ends that are due. It returns false if ends are left to report.
func (s *Server) say() bool {
	now := time.Now()
	s.mu.Lock()
	var ends, later []*end
	for _, e := range s.ends {
		if e.due.After(now) {
			later = append(later, e)
		} else {
			ends = append(ends, e)
		}
	}
	beats := s.beats
	s.ends, s.beats = later, map[attempt.Key]beat{}
	s.mu.Unlock()
	for _, b := range beats { // a lost heartbeat is followed by others
		_ = s.post(b)
	}
	left, err := s.settleAll(ends)
	if err != nil && s.ctx.Err() == nil {
		s.config.Watch.Away("telling how attempts ended", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range left {
		e.failures++
		e.due = time.Now().Add(tellAgain.Delay(e.failures))
	}
	s.ends = append(s.ends, left...)
	s.untold = nil
	for _, e := range s.ends {
		if e.refused != nil {
			s.untold = e.refused
		}
	}
	return len(s.ends) == 0
}

// pause returns how long until the next end is due. There is one.
func (s *Server) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := slices.MinFunc(s.ends, func(a, b *end) int { return a.due.Compare(b.due) })
	return max(0, time.Until(first.due))
}

// post posts a heartbeat. It returns an error if another try may succeed.
func (s *Server) post(b beat) error {
	t := &b.held.task
	m, err := b.says(s.config.Group, t.WorkflowID, t.Run, message.Data{Call: t.Number, Attempt: t.Attempt, Value: b.details})
	if err != nil {
		return nil // details that cannot be encoded are dropped
	}
	m.Partition = t.Partition
	if err := s.config.Store.Post(s.ctx, m); err != nil && store.Unavailable(err) {
		return err
	}
	return nil // the run has ended; the next Attend shows it
}

// settleAll makes ends durable: all together, and if the database refuses that, one by one, so
// that a refused end holds up no other. It returns the ends that are left, the one that failed
// last at the end.
func (s *Server) settleAll(ends []*end) (left []*end, err error) {
	if len(ends) == 0 {
		return nil, nil
	}
	if err = s.settleTogether(ends); err == nil {
		return nil, nil
	}
	var last error
	for i, e := range ends {
		if len(ends) > 1 {
			err = s.settleTogether(ends[i : i+1])
		}
		if err != nil && !store.Unavailable(err) { // it is refused permanently
			err = s.settleRefused(e, err)
		}
		switch {
		case err == nil:
		case store.Unavailable(err): // perhaps only for this end, so others go first next time
			return slices.Concat(ends[i+1:], left, ends[i:i+1]), err
		default:
			left, last = append(left, e), err
		}
	}
	return left, last
}

// settleRefused makes an end durable that the database refused: it reports a failed attempt
// instead.
func (s *Server) settleRefused(e *end, cause error) error {
	told := e.input
	e.input = core.AttemptEnded{
		Call: told.Call, Attempt: told.Attempt, Outcome: core.Failed, Ended: told.Ended,
		Failure: history.FromError(retry.Terminal(fmt.Errorf("the attempt was %s, and that cannot be told: %w", told.Outcome, cause))),
	}
	e.beat = nil
	err := s.settleTogether([]*end{e})
	if err == nil {
		return nil
	}
	e.input = told
	if !store.Unavailable(err) {
		e.refused = fmt.Errorf("the end of attempt %d of call %d of run %s cannot be told, its call waits, and this process tries on: %w",
			told.Attempt, told.Call, e.key.Run, err)
	}
	return err
}

// settleTogether makes ends durable and forgets their attempts.
func (s *Server) settleTogether(ends []*end) error {
	settled := make([]store.SettledTask, len(ends))
	for i, e := range ends {
		if e.held.task.WorkflowID == "" { // its claim's reply was lost
			if err := s.learn(e.held); err != nil {
				return err
			}
		}
		if e.beat != nil {
			if err := s.post(beat{e.held, message.Heartbeat, e.beat.Details}); err != nil {
				return err
			}
			e.beat = nil
		}
		m, err := message.AttemptEnd(s.config.Group, e.held.task.WorkflowID, e.key.Run, message.Data{
			Call: e.key.Call, Attempt: e.key.Number, Outcome: e.input.Outcome, Value: e.input.Result, Failure: e.input.Failure, After: e.input.After, Unbegun: e.input.Unbegun,
		})
		if err != nil {
			return err
		}
		m.Partition = e.held.task.Partition
		settled[i] = store.SettledTask{TaskRef: e.held.task.TaskRef, Message: m}
	}
	errs, err := s.config.Store.SettleTasks(s.ctx, s.id, settled)
	if err != nil {
		return err
	}
	s.config.Watch.Back()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range ends {
		delete(s.held, e.key)
		s.settled[e.key] = true
		switch { // those with an error came too late
		case errs[i] == nil:
		case e.input.Outcome == core.Completed:
			s.config.Log.ResultRefused(e.key.Run, e.key.Call, e.key.Number)
		default:
			s.config.Log.InputsLate(e.key.Run, 1)
		}
	}
	s.quiet.Broadcast()
	return nil
}

// learn reads the task of a claim whose reply was lost. If the task is gone, another worker
// may have it; its workflow ID does not matter then.
func (s *Server) learn(h *held) error {
	tasks, err := s.config.Store.Tasks(s.ctx, store.TaskFilter{Partitions: []int{h.task.Partition}, Run: h.task.Run, Limit: 10_000})
	if err != nil {
		return err
	}
	h.task.WorkflowID = "?"
	for i := range tasks {
		if tasks[i].TaskRef == h.task.TaskRef {
			h.task = tasks[i]
		}
	}
	return nil
}
