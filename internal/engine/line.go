package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/report"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// A run that a caller starts waits in memory for a slot before its row is written. If a slot
// comes in time, its row and its first turn are one write. A caller that wants the result can
// wait longer (heldForEnd) than one that only wants to know that the run exists.
const (
	heldBriefly = 2 * time.Millisecond
	heldForEnd  = 250 * time.Millisecond
)

// entry is how far a run that has not begun has come.
type entry int

const (
	entered entry = iota // nothing holds it back
	held                 // in line, in memory only
	written              // its row is to be written, without a turn
)

// canWait reports whether a run may stand in line. One that has to ask first whether others of its
// key let it begin does that without a slot.
func (e *Engine) canWait(start *history.Start) bool {
	return core.CanWait(start) && (e.config.PerKey == 0 || !core.Counts(start))
}

// hold starts a new run of this process if there is a slot, else puts it in line. Of a run that
// begins at another node only the row is written. The engine's mu is held.
func (e *Engine) hold(r *activeRun, start *history.Start) (begins bool) {
	if r.elsewhere {
		r.entry = written
		return true
	}
	if !e.canWait(start) || r.seats.Take() {
		r.begins(start)
		return true
	}
	r.entry, r.origin = held, start
	if e.dispatcher.line.Full() {
		r.writeDown()
		return false
	}
	e.dispatcher.line.Stand(r.location.toBegin(r.create))
	return false
}

// writeDown orders the row of a held run to be written. The engine's mu is held.
func (r *activeRun) writeDown() {
	if r.entry == held && !r.dropped {
		r.entry, r.poked = written, true
		r.activate()
	}
}

// letBegin starts a run in line, which has the slot in its seats unless that is nil. The
// engine's mu is held.
func (p *location) letBegin(run string, slot *dispatch.Slot) []dispatch.Grant {
	e := p.engine
	r := e.residents.all[run]
	if r == nil {
		r = p.resident(run)
		r.first = true
	} else {
		x, is := r.stepper.(*activeRun)
		switch {
		case is && x.entry == held:
			x.begins(x.origin)
		case is && x.entry == written: // it begins once its row is written
			r.first = true
		default:
			return r.seats.Return(slot) // it has begun already
		}
	}
	r.poked = true
	if e.residents.busy < e.config.MaxAtWork {
		r.activate()
	} else {
		e.dispatcher.beginLater = append(e.dispatcher.beginLater, r)
	}
	e.dispatcher.line.Began()
	return nil
}

// beginNext starts as many of the next runs as MaxAtWork allows. A message may already have
// started one of them. The engine's mu is held.
func (d *dispatcher) beginNext() {
	for len(d.beginLater) > 0 && d.engine.residents.busy < d.engine.config.MaxAtWork {
		r := d.beginLater[0]
		d.beginLater[0] = nil
		if d.beginLater = d.beginLater[1:]; len(d.beginLater) == 0 {
			d.beginLater = nil
		}
		if r.poked && !r.dropped {
			r.activate()
		}
	}
}

// begins creates the machine of a new run of this process, for its first turn. The engine's mu
// is held.
func (r *activeRun) begins(start *history.Start) {
	e := r.engine
	r.entry, r.origin = entered, nil
	r.first = true
	r.run = core.New(r.coreConfig(start), *start)
	def := e.registry.Workflow(start.Type)
	if r.hold = e.holds.Crashing(def, suspects.Run{}, r.workflowID); r.hold != nil {
		r.run.Hold(r.hold.Status, r.hold.Detail)
		e.log.RunHeld(report.Of(start), string(r.hold.Status), r.hold.Detail.Reason, "")
		return
	}
	r.instance = e.registry.Begin(def, r.run)
}

// getInLine writes the row of a run that does not begin yet, so that its caller returns. If a
// message has come for the run meanwhile, the run begins. A run that begins at another node
// stands in no line here: it is loaded, and moves.
func (r *activeRun) getInLine(todo []post.Mail) error {
	e := r.engine
	err := r.writeRow(todo)
	e.mu.Lock()
	defer e.mu.Unlock()
	r.origin = nil
	if err != nil {
		r.entry = entered
		e.dispatcher.slots.Leave(r.id)
		return err
	}
	r.mail = append(slices.DeleteFunc(todo, func(m post.Mail) bool { return m.Input == nil }), r.mail...)
	if r.elsewhere || r.first || r.poked || len(r.mail) > 0 || len(r.questions) > 0 || r.seats.Kept() {
		r.entry, r.poked, r.first = entered, true, true
		return nil
	}
	return errInLine
}

// errInLine reports that a run is in line and is evicted. If it is to begin before the
// eviction, its entry is written, and it is loaded again.
var errInLine = errors.New("the run is in line")

// writeRow writes the row of a run that does not begin yet.
func (r *activeRun) writeRow(todo []post.Mail) error {
	e := r.engine
	p, row := r.location, *r.create
	if !r.elsewhere {
		row.Wake = row.WakeInLine()
	}
	messages, err := r.announcement()
	if err != nil {
		return err
	}
	t := r.change()
	if t.Create, t.Messages = &row, messages; r.pending != nil {
		t.Consumed = []int64{r.pending.sequence}
	}
	if err = r.commit(t); err == nil {
		if !r.elsewhere {
			p.join(&row)
		}
		return nil
	}
	conflict := (*store.ConflictError)(nil)
	switch {
	case errors.As(err, &conflict):
		r.startConflict(todo, &conflict.Existing)
	case errors.Is(err, store.ErrFenced):
	case e.life.ctx.Err() == nil:
		r.parkCulprit(err)
	}
	return err
}

// atWork returns how many turns are in progress.
func (e *Engine) atWork() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.residents.busy
}

// addInLine makes the first runs of the line, which were read, wait for slots.
func (d *dispatcher) addInLine(asked []dispatch.Tenure, read dispatch.LineRead, first []store.Wake, byKey []store.LineRun, share int) {
	e := d.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	found := func(r store.LineRun, wake int64) dispatch.Found {
		f := dispatch.Found{LineRun: r, Wake: wake}
		p := e.locations.At(r.Partition)
		if f.Gone = p == nil || p.Closed() || !slices.Contains(asked, p.Tenure()) || e.residents.all[r.Run] != nil; !f.Gone {
			f.Tenure = p.Tenure()
		}
		return f
	}
	var runs, keyed []dispatch.Found
	for _, w := range first {
		runs = append(runs, found(store.LineRun{Partition: w.Partition, Run: w.Run, Priority: store.PriorityInLine(w.Time)}, w.Time))
	}
	for _, r := range byKey {
		keyed = append(keyed, found(r, 0))
	}
	d.grantLocked(d.line.EndRead(read, runs, keyed, share))
}

// moveLine starts the first runs of a line that has stood still for too long, and returns when
// to look again.
func (d *dispatcher) moveLine(now time.Time) time.Duration {
	e := d.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.life.phase != running {
		return e.config.InboxEvery
	}
	begin, again := d.line.Move(now)
	for _, w := range begin {
		if p := e.locations.Under(w.Tenure); p != nil {
			p.letBegin(w.Run, nil)
		} else {
			d.slots.Stay(w.Run)
		}
	}
	return again
}
