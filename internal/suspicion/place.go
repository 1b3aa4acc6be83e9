package suspicion

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// Location is a partition, or a ward of one, that this node owns.
type Location struct {
	Home, Ward int
	Epoch      int64
	Node       string // the ID under which this process owns it
	Lineage    *placement.Lineage
	// Learn reads the owners into the lineage unless they are known.
	Learn func() error
	// Hear delivers the messages that wait for runs of the location.
	Hear func() error
	// Lose says that another node owns the location by now.
	Lose func()
}

// Place is what one location of this node knows of runs whose code may have crashed processes.
// A ward keeps its own book. When the node of a ward dies, all runs of the ward return home and
// the home adopts the book. When the home moves a suspect to another node, the evidence goes
// with it, in its row. So the run is found although no node loads it twice, and no run is
// charged that was not tried. It is safe for concurrent use.
type Place struct {
	Location
	room *Room
	calm atomic.Int64 // judged, while nothing is suspected; else 0

	// Guarded by the room's mutex:
	trials  *trials // nil if no run is suspected or that is not known
	judged  int     // one more than the arrivals when that was found out; 0: not yet
	brought map[string]suspects.Run
	closed  bool // another node owns the location

	read    map[int64]bool // epochs of dissolved wards whose books were looked for; guarded by judging
	judging chan struct{}  // held by one goroutine at a time, for as long as an outage; taken before the mutex
}

// At returns what is known at a location that this node has taken.
func (s *Room) At(l Location) *Place {
	return &Place{Location: l, room: s, judging: make(chan struct{}, 1)}
}

// Close ends the trials of a location that this node no longer owns.
func (p *Place) Close() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.closed = true
	if p.trials != nil {
		p.trials.cancel()
		delete(p.room.tried, p.trials)
	}
}

// row returns where the book of a place is stored.
func (p *Place) row() entity.Standing {
	if p.Ward == 0 {
		return entity.Trials(p.room.config.Group, p.Home, 0)
	}
	return entity.Trials(p.room.config.Group, p.Home, p.Epoch)
}

// current returns the trials in progress, nil if nothing is suspected. The room's mutex is held.
func (p *Place) current() *trials {
	if t := p.trials; t != nil && !t.over {
		return t
	}
	return nil
}

// trialsOf returns the trials of a place, nil if nothing is suspected. The first caller, and
// the first after runs have arrived from another location, finds that out. If brought is set, a
// run came with evidence, so there are trials.
func (p *Place) trialsOf(brought bool) (*trials, error) {
	p.judging <- struct{}{}
	defer func() { <-p.judging }()
	p.room.mu.Lock()
	t, is := p.known(brought)
	p.room.mu.Unlock()
	if is { // another run was faster
		return t, nil
	}
	if err := p.Learn(); err != nil {
		return nil, err
	}
	arrivals := p.Lineage.Learned()
	if err := p.judge(brought); err != nil {
		return nil, err
	}
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.judged = arrivals + 1
	if p.trials == nil && len(p.brought) == 0 {
		p.calm.Store(int64(p.judged))
	}
	return p.trials, nil
}

// known returns the result of the last trialsOf, and false if it is outdated. The room's mutex
// is held.
func (p *Place) known(brought bool) (*trials, bool) {
	t := p.trials
	return t, p.judged != 0 && !p.Lineage.Since(p.judged-1) && (!brought || p.current() != nil)
}

// judge starts trials if there is a reason, and makes them adopt the books of wards.
func (p *Place) judge(brought bool) error {
	s := p.room
	owners := p.Lineage.Owners().All
	open := func(left []byte) *suspects.Book {
		book, err := suspects.Open(p.Epoch, p.Node, left, func(epoch int64) bool { return epoch != p.Epoch && died(owners, epoch) })
		if err != nil {
			s.config.Log.TrialFailed(p.Home, err)
		}
		return book
	}
	left, err := p.booksOfWards(owners)
	if err != nil {
		return err
	}
	s.mu.Lock()
	t, first := p.current(), p.judged == 0
	s.mu.Unlock()
	var crashes []suspects.Crash
	if t == nil {
		own, suspected, err := p.suspect(owners, first, brought || len(left) > 0)
		if err != nil || !suspected {
			return err
		}
		t = &trials{place: p, kicked: clock.NewBell(), book: open(own), exists: own != nil, begun: time.Now()}
		t.ctx, t.cancel = context.WithCancel(s.config.Context)
		crashes = t.book.Crashes()
	}
	var ofWards []*suspects.Book
	for _, rec := range left {
		book := open(rec.Run.Detail)
		ofWards, crashes = append(ofWards, book), append(crashes, book.Crashes()...)
	}
	for _, c := range crashes { // before any of these runs is tried again
		s.noteCrash(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.book.Alone(s.alone(store.SwitchWorkflow))
	for i, rec := range left {
		t.book.Adopt(ofWards[i])
		t.adopted = append(t.adopted, rec.Run.ID)
	}
	if p.trials == t {
		t.kicked.Ring()
		return nil
	}
	if p.closed || s.config.Context.Err() != nil {
		t.cancel()
		return store.ErrFenced
	}
	p.trials = t
	p.calm.Store(0)
	s.tried[t] = true
	s.config.Log.CodeTried(p.Home, t.book.Suspects())
	s.config.Go(t.run)
	return nil
}

// suspect reads the book that the previous owner left, nil if there is none, and reports
// whether code is suspected: for a known reason, or because of how owners ended.
func (p *Place) suspect(owners []store.Ownership, first, known bool) (left []byte, is bool, err error) {
	c := &p.room.config
	known = known || c.Store.Info().Wards && suspectedAmong(owners, c.Clock.Now())
	// An owner that died may have left a book that was not removed.
	before := first && slices.ContainsFunc(owners, func(o store.Ownership) bool { return o.Epoch < p.Epoch && !o.Survived })
	if p.Ward != 0 || !known && !before {
		return nil, known, nil
	}
	rec, err := p.readBook(p.row().Run)
	if rec == nil {
		return nil, known || suspected(owners, p.Epoch), err
	}
	return rec.Run.Detail, true, nil
}

// booksOfWards reads the books of dissolved wards, each once.
func (p *Place) booksOfWards(owners []store.Ownership) (left []*store.Record, err error) {
	if p.Ward != 0 {
		return nil, nil
	}
	for _, o := range owners {
		if store.WardOf(o.Epoch) == 0 || !o.Over || p.read[o.Epoch] {
			continue
		}
		rec, err := p.readBook(entity.Trials(p.room.config.Group, p.Home, o.Epoch).Run)
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
func (p *Place) readBook(run string) (rec *store.Record, err error) {
	c := &p.room.config
	rec, err = outage.Read(c.Context, c.Watch, "reading which runs are suspected", func(ctx context.Context) (*store.Record, error) {
		return c.Store.Load(ctx, p.Home, run)
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// Bring says that a run came from another node with evidence against it. It reports whether the
// run is to be loaded again, because it is not on trial here yet.
func (p *Place) Bring(run string, evidence suspects.Run) (again bool) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	_, known := p.brought[run]
	if t := p.current(); t != nil && !known {
		_, known = t.book.Suspect(run)
	}
	if known {
		delete(p.brought, run)
		return false
	}
	if p.brought == nil {
		p.brought = map[string]suspects.Run{}
	}
	p.brought[run] = evidence
	p.calm.Store(0)
	return true
}

// Suspect returns what is known of a run, and whether it is a suspect. It goes with a run that
// moves to another node.
func (p *Place) Suspect(run string) (s suspects.Run, is bool) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if t := p.current(); t != nil {
		return t.book.Suspect(run)
	}
	return s, false
}

// Clear takes a run out of the suspects, because a person wants it tried again.
func (p *Place) Clear(run string) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if t := p.current(); t != nil {
		t.clear(run, func() { t.book.Clear(run) })
	}
}

// tenure is the longest time for which an owner that dies of the code it loads has a
// partition: moments, plus its lease and the pause of its supervisor.
const tenure = 10 * time.Minute

// died reports whether the owner of an epoch is presumed dead.
func died(owners []store.Ownership, epoch int64) bool {
	return slices.ContainsFunc(owners, func(o store.Ownership) bool { return o.Epoch == epoch && !o.Survived })
}

// suspected reports whether the owners of a partition before the current epoch died one after
// the other: the last two did, neither had it for long, and none is known to have survived. A
// single death raises no suspicion.
func suspected(owners []store.Ownership, current int64) bool {
	var before []store.Ownership
	until := int64(0)
	for _, o := range owners {
		if o.Epoch == current {
			until = o.Since
		} else if o.Epoch < current {
			before = append(before, o)
		}
	}
	return diedInARow(before, until)
}

// suspectedAmong is suspected for databases where runs move among nodes of several versions.
// It considers the last two owners of a partition and its wards whose nodes died, up to now.
// Nodes that survived do not count, because they may have lacked the code of the run in question.
func suspectedAmong(owners []store.Ownership, now int64) bool {
	dead := slices.DeleteFunc(slices.Clone(owners), func(o store.Ownership) bool { return !o.Over || o.Survived })
	slices.SortFunc(dead, func(a, b store.Ownership) int { return cmp.Compare(a.Since, b.Since) })
	return diedInARow(dead, now)
}

// diedInARow reports whether the last two owners died one after the other, until a time.
func diedInARow(owners []store.Ownership, until int64) bool {
	for at := len(owners) - 1; at >= 0; at-- {
		if owners[at].Survived || until-owners[at].Since > int64(tenure) {
			return false
		}
		if until = owners[at].Since; at == len(owners)-2 {
			return true
		}
	}
	return false
}
