package engine

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// A started run begins when there is a slot for what its code calls first. Until then it is in
// line: it is a row whose wake time is its place (store.InLine). The first runs of the line
// wait for slots in memory, as calls do and in the order of calls, and get a slot that their
// first turn uses. The others exist in the database alone. So started runs cost no memory, and
// a run begins with a turn that starts its first attempt.
//
// Only slots hold a run back. A message for a run in line starts it immediately. When no run
// has begun for lineRest, because the slots are taken for long, the first runs of the line
// begin without one. So a run that needs no slot, and a run that another waits for, is never
// stuck behind runs that need one. If slots really are taken for long, runs that begin this
// way wait for them too, in memory; therefore the more calls wait, the slower the line moves.

const (
	// lineAhead is how many runs in line wait for slots in memory. When half of them are left,
	// more are read.
	lineAhead = 1000
	// lineRest is how long the line may stand still before its first lineStep runs begin
	// without slots.
	lineRest = 100 * time.Millisecond
	lineStep = 32
	// Each lineSlower calls that wait for slots double that time, at most lineSlowest times: up
	// to 102 s.
	lineSlower  = 500
	lineSlowest = 10
)

// A run that a caller starts waits in memory for a slot before its row is written. If a slot
// comes in time, its row and its first turn are one write. A caller that wants the result can
// wait longer (heldForEnd) than one that only wants to know that the run exists.
const (
	heldBriefly = 2 * time.Millisecond
	heldForEnd  = 250 * time.Millisecond
)

// line describes the runs in line that are in the database alone. It is guarded by the
// engine's mu.
type line struct {
	more  bool  // the database has some
	until int64 // none of them has a wake time below this, except those that news announces
	left  int   // how many were left to the database so far
	news  bool  // others may have joined

	read   time.Time // when the line was last read
	barren bool      // that read found none

	next []*resident // runs that begin when fewer turns are in progress

	moved bool      // a run has begun since still
	still time.Time // when moveLine last saw the line move; zero if the line is empty
}

// entry is how far a run that has not begun has come.
type entry int

const (
	entered entry = iota // nothing holds it back
	held                 // in line, in memory only
	written              // its row is to be written, without a turn
)

// hold starts a new run of this process if there is a slot, else puts it in line. Of a run that
// begins at another node only the row is written. The engine's mu is held.
func (e *Engine) hold(r *activeRun, start *history.Start) (begins bool) {
	if r.elsewhere {
		r.entry = written
		return true
	}
	if !core.CanWait(start) || e.takeSlot(r.resident) {
		e.begins(r, start)
		return true
	}
	r.entry, r.origin = held, start
	if e.slots.InLine() >= lineAhead {
		e.writeDown(r)
		return false
	}
	e.standInLine(r.partition, r.id, r.create.Priority)
	return false
}

// takeSlot reserves a slot for the first call of a run. The engine's mu is held.
func (e *Engine) takeSlot(r *resident) bool {
	slot := e.slots.Take(attempt.Regular)
	if slot != nil {
		r.kept = append(r.kept, slot)
	}
	return slot != nil
}

// standInLine makes a run in line wait for a slot. The engine's mu is held.
func (e *Engine) standInLine(p *partition, run string, priority int) {
	e.slots.Wait(&attempt.Waiter{
		Call: attempt.Call{Run: run, Number: attempt.ToBegin}, Tenure: p.tenure(), Priority: priority,
	})
	kick(e.lineKick)
}

// writeDown orders the row of a held run to be written. The engine's mu is held.
func (e *Engine) writeDown(r *activeRun) {
	if r.entry == held && !r.dropped {
		r.entry, r.poked = written, true
		e.rouse(r.resident)
	}
}

// letBegin starts a run in line, with a slot if there is one. The engine's mu is held.
func (e *Engine) letBegin(p *partition, run string, slot *attempt.Slot) []attempt.Grant {
	r := e.residents[run]
	if r == nil {
		r = e.resident(p, run)
		r.first = true
	} else {
		x, is := r.stepper.(*activeRun)
		switch {
		case is && r.entry == held:
			e.begins(x, x.origin)
		case is && r.entry == written: // it begins once its row is written
		default:
			return slot.Free() // it has begun already
		}
	}
	if slot != nil {
		r.kept = append(r.kept, slot)
	}
	e.line.moved, r.poked = true, true
	if e.busy < e.config.MaxAtWork {
		e.rouse(r)
	} else {
		e.line.next = append(e.line.next, r)
	}
	if e.line.more && e.slots.InLine() == lineAhead/2 {
		kick(e.lineKick)
	}
	return nil
}

// beginNext starts as many of the next runs as MaxAtWork allows. A message may already have
// started one of them. The engine's mu is held.
func (e *Engine) beginNext() {
	l := &e.line
	for len(l.next) > 0 && e.busy < e.config.MaxAtWork {
		r := l.next[0]
		l.next[0] = nil
		if l.next = l.next[1:]; len(l.next) == 0 {
			l.next = nil
		}
		if r.poked && !r.dropped {
			e.rouse(r)
		}
	}
}

// leavesLine takes a run out of the line after its first step. If a call of the run waits for
// a slot, it has taken over the run's place. The engine's mu is held.
func (e *Engine) leavesLine(r *resident) {
	if r.first {
		r.first = false
		e.slots.Leave(r.id)
	}
}

// begins creates the machine of a new run of this process, for its first turn. The engine's mu
// is held.
func (e *Engine) begins(r *activeRun, start *history.Start) {
	r.entry, r.origin = entered, nil
	r.first = true
	r.run = core.New(e.coreConfig(r, start), *start)
	if of := e.crashesHere(store.SwitchWorkflow, start.Type); of.held != nil {
		r.hold = of.hold(start.WorkflowID, e.fingerprint(e.defs.workflows[start.Type], ""))
		r.run.Hold(r.hold.status, r.hold.detail)
		e.log.RunHeld(logged(*start), string(r.hold.status), r.hold.detail.Reason, "")
		return
	}
	r.instance = e.defs.workflows[start.Type].Begin(r.run)
	r.instance.LogTo(e.config.Logger)
	r.instance.Intercept(e.around)
	r.run.Bind(r.instance)
}

// getInLine writes the row of a run that does not begin yet, so that its caller returns. If a
// message has come for the run meanwhile, the run begins. A run that begins at another node
// stands in no line here: it is loaded, and moves.
func (e *Engine) getInLine(r *activeRun, todo []mail) error {
	err := e.writeRow(r, todo)
	e.mu.Lock()
	defer e.mu.Unlock()
	r.origin = nil
	if err != nil {
		r.entry = entered
		e.slots.Leave(r.id)
		return err
	}
	r.mail = append(slices.DeleteFunc(todo, func(m mail) bool { return m.input == nil }), r.mail...)
	if r.elsewhere || r.poked || len(r.mail) > 0 || len(r.questions) > 0 || len(r.kept) > 0 {
		r.entry, r.poked, r.first = entered, true, true
		return nil
	}
	return errInLine
}

// errInLine reports that a run is in line and is evicted. If it is to begin before the
// eviction, its entry is written, and it is loaded again.
var errInLine = errors.New("the run is in line")

// writeRow writes the row of a run that does not begin yet.
func (e *Engine) writeRow(r *activeRun, todo []mail) error {
	p, row := r.partition, *r.create
	if !r.elsewhere {
		row.Wake = store.InLine(row.Priority, row.Created)
	}
	messages, err := e.announcement(r.resident)
	if err != nil {
		return err
	}
	t := store.Turn{Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: r.id, Create: &row, Messages: messages}
	if r.pending != nil {
		t.Consumed = []int64{r.pending.sequence}
	}
	if err = e.committer.Commit(t); err == nil {
		e.settled(r.resident, &t)
		e.sent(&t)
		if !r.elsewhere {
			e.join(p, &row)
		}
		return nil
	}
	conflict := (*store.ConflictError)(nil)
	switch {
	case errors.As(err, &conflict):
		e.startConflict(r.resident, todo, &conflict.Existing)
	case errors.Is(err, store.ErrFenced):
		e.lose(p)
	case e.ctx.Err() == nil:
		e.parkCulprit(r, err)
	}
	return err
}

// join makes a run whose row is in line wait for a slot in memory, unless runs that exist in
// the database alone precede it.
func (e *Engine) join(p *partition, row *store.Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.partitions[p.number] != p || p.leaving {
		return // the next owner finds its row
	}
	n := e.slots.InLine()
	if before := e.line.more && row.Wake >= e.line.until; before || n >= lineAhead && (!e.line.more || n >= 2*lineAhead) {
		e.line.leave(row.Wake)
		kick(e.lineKick)
		return
	}
	e.standInLine(p, row.ID, row.Priority)
	e.grant(e.slots.Serve())
}

// leave leaves a run in line to the database.
func (l *line) leave(wake int64) {
	if !l.more {
		l.more, l.until = true, wake
	}
	l.until = min(l.until, wake)
	l.left++
}

// newsOfLine records that other processes may have put runs in line. The engine's mu is held.
func (e *Engine) newsOfLine() {
	e.line.news = true
	kick(e.lineKick)
}

// lineLoop reads the next runs in line and keeps the line moving.
func (e *Engine) lineLoop() {
	timer := time.NewTimer(e.config.InboxEvery)
	defer timer.Stop()
	for {
		if e.lineDue(time.Now()) && e.readLine() != nil {
			return
		}
		timer.Reset(e.moveLine(time.Now()))
		select {
		case <-e.lineKick:
		case <-timer.C:
		case <-e.ctx.Done():
			return
		}
	}
}

// lineDue reports whether to read the line now: immediately if few of the runs that were read
// are left and the last read found some, lineRest after the last read if there is news, and
// periodically in case news was lost.
func (e *Engine) lineDue(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, since := &e.line, now.Sub(e.line.read)
	switch {
	case since >= e.config.InboxEvery: // news may be lost
		return true
	case (l.more || l.news) && e.slots.InLine() <= lineAhead/2:
		return !l.barren || since >= lineRest
	}
	return l.news && since >= lineRest
}

// readLine reads the first runs of the line, which then wait for slots.
func (e *Engine) readLine() error {
	e.mu.Lock()
	open := e.open()
	e.line.news = false
	left, limit := e.line.left, lineAhead+e.slots.InLine()+e.busy
	e.mu.Unlock()
	var first []store.Wake
	if len(open) > 0 {
		err := e.persist("reading who is to begin", func() (err error) {
			first, err = e.db.Due(e.ctx, numbers(open), math.MinInt64, store.LastInLine, limit)
			return err
		})
		if err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.slots.InLine()
	e.line.more, e.line.until = len(first) >= limit, math.MaxInt64
	for _, w := range first {
		if e.slots.InLine() >= 2*lineAhead {
			e.line.more, e.line.until = true, w.Time
			break
		}
		if p := e.partitions[w.Partition]; p != nil && slices.Contains(open, p) && !p.leaving && e.residents[w.Run] == nil {
			e.standInLine(p, w.Run, store.PriorityInLine(w.Time))
		}
		e.line.until = w.Time
	}
	if !e.line.more {
		e.line.until = math.MaxInt64
	}
	e.line.news = e.line.news || e.line.left != left // the read may have been too early for it
	e.line.read, e.line.barren = time.Now(), e.slots.InLine() == before
	e.grant(e.slots.Serve())
	return nil
}

// moveLine starts the first runs of a line that has stood still for too long, and returns when
// to look again.
func (e *Engine) moveLine(now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := &e.line
	if e.phase != running || e.slots.InLine() == 0 {
		l.still = time.Time{}
		if l.more || l.news {
			return lineRest
		}
		return e.config.InboxEvery
	}
	if l.moved || l.still.IsZero() {
		l.still, l.moved = now, false
	}
	calls := e.slots.Usage().Waiting - e.slots.InLine()
	rest := lineRest << min(calls/lineSlower, lineSlowest)
	if now.Sub(l.still) >= rest {
		l.still = now
		for _, w := range e.slots.PassBy(lineStep) {
			if p := e.partitions[w.Partition]; p != nil && p.epoch == w.Epoch {
				e.letBegin(p, w.Run, nil)
			} else {
				e.slots.Stay(w.Run)
			}
		}
		l.moved = false
	}
	return min(lineRest, rest-now.Sub(l.still)) // by then fewer calls may wait
}
