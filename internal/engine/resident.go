package engine

import (
	"container/list"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// resident is a run in memory. Its first group of fields belongs to the
// goroutine that works on it, the second to the engine's mu.
type resident struct {
	partition *partition
	id        string

	run       *core.Run          // nil: to be loaded
	gate      *core.Gate         // of a resident that is a gate and no run
	timetable *core.Timetable    // of one that is a schedule
	instance  *workflow.Instance // nil: no code, see hold
	create    *store.Run         // its row is not in the database yet
	birth     *birth             // of a run that another one starts, until its row is there
	hold      *hold              // why there is no code
	wake      int64              // the next due time known to the wake heap

	mail       []mail
	questions  []question
	poked      bool           // wants a step without mail
	busy       bool           // somebody works on it
	dropped    bool           // no longer in memory
	gone       bool           // its run has ended or does not exist, as a look at the database said
	recovering bool           // was in flight when its partition was taken, and has taken no step yet
	refused    bool           // a call of it got no slot for a reason that passes
	granted    map[int64]lane // slots on the way to its calls
	idling     *list.Element  // place among the idle
	started    []chan<- error // told when the run's row is durable
}

// mail is an input and the inbox message it came as, if any.
type mail struct {
	input       core.Input // nil: the message only says that the run exists
	sequence    int64
	latest      bool         // it is for whichever run of the chain is the latest
	transaction *transaction // of the attempt that ended, nil if it has none
}

// ahead is how long before the end of a backoff its attempt is made durable: a
// commit takes a few milliseconds, and that of many takes longer.
const ahead = 20 * time.Millisecond

// near is how far off a run's next wake may be for it to stay in memory.
const near = 5 * time.Second

// poke makes a run take a step, if this node still serves its partition.
func (e *Engine) poke(partition int, run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.partitions[partition]; p != nil {
		r := e.resident(p, run)
		r.poked = true
		e.rouse(r)
	}
}

// deliver puts mail into a run's mailbox.
func (e *Engine) deliver(p *partition, run string, m mail) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deliverLocked(p, run, m)
}

func (e *Engine) deliverLocked(p *partition, run string, m mail) {
	if e.partitions[p.number] != p {
		return // another node has it, and will find what is durable
	}
	run, before := e.receiver(run, m)
	if before != nil {
		before.mail = append(before.mail, m)
		return
	}
	r := e.resident(p, run)
	r.mail = append(r.mail, m)
	e.rouse(r)
}

// resident returns the run in memory, making a place for it if there is none.
func (e *Engine) resident(p *partition, run string) *resident {
	r := e.residents[run]
	if r == nil {
		r = &resident{partition: p, id: run}
		e.residents[run] = r
	}
	return r
}

// rouse gets somebody to work on a resident.
func (e *Engine) rouse(r *resident) {
	if r.idling != nil {
		e.idle.Remove(r.idling)
		r.idling = nil
	}
	if r.busy || e.phase == stopped {
		return
	}
	r.busy = true
	r.partition.active++
	e.busy++
	e.steps.run(func() { e.advance(r) })
}

// advance works on a resident until nothing is left to do for it.
func (e *Engine) advance(r *resident) {
	for {
		e.mu.Lock()
		if e.phase == stopped || r.dropped || (len(r.mail) == 0 && !r.poked && len(r.questions) == 0) {
			e.rest(r)
			e.mu.Unlock()
			return
		}
		todo, questions := r.takeMail(), r.questions
		onlyAsked := len(todo) == 0 && !r.poked && r.machine() != nil
		r.poked, r.questions = false, nil
		e.mu.Unlock()
		var err error
		if !onlyAsked {
			err = e.turn(r, todo)
		}
		if err == nil {
			err = e.answerAll(r, questions)
		} else {
			turnAway(questions)
		}
		if err != nil {
			e.mu.Lock()
			e.tellStarted(r, err)
			e.unload(r)
			e.mu.Unlock()
		}
	}
}

// takeMail takes what goes into one turn out of the mailbox. The engine's mu is
// held.
func (r *resident) takeMail() (todo []mail) {
	n := upToTransaction(r.mail)
	todo = r.mail[:n:n]
	if r.mail = r.mail[n:]; len(r.mail) == 0 {
		r.mail = nil
	}
	return todo
}

// rest ends the work on a resident: it stays in memory, at the end of the idle,
// or leaves.
func (e *Engine) rest(r *resident) {
	r.busy = false
	r.partition.active--
	e.busy--
	e.quiet.Broadcast()
	if r.recovering {
		r.recovering = false
		e.recovered()
	}
	if r.dropped {
		e.closeCode(r)
		e.tellStarted(r, store.ErrFenced) // its partition was lost before its first turn
		return
	}
	m := r.machine()
	if m == nil || e.phase == stopped {
		return
	}
	due := m.NextDue()
	far := due != core.Never && due-e.clock.now() > int64(near)
	if m.Idle() && (far && !m.AwaitsMessage() || e.config.MaxResident == 0) {
		e.unload(r)
		return
	}
	if due != r.wake {
		r.wake = due
		e.addWake(due, r)
	}
	if !m.Idle() {
		return // attempts run or are queued here
	}
	r.idling = e.idle.PushBack(r)
	for e.idle.Len() > e.config.MaxResident {
		e.unload(e.idle.Front().Value.(*resident))
	}
}

// rememberWake puts the due time of a resident that is dropped into the wake heap if
// the scan will not find it: the row may name an older time that the scan has passed
// already.
func (e *Engine) rememberWake(r *resident) {
	m := r.machine()
	if m == nil || m.Ended() {
		return
	}
	due := m.NextDue()
	if due != r.wake && (due <= e.horizon || m.State().Wake <= e.horizon) {
		e.addWake(due, r)
	}
}

// unload drops a resident from memory; what is durable of it is in the database
// and, if it is due soon, in the wake heap.
func (e *Engine) unload(r *resident) {
	if r.dropped {
		return
	}
	r.dropped = true
	e.forgetBirth(r)
	if e.residents[r.id] == r {
		delete(e.residents, r.id)
	}
	if r.idling != nil {
		e.idle.Remove(r.idling)
		r.idling = nil
	}
	for _, l := range r.granted {
		e.slots.release(e, l)
	}
	served := e.phase != stopped && e.partitions[r.partition.number] == r.partition
	if served { // else it may be loaded at this moment
		e.rememberWake(r)
	}
	if !r.busy {
		e.closeCode(r)
	}
	if served {
		for _, m := range r.mail {
			if _, granted := m.input.(core.Granted); !granted { // its slot went above
				e.deliverLocked(r.partition, r.id, m)
			}
		}
		if r.poked {
			again := e.resident(r.partition, r.id)
			again.poked = true
			e.rouse(again)
		}
	}
	turnAway(r.questions)
	r.mail, r.questions = nil, nil
}

// closeCode unwinds the code of a resident on which nobody works.
func (e *Engine) closeCode(r *resident) {
	if r.instance != nil {
		r.instance.Close()
		r.instance = nil
	}
}

// turn takes one step of a run, a gate or a schedule, and makes it durable. An error means
// that the resident is of no use any more.
func (e *Engine) turn(r *resident, todo []mail) error {
	switch {
	case isGate(r.id):
		return e.gateTurn(r, todo)
	case isSchedule(r.id):
		return e.scheduleTurn(r, todo)
	}
	loaded := r.run == nil
	if loaded {
		if err := e.load(r, todo); err != nil {
			return err
		}
	}
	todo, err := e.inboxFirst(r, todo, loaded)
	if err != nil {
		return err
	}
	todo, aside := e.withAside(r, todo)
	inputs := e.inputs(r, todo)
	if loaded {
		inputs = append([]core.Input{e.takenOver(r, todo)}, inputs...)
	}
	out, err := e.stepOrPark(r, inputs, todo)
	if err != nil {
		return err
	}
	taken, later := putAside(out, todo)
	e.warnOfLength(r, len(out.Events))
	if !out.Empty() || len(sequences(taken)) > 0 || r.create != nil {
		if err := e.commitTurn(r, out, todo, taken); err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if aside {
				delete(r.partition.aside, r.id) // they are part of what was to be done
			}
			e.undo(r, out)
			e.expected(out)
			return err
		}
	}
	e.leaveAside(r, out, aside, later)
	e.carryOut(r, out)
	return nil
}

// inputs opens mail. A grant that was withdrawn meanwhile is thrown away, also of the
// mail.
func (e *Engine) inputs(r *resident, todo []mail) (inputs []core.Input) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, m := range todo {
		if g, ok := m.input.(core.Granted); ok {
			if _, still := r.granted[g.Call]; !still {
				todo[i].input = nil
				continue
			}
		}
		if m.input != nil {
			inputs = append(inputs, m.input)
		}
	}
	return inputs
}

// commitTurn makes a turn durable, and consumes what it took of what was to be done.
func (e *Engine) commitTurn(r *resident, out *core.Turn, todo, taken []mail) error {
	t, err := e.storeTurn(r, out)
	if err != nil {
		e.parkCulprit(r, err)
		return err
	}
	t.Consumed = sequences(taken)
	t.Hook = e.hook(out, todo)
	e.expect(r, out)
	if err = e.createFirst(r, out); err == nil {
		err = e.committer.commit(t)
	}
	conflict, failed := (*store.ConflictError)(nil), (*store.HookError)(nil)
	switch {
	case err == nil:
		e.settled(r, t.Consumed)
		e.sent(&t)
		return nil
	case errors.As(err, &failed):
		e.transactionFailed(r, todo, failed.Err)
	case errors.As(err, &conflict):
		e.stillborn(r, todo, &conflict.Existing)
	case errors.Is(err, store.ErrFenced):
		e.lose(r.partition)
	case errors.Is(err, store.ErrStale):
		e.log.Error("perdure: a turn was refused because another one took its place; the run is loaded anew", "run", r.id, "turn", out.Number)
		e.putBack(r, todo)
	case e.ctx.Err() != nil:
	default:
		e.parkCulprit(r, err)
	}
	return err
}

// putBack returns mail whose turn was refused; the run will be loaded anew.
func (e *Engine) putBack(r *resident, todo []mail) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.mail = append(todo, r.mail...)
	r.poked = true
}

// settled notes that a turn is durable: the run's row exists, its messages are
// consumed.
func (e *Engine) settled(r *resident, consumed []int64) {
	if r.create == nil && len(consumed) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.create != nil {
		e.born(r)
		e.tellStarted(r, nil)
	}
	for _, s := range consumed {
		r.partition.pending[s] = true
	}
}

// tellStarted answers those who wait for the run's row. The engine's mu is held.
func (e *Engine) tellStarted(r *resident, err error) {
	for _, ch := range r.started {
		ch <- err
	}
	r.started = nil
}

// undo gives back what a turn that is not durable had reserved. Slots that were
// granted are given back when the resident is unloaded. The engine's mu is held.
func (e *Engine) undo(r *resident, out *core.Turn) {
	for _, d := range out.Dispatch {
		if _, granted := r.granted[d.Call]; !granted {
			e.slots.release(e, laneOf(d.Probation))
		}
	}
}

// carryOut does what a durable turn asks for.
func (e *Engine) carryOut(r *resident, out *core.Turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expected(out)
	if r.dropped { // another node took the run over and does it
		e.undo(r, out)
		return
	}
	for _, i := range out.Interrupt {
		if x := e.executions[attemptKey{r.id, i.Call, i.Attempt}]; x != nil {
			x.cancel(errUnwanted)
		}
	}
	for _, call := range out.Unused {
		if l, ok := r.granted[call]; ok {
			delete(r.granted, call)
			e.slots.release(e, l)
		}
	}
	for _, d := range out.Dispatch {
		l, granted := r.granted[d.Call]
		if !granted {
			l = laneOf(d.Probation)
		}
		delete(r.granted, d.Call)
		e.begin(r, d, l)
	}
	for _, ref := range out.OffProbation {
		e.leaveProbation(e.executions[attemptKey{r.id, ref.Call, ref.Attempt}])
	}
	e.tellWaiting(r, out.Waiting)
	if out.Dropped > 0 {
		e.log.Debug("perdure: late or repeated inputs were dropped", "run", r.id, "count", out.Dropped)
	}
	for _, reply := range out.Replies {
		e.ring(answerPrefix + reply.Asker)
	}
	if out.Answered || out.Ended {
		e.ring(r.id)
	}
	if out.Ended {
		e.tellEndedLocked(r.id, *out.State)
		if out.Next != nil {
			e.handOn(r, out.Next)
		}
		e.unload(r)
	}
}

// storeTurn is a core turn in the store's words.
func (e *Engine) storeTurn(r *resident, out *core.Turn) (t store.Turn, err error) {
	p := r.partition
	t = store.Turn{Partition: p.number, Epoch: p.epoch, Run: r.id, Number: out.Number, Time: out.Time, Closed: out.Closed}
	if out.Number > 0 {
		events, err := history.EncodeTurn(out.Events)
		if err != nil {
			return t, err
		}
		t.Events, t.CommitID = events, newCommitID()
	}
	r.run.Recycle(out)
	if out.State != nil {
		s := storeState(*out.State)
		t.State = &s
	}
	switch {
	case out.Next != nil:
		if t.Create, err = nextRun(p, out.Next); err != nil {
			return t, err
		}
	case r.create != nil:
		c := *r.create
		if t.State != nil {
			c.RunState, t.State = *t.State, nil
		}
		t.Create = &c
	}
	t.Calls = storeRows(r, out.Rows)
	for _, a := range out.Attempts {
		t.Attempts = append(t.Attempts, store.Attempt{
			Partition: p.number, Run: r.id, Call: a.Call, Number: a.Attempt, Name: a.Name, Outcome: string(a.Outcome),
			ErrorType: a.ErrorType, Reason: a.Reason, Started: a.Started, Ended: a.Ended, Data: a.Data, Prune: a.Prune,
		})
	}
	for _, c := range out.Tallies {
		t.Tallies = append(t.Tallies, store.Tally{
			Bucket: out.Time - out.Time%int64(TallySpan), Type: r.run.Start().Type, Name: c.Name,
			FirstTry: int64(c.FirstTry), Recovered: int64(c.Recovered), Exhausted: int64(c.Exhausted), Failed: int64(c.Failed),
			Canceled: int64(c.Canceled), ByHand: int64(c.ByHand), Attempts: int64(c.Attempts), Retrying: int64(c.Retrying),
		})
	}
	if out.Next == nil { // else createFirst says so
		if t.Messages, err = e.announcement(r); err != nil {
			return t, err
		}
	}
	for i := range out.Messages {
		msg, err := e.outgoing(&out.Messages[i])
		if err != nil {
			return t, err
		}
		t.Messages = append(t.Messages, msg)
	}
	for i := range out.Gates {
		t.Messages = append(t.Messages, e.toGate(&out.Gates[i]))
	}
	t.Repeatable = len(t.Messages) == len(out.Gates)
	answers, err := replies(p, out) // which may arrive twice as well
	t.Messages = append(t.Messages, answers...)
	return t, err
}

func storeRows(r *resident, rows []core.Row) (calls []store.Call) {
	for _, row := range rows {
		calls = append(calls, store.Call{
			Partition: r.partition.number, Run: r.id, Number: row.Call, State: store.CallState(row.State), Name: row.Name,
			Queue: row.Queue, Attempt: row.Attempt, Due: row.Due, Data: row.Data,
		})
	}
	return calls
}

func storeState(s core.State) store.RunState {
	return store.RunState{Status: store.Status(s.Status), Wake: s.Wake, Closed: s.Closed, Detail: s.Detail}
}
