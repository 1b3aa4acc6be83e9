package dispatch

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/store"
)

// A started run begins when there is a slot for what its code calls first. Until then it is in
// line: it is a row whose wake time is its place (store.InLine). The first runs of the line
// wait for slots in memory, as calls do and in the order of calls, and get a slot that their
// first turn uses. The others exist in the database alone. So started runs cost no memory, and
// a run begins with a turn that starts its first attempt.
//
// The runs of one key stand in the database behind each other, and the keys take turns there as they
// do for slots (store.Owner.Line). Of a key that has somebody in the database, somebody is read
// into memory even when the others have filled it.
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

// Line says which runs in line wait for slots in memory, and which are in the database alone. It
// is safe for concurrent use.
type Line struct {
	// Bell rings when the line may have to be read.
	Bell clock.Bell

	slots *Slots
	every time.Duration // how often it is read in any case, because news may be lost

	mu    sync.Mutex
	more  bool            // the database has some
	whose map[string]bool // keys of which it may have some
	turns store.Turns     // whose turn it is when the database is read
	until int64           // none of them has a wake time below this, except those that news announces
	left  int             // how many were left to the database so far
	news  bool            // others may have joined

	read   time.Time // when the line was last read
	barren bool      // that read found none

	moved bool      // a run has begun since still
	still time.Time // when Move last saw the line move; zero if the line is empty
}

// NewLine returns the line to slots.
func NewLine(slots *Slots, every time.Duration) *Line {
	return &Line{Bell: clock.NewBell(), slots: slots, every: every}
}

// Full reports whether as many runs wait in memory as may, so that others are left to the
// database.
func (l *Line) Full() bool { return l.slots.InLine() >= lineAhead }

// Stand makes a run in line wait for a slot.
func (l *Line) Stand(w *Waiter) {
	w.Number = ToBegin
	l.slots.Wait(w)
	l.Bell.Ring()
}

// Join makes a run whose row is in line wait for a slot in memory, unless runs that exist in the
// database alone precede it.
func (l *Line) Join(w *Waiter, wake int64) []Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.slots.InLine()
	if w.Key != "" {
		return l.joinByKey(w, n)
	}
	full := n >= lineAhead && (!l.more || n >= 2*lineAhead) && l.slots.toBegin("") > 0
	if before := l.more && wake >= l.until; before || full {
		if !l.more {
			l.more, l.until = true, wake
		}
		l.until = min(l.until, wake)
		l.left++
		l.Bell.Ring()
		return nil
	}
	l.Stand(w)
	return l.slots.Serve()
}

// joinByKey is Join for a run with a key.
func (l *Line) joinByKey(w *Waiter, n int) []Grant {
	first := l.slots.toBegin(w.Key) == 0
	if l.whose[w.Key] || n >= lineAhead && !first {
		l.more, l.news = true, l.news || first // somebody of the key is to be in memory
		l.leave(w.Key)
		l.left++
		l.Bell.Ring()
		return nil
	}
	l.Stand(w)
	return l.slots.Serve()
}

// leave notes that a run of a key was left to the database.
func (l *Line) leave(key string) {
	if l.whose == nil {
		l.whose = map[string]bool{}
	}
	l.whose[key] = true
}

// News says that other processes may have put runs in line.
func (l *Line) News() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news = true
	l.Bell.Ring()
}

// Began says that a run in line begins.
func (l *Line) Began() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = true
	if l.more && l.slots.InLine() == lineAhead/2 {
		l.Bell.Ring()
	}
}

// ToRead reports whether to read the line now: immediately if few of the runs that were read
// are left and the last read found some, lineRest after the last read if there is news, and
// periodically in case news was lost.
func (l *Line) ToRead(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := now.Sub(l.read)
	switch {
	case since >= l.every:
		return true
	case (l.more || l.news) && l.slots.InLine() <= lineAhead/2:
		return !l.barren || since >= lineRest
	}
	return l.news && since >= lineRest
}

// LineRead is a read of the line in progress.
type LineRead struct {
	Limit int    // how many runs to read
	From  string // the key whose turn it is
	left  int
}

// BeginRead begins to read the line, of which as many runs as are at work may be about to leave
// it.
func (l *Line) BeginRead(atWork int) LineRead {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news = false
	return LineRead{lineAhead + l.slots.InLine() + atWork, l.turns.From, l.left}
}

// Found is a run that a read has found in line.
type Found struct {
	store.LineRun
	Tenure
	Gone bool  // it is not in line any more, or not here
	Wake int64 // of a run without a key
}

// EndRead makes the runs that a read has found wait for slots, those without a key and those of
// each key, of which share were read of each partition.
func (l *Line) EndRead(r LineRead, first, byKey []Found, share int) []Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.slots.InLine()
	l.more, l.until = len(first) >= r.Limit, math.MaxInt64
	for _, f := range first {
		if l.slots.InLine() >= 2*lineAhead && l.slots.toBegin("") > 0 {
			l.more, l.until = true, f.Wake
			break
		}
		if !f.Gone {
			l.Stand(f.waiter())
		}
		l.until = f.Wake
	}
	if !l.more {
		l.until = math.MaxInt64
	}
	l.endReadByKey(byKey, share)
	l.news = l.news || l.left != r.left // the read may have been too early for it
	l.read, l.barren = time.Now(), l.slots.InLine() == before
	return l.slots.Serve()
}

// endReadByKey is EndRead for runs with keys.
func (l *Line) endReadByKey(all []Found, share int) {
	l.whose = nil
	count := map[int]int{}
	for _, f := range all {
		count[f.LineRun.Partition]++
	}
	l.turns = nextTurns(l.turns.From, all, func(partition int) bool { return count[partition] >= share })
	slices.SortStableFunc(all, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Created, b.Created))
	})
	for _, f := range all {
		full := l.slots.InLine() >= 2*lineAhead && l.slots.toBegin(f.Key) > 0
		if count[f.LineRun.Partition] >= share || full && !f.Gone { // there may be more
			l.more = true
			l.leave(f.Key)
		}
		if !full && !f.Gone {
			l.Stand(f.waiter())
		}
	}
}

func (f *Found) waiter() *Waiter {
	return &Waiter{Call: Call{Run: f.Run}, Tenure: f.Tenure, Key: f.Key, Weight: f.Weight, Priority: f.Priority}
}

func keyOfFound(f *Found) (string, int) { return store.KeyOfLineRun(&f.LineRun) }

// nextTurns returns whose turn it is after a read of several partitions. The one of which the
// fewest keys were read decides, so that no key is passed over for ever; one that was read to
// its end has none that was.
func nextTurns(from string, all []Found, cut func(partition int) bool) store.Turns {
	least, decided := store.Turns{From: from}, false
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(f Found) bool { return f.LineRun.Partition != all[0].LineRun.Partition })
		if n < 0 {
			n = len(all)
		}
		of := all[:n]
		all = all[n:]
		if !cut(of[0].LineRun.Partition) {
			continue
		}
		after := store.After(store.Turns{From: from}, of, keyOfFound)
		if turned := after.From < from; !decided || turned == (least.From < from) && after.From < least.From || !turned && least.From < from {
			least, decided = after, true
		}
	}
	return least
}

// Move returns the runs that are to begin without a slot, because the line has stood still for
// too long, and when to look again.
func (l *Line) Move(now time.Time) (begin []*Waiter, again time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	inLine := l.slots.InLine()
	if inLine == 0 {
		l.still = time.Time{}
		if l.more || l.news {
			return nil, lineRest
		}
		return nil, l.every
	}
	if l.moved || l.still.IsZero() {
		l.still, l.moved = now, false
	}
	calls := l.slots.Usage().Waiting - inLine
	rest := lineRest << min(calls/lineSlower, lineSlowest)
	if now.Sub(l.still) >= rest {
		l.still = now
		begin = l.slots.PassBy(lineStep)
	}
	return begin, min(lineRest, rest-now.Sub(l.still)) // by then fewer calls may wait
}
