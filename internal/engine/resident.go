package engine

import (
	"container/list"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
)

// resident is a run, a gate or a schedule in memory. Its first group of fields belongs to the
// goroutine that works on it, the second is guarded by the engine's mu. While there is such a
// goroutine, only it changes entry and first; but letBegin sets first of a run whose row is being
// written, and the goroutine then reads it with mu held.
type resident struct {
	location *location
	id       string

	stepper stepper       // a run, a gate or a schedule
	create  *store.Run    // its row, while that is not in the database
	pending *pendingStart // of a child, until its row is durable
	seats   *dispatch.Seats
	wake    int64  // the next due time known to the wake heap
	work    func() // works on it; allocated once

	mail       []post.Mail
	questions  []question
	poked      bool           // it wants a step without mail
	review     bool           // if it is held when it comes to rest, it is loaded again
	busy       bool           // a goroutine works on it
	dropped    bool           // evicted
	gone       bool           // its run has ended or does not exist, according to the database
	recovering bool           // it was in flight when its location was taken, and has taken no step yet
	entry      entry          // how far a run that has not begun has come
	elsewhere  bool           // it is to begin at another node, to which its row goes
	first      bool           // it has taken no step yet and may still be in line
	stepping   bool           // a step is being taken or committed; what arrives waits for the next
	idling     *list.Element  // position among the idle residents
	queued     bool           // it rests while its calls wait for slots
	started    []chan<- error // get the result when the run's row is durable or refused
}

// ahead is how long before the end of a backoff its attempt is committed. A commit takes a few
// milliseconds, one of many turns takes longer.
const ahead = 20 * time.Millisecond

// early is the same for an attempt that needs no slot before it begins. It is long enough for
// a thousand attempts that are due at the same time.
const early = 200 * time.Millisecond

// near is how close a run's next wake must be for the run to stay in memory.
const near = 5 * time.Second

// tryAgain loads a held run again if this node still serves its location.
func (l *locations) tryAgain(location int, run string) {
	l.engine.mu.Lock()
	defer l.engine.mu.Unlock()
	p := l.At(location)
	if p == nil {
		return
	}
	r := p.resident(run)
	r.poked = true
	if r.busy {
		r.review = true // see rest
		return
	}
	if r.held() {
		r.evict() // it is loaded again because it is poked
		return
	}
	r.activate()
}

// atRest reports whether the resident is loaded and no goroutine works on it. Then its next
// due time is known. The engine's mu is held.
func (r *resident) atRest() bool { return !r.busy && r.machine() != nil }

// held reports whether r is a run that is held. No goroutine works on it.
func (r *resident) held() bool {
	x, is := r.stepper.(*activeRun)
	return is && x.run != nil && x.hold != nil
}

// deliver puts mail into a run's mailbox.
func (p *location) deliver(run string, m post.Mail) {
	e := p.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	p.deliverLocked(run, m)
}

func (p *location) deliverLocked(run string, m post.Mail) {
	e := p.engine
	if p.Lost() {
		return // another node owns it and will find what is durable
	}
	r := p.resident(p.receiver(run, m))
	p.box.PassOn(r.location.box, m.Sequence)
	m.Stamp(e.clock.Now)
	if claim, first := m.Input.(core.Claimed); first {
		m.At = 0 // see post.Sort
		r.mail = slices.Insert(r.mail, 0, m)
		if r.postponed(claim) {
			return
		}
	} else {
		r.mail = append(r.mail, m)
	}
	r.activate()
}

// resident returns the resident with the ID of run, which it creates if there is none.
func (p *location) resident(run string) *resident {
	e := p.engine
	r := e.residents.all[run]
	if r == nil {
		r = p.newResident(run)
		e.residents.all[run] = r
	}
	return r
}

// newResident returns a resident that is not loaded. The ID tells the kind.
func (p *location) newResident(id string) *resident {
	r := &resident{location: p, id: id}
	if kind := entity.KindOf(id); kind == entity.Gate || kind == entity.Schedule {
		r.stepper = &standing{resident: r, engine: p.engine, kind: kind}
		return r
	}
	r.seats = p.engine.dispatcher.slots.SeatsOf(id, p.Tenure())
	r.stepper = &activeRun{resident: r, engine: p.engine}
	return r
}

// machine returns nil if the resident is not loaded.
func (r *resident) machine() machine { return r.stepper.machine() }

// activate starts a goroutine that works on r, unless there is one.
func (r *resident) activate() {
	e := r.location.engine
	if r.idling != nil {
		e.residents.idle.Remove(r.idling)
		r.idling = nil
	}
	r.leaveQueued()
	if r.busy || e.life.phase == stopped {
		return
	}
	r.busy = true
	r.location.active++
	e.residents.busy++
	if r.work == nil {
		r.work = func() { r.advance() }
	}
	e.steps.Run(r.work)
}

// advance works on a resident until it has nothing left to do.
func (r *resident) advance() {
	e := r.location.engine
	t := e.pools.newTurn()
	e.mu.Lock()
	for r.fill(t) {
		e.mu.Unlock()
		err := r.take(t)
		e.mu.Lock()
		if err == nil && t.stepped {
			err = r.stepper.apply(t)
		}
		if asked := err == nil && len(t.questions) > 0; asked || t.trial != nil {
			e.mu.Unlock()
			t.trial.Finished()
			if asked {
				err, t.questions = r.stepper.answer(t.questions), nil
			}
			e.mu.Lock()
		}
		turnAway(t.questions)
		if err != nil {
			r.tellStarted(err)
			r.evict()
		}
		e.pools.clearTurn(t)
	}
	r.rest()
	e.mu.Unlock()
	e.pools.turns.Put(t)
}

// takeMail takes the mail for one turn out of the mailbox. The engine's mu is held.
func (r *resident) takeMail() (todo []post.Mail) {
	post.Sort(r.mail)
	n := post.OneTurn(r.mail)
	todo = r.mail[:n:n]
	if r.mail = r.mail[n:]; len(r.mail) == 0 {
		r.mail = nil
	}
	return todo
}

// rest ends the work on a resident. It stays in memory, last among the idle, or is evicted.
func (r *resident) rest() {
	e := r.location.engine
	r.busy = false
	r.location.active--
	e.residents.busy--
	e.inbox.roomier()
	e.residents.quiet.Broadcast()
	if r.recovering {
		r.recovering = false
		e.recovery.done()
	}
	e.recovery.next()
	e.letBack()
	e.dispatcher.beginNext()
	if r.dropped {
		r.stepper.close()
		r.tellStarted(store.ErrFenced) // its location was lost before its first turn
		return
	}
	m := r.machine()
	if m == nil || e.life.phase == stopped {
		return
	}
	if r.review && r.held() {
		r.poked = true
		r.evict()
		return
	}
	r.review = false
	due := m.NextDue()
	far := due != core.Never && due-e.clock.Now() > int64(near)
	if m.Idle() && (far && !m.AwaitsMessage() || e.config.MaxResident == 0) {
		r.evict()
		return
	}
	if due != r.wake {
		r.wake = due
		e.dispatcher.addWake(due, r.location, r.id)
	}
	if !m.Idle() {
		r.keepQueued()
		return // attempts run or are queued here
	}
	r.idling = e.residents.idle.PushBack(r)
	for e.residents.idle.Len() > e.config.MaxResident {
		e.residents.idle.Front().Value.(*resident).evict()
	}
}

// keepQueued keeps a run in memory whose only work is calls that wait for slots. If there are
// too many such runs, the run is evicted: its calls keep their places, and a granted slot
// loads it again. The engine's mu is held.
func (r *resident) keepQueued() {
	e := r.location.engine
	x, is := r.stepper.(*activeRun)
	switch {
	case !is || !x.run.AwaitsSlots() || !r.seats.Waits():
	case e.residents.queued >= e.config.MaxResident:
		r.evict()
	default:
		r.queued = true
		e.residents.queued++
	}
}

// leaveQueued records that a run which keepQueued has kept is active again. The engine's mu is held.
func (r *resident) leaveQueued() {
	if r.queued {
		r.queued = false
		r.location.engine.residents.queued--
	}
}

// rememberWake puts the due time of a resident that is being evicted into the wake heap if
// the scan will not find it: its row may hold an older time that the scan has passed.
func (r *resident) rememberWake() {
	e := r.location.engine
	m := r.machine()
	if m == nil || m.Ended() {
		return
	}
	due := m.NextDue()
	if horizon := e.dispatcher.due.Horizon(); due != r.wake && (due <= horizon || m.State().Wake <= horizon) {
		e.dispatcher.addWake(due, r.location, r.id)
	}
}

// evict removes a resident. Its durable state is in the database, and its due time, if it is
// near, in the wake heap. Its mail is delivered again.
func (r *resident) evict() {
	e := r.location.engine
	if r.dropped {
		return
	}
	r.dropped = true
	r.startDecided()
	if e.residents.all[r.id] == r {
		delete(e.residents.all, r.id)
	}
	if r.idling != nil {
		e.residents.idle.Remove(r.idling)
		r.idling = nil
	}
	r.leaveQueued()
	e.dispatcher.grantLocked(r.seats.Close())
	served := e.life.phase != stopped && !r.location.Lost()
	if served { // else the new owner may be loading it
		r.rememberWake()
		if m := r.machine(); m == nil || m.Ended() { // it ended, moved or is parked; a run that is only evicted still waits
			e.dispatcher.unserved.Set(r.location.Tenure(), r.id, nil)
		}
	}
	if !r.busy {
		r.stepper.close()
		r.tellStarted(store.ErrFenced) // it was held, and its location was lost
	}
	if served && r.pending != nil {
		r.deferStart()
	}
	if served {
		for _, m := range r.mail {
			if _, granted := m.Input.(core.Granted); !granted { // its slot was freed above
				r.location.deliverLocked(r.id, m)
			}
		}
		if r.poked {
			again := r.location.resident(r.id)
			again.poked = true
			again.activate()
		}
	} else {
		e.inbox.office.ForgetAt(r.location.Partition, post.Sequences(r.mail))
	}
	turnAway(r.questions)
	r.mail, r.questions = nil, nil
}

// question is a query of a run that this node owns.
type question struct {
	name   string
	input  history.Payload
	answer chan<- answer // capacity 1
}

type answer struct {
	value history.Payload
	err   error
}

// turnAway makes the callers look for the run again.
func turnAway(questions []question) {
	for _, q := range questions {
		q.answer <- answer{err: request.ErrMoved}
	}
}
