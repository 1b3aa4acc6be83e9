package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/trial"
	"github.com/perdure/perdure/store"
)

// suspicion is what one place of this node knows of runs whose code may have crashed
// processes. A ward keeps its own book. When the node of a ward dies, all runs of the ward
// return home and the home adopts the book. When the home moves a suspect to another node, the
// evidence goes with it, in its row. So the run is found although no node loads it twice, and
// no run is charged that was not tried. suspicion is guarded by the engine's mu.
type suspicion struct {
	trials  *trials // nil if no run is suspected or that is not known
	judged  int     // one more than comings when that was found out; 0: not yet
	brought map[string]core.Suspicion
	read    map[int64]bool // epochs of dissolved wards whose books were looked for; guarded by judging

	judging chan struct{} // held by one goroutine at a time, for as long as an outage; taken before the engine's mu
}

// errUntried reports that a suspect was loaded but its code is not on trial yet.
var errUntried = errors.New("the code of the run is to be tried")

// bookOf returns where the book of a place is stored.
func (e *Engine) bookOf(p *partition) entity.Standing {
	if p.ward == 0 {
		return entity.Trials(e.group, p.home, 0)
	}
	return entity.Trials(e.group, p.home, p.epoch)
}

// trialsOf returns the trials of a place, nil if nothing is suspected. The first caller, and
// the first after runs have arrived from another place, finds that out. If brought is set, a
// run came with evidence, so there are trials.
func (e *Engine) trialsOf(p *partition, brought bool) (*trials, error) {
	p.judging <- struct{}{}
	defer func() { <-p.judging }()
	e.mu.Lock()
	t, is := p.knownTrials(brought)
	e.mu.Unlock()
	if is { // another run was faster
		return t, nil
	}
	if err := e.learnLineage(p); err != nil {
		return nil, err
	}
	e.mu.Lock()
	comings := p.learned
	e.mu.Unlock()
	if err := e.judge(p, brought); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.judged = comings + 1
	return p.trials, nil
}

// knownTrials returns the result of the last trialsOf, and false if it is outdated. The
// engine's mu is held.
func (p *partition) knownTrials(brought bool) (*trials, bool) {
	t := p.trials
	return t, p.judged == p.comings+1 && p.coming == 0 && (!brought || t != nil && !t.over)
}

// judge starts trials if there is a reason, and makes them adopt the books of wards.
func (e *Engine) judge(p *partition, brought bool) error {
	lineage := e.lineageOf(p)
	died := func(epoch int64) bool { return epoch != p.epoch && trial.Died(lineage.owners, epoch) }
	left, err := e.booksOfWards(p, lineage.owners)
	if err != nil {
		return err
	}
	e.mu.Lock()
	t, first := p.trials, p.judged == 0
	e.mu.Unlock()
	var accused []trial.Accusation
	if t == nil || t.over {
		own, suspected, err := e.suspect(p, lineage.owners, first, brought || len(left) > 0)
		if err != nil || !suspected {
			return err
		}
		book, err := trial.Open(p.epoch, p.node, own, died)
		if err != nil {
			e.log.TrialFailed(p.home, err)
		}
		accused = book.Accused()
		t = &trials{engine: e, partition: p, kicked: clock.NewBell(), book: book, exists: own != nil, begun: time.Now()}
		t.ctx, t.cancel = context.WithCancel(e.ctx)
	}
	for _, rec := range left {
		book, err := trial.Open(p.epoch, p.node, rec.Run.Detail, died)
		if err == nil {
			accused = append(accused, book.Accused()...)
		}
	}
	e.accuseRuns(accused) // before any of them is tried again
	e.mu.Lock()
	defer e.mu.Unlock()
	t.book.Blame(e.blamedWorkflows())
	for _, rec := range left {
		if err := t.book.Adopt(rec.Run.Detail, died); err != nil {
			e.log.TrialFailed(p.home, err)
		}
		t.adopted = append(t.adopted, rec.Run.ID)
	}
	if p.trials == t {
		t.kicked.Ring()
		return nil
	}
	if e.partitions[p.number] != p || e.phase == stopped {
		t.cancel()
		return store.ErrFenced
	}
	p.trials = t
	e.log.CodeTried(p.home, t.book.Suspects())
	e.work.Go(t.run)
	return nil
}

// suspect reads the book that the previous owner left, nil if there is none, and reports
// whether code is suspected: for a known reason, or because of how owners ended.
func (e *Engine) suspect(p *partition, owners []store.Ownership, first, known bool) (left []byte, is bool, err error) {
	known = known || e.db.Info().Wards && trial.SuspectedAmong(owners, e.clock.Now())
	died := first && trial.DiedBefore(owners, p.epoch)
	if p.ward != 0 || !known && !died {
		return nil, known, nil
	}
	rec, err := e.readBook(p, e.bookOf(p).Run)
	if rec == nil {
		return nil, known || trial.Suspected(owners, p.epoch), err
	}
	return rec.Run.Detail, true, nil
}

// booksOfWards reads the books of dissolved wards, each once.
func (e *Engine) booksOfWards(p *partition, owners []store.Ownership) (left []*store.Record, err error) {
	if p.ward != 0 {
		return nil, nil
	}
	for _, o := range owners {
		if store.WardOf(o.Epoch) == 0 || !o.Over || p.read[o.Epoch] {
			continue
		}
		rec, err := e.readBook(p, entity.Trials(e.group, p.home, o.Epoch).Run)
		if err != nil {
			return nil, err
		}
		if rec != nil && rec.Run.Ward != 0 {
			continue // not dissolved yet
		}
		if p.read == nil {
			p.read = map[int64]bool{}
		}
		if p.read[o.Epoch] = true; rec != nil {
			left = append(left, rec)
		}
	}
	return left, nil
}

// readBook returns nil if there is no such book.
func (e *Engine) readBook(p *partition, run string) (rec *store.Record, err error) {
	err = e.insist("reading which runs are suspected", func() (err error) {
		rec, err = e.db.Load(e.ctx, p.home, run)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// bringsSuspicion reports whether a run came from another node with evidence against it and is
// not on trial here. It is then loaded again, on trial.
func (e *Engine) bringsSuspicion(r *activeRun, past *core.Past, todo []mail) bool {
	if !bytes.Contains(past.State.Detail, []byte(`"suspect"`)) {
		return false
	}
	d, err := core.DecodeDetail(past.State.Detail)
	if err != nil || d.Suspect == nil {
		return false
	}
	p := r.partition
	e.mu.Lock()
	defer e.mu.Unlock()
	_, seen := p.brought[r.id]
	if t := p.trials; seen || t != nil && !t.over && t.book.Suspected(r.id) {
		delete(p.brought, r.id)
		return false
	}
	if p.brought == nil {
		p.brought = map[string]core.Suspicion{}
	}
	p.brought[r.id] = *d.Suspect
	r.mail, r.poked = append(todo, r.mail...), true
	return true
}

// suspicion returns the evidence that a run brought along and that is not in the book yet. The
// engine's mu is held.
func (r *activeRun) suspicion() *core.Suspicion {
	s, is := r.partition.brought[r.id]
	if !is {
		return nil
	}
	brought := s
	return &brought
}

// noteSuspicion puts the evidence against a run into the detail that moves with it to
// another node. A run that was parked because its code crashed processes keeps that reason,
// and that code stays among the tried.
func (e *Engine) noteSuspicion(r *activeRun, status core.Status, detail *core.Detail, h *hold) {
	e.mu.Lock()
	if t := r.partition.trials; t != nil && !t.over {
		if s, is := t.book.Suspect(r.id); is {
			detail.Suspect = (*core.Suspicion)(&s)
		}
	}
	e.mu.Unlock()
	if status == core.StatusParked && detail.Mismatch == nil && slices.Contains(detail.Tried, detail.Fingerprint) && detail.Fingerprint != "" {
		h.status, h.detail = status, *detail // a better reason than that the code of this node does not fit
		return
	}
	h.detail.Tried, h.detail.Suspect = detail.Tried, detail.Suspect
}
