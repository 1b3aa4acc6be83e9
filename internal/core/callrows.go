package core

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// Calls that are alike and follow each other share a row: a fan-out of a thousand calls that wait
// for slots is one row, which becomes shorter as they begin. A row is known by the last of its
// calls, because the first ones leave it first.

// maxShared is how many calls may share a row: stores refuse more, as readers list them one by one.
const maxShared = 1 << 16

// sharedRow is a row of several calls, all of which are open.
type sharedRow struct {
	first, last int64
	left        []int64 // calls that this step takes out
	listed      bool    // in rowWriter.shortened
}

// rowWriter turns the touched calls of a step into rows to write or delete.
type rowWriter struct {
	calls     *callTable
	out       *Turn
	latest    *Call        // the call that is last in the row that was written last
	shortened []*sharedRow // lost calls
	freed     []int64      // rows whose last call has left
}

// writeRows turns the touched calls into rows to write or delete.
func (t *callTable) writeRows() {
	w := rowWriter{calls: t, out: t.journal.out}
	for _, c := range t.dirty {
		c.isDirty = false
		t.writeTask(c)
		switch {
		case c.Done:
			w.leave(c, c.subject().Number)
		case c.backoffOf != nil:
			c.hasRow = true
			row := c.subject().row()
			row.State, row.Due = Backoff, c.due
			w.out.Rows = append(w.out.Rows, row)
			w.latest = nil
		case !c.attempted():
		case c.state == Dispatched && c.attempt == 1 && !c.hasRow && c.BeatAt == 0 && c.Pause == nil && !c.renewed:
			// History alone says so.
		default:
			w.leave(c, c.Number)
			w.write(c)
		}
	}
	t.dirty = t.dirty[:0]
	w.shorten()
	w.delete()
}

// leave takes a call out of its row, whose number is that of the call unless others share it.
func (w *rowWriter) leave(c *Call, number int64) {
	if !c.hasRow {
		return
	}
	c.hasRow = false
	shared := c.shared
	if shared == nil {
		w.freed = append(w.freed, number)
		return
	}
	c.shared = nil
	if shared.left = append(shared.left, c.Number); !shared.listed {
		shared.listed = true
		w.shortened = append(w.shortened, shared)
	}
}

// write writes the row of a call, which is that of the call before it if they are alike.
func (w *rowWriter) write(c *Call) {
	row := c.row()
	c.hasRow = true
	before := w.latest
	w.latest = c
	if before == nil || before.Number+1 != c.Number {
		w.out.Rows = append(w.out.Rows, row)
		return
	}
	last := &w.out.Rows[len(w.out.Rows)-1]
	if !last.like(&row) || c.Number-last.first() >= maxShared {
		w.out.Rows = append(w.out.Rows, row)
		return
	}
	if before.shared == nil {
		before.shared = &sharedRow{first: before.Number}
	}
	c.shared = before.shared
	c.shared.last = c.Number
	last.First, last.Call = c.shared.first, c.Number
}

// shorten writes what is left of the rows that lost calls.
func (w *rowWriter) shorten() {
	for _, s := range w.shortened {
		slices.Sort(s.left)
		first := s.first
		for _, gone := range s.left {
			if first < gone {
				w.split(first, gone-1)
			}
			first = gone + 1
		}
		if first <= s.last {
			s.first = first
			w.again(s)
		} else {
			w.freed = append(w.freed, s.last)
		}
		s.left, s.listed = s.left[:0], false
	}
}

// split gives calls in the midst of a row one of their own.
func (w *rowWriter) split(first, last int64) {
	s := &sharedRow{first: first, last: last}
	for n := first; n <= last; n++ {
		w.calls.byNumber[n].shared = s
	}
	w.again(s)
}

// again writes a row of calls that have not changed, of which there may be one.
func (w *rowWriter) again(s *sharedRow) {
	c := w.calls.byNumber[s.last]
	row := c.row()
	if s.first < s.last {
		row.First = s.first
	} else {
		c.shared = nil // as one that was loaded
	}
	w.out.Rows = append(w.out.Rows, row)
}

// delete deletes the rows whose last call has left, unless they were written again.
func (w *rowWriter) delete() {
	for _, number := range w.freed {
		if c := w.calls.byNumber[number]; c == nil || !c.hasRow || c.shared != nil && c.shared.last != number {
			w.out.Closed = append(w.out.Closed, number)
		}
	}
}

// load gives replayed calls the state in their row. The error is a *history.DamageError if the row
// cannot be theirs.
func (t *callTable) load(row Row) error {
	var shared *sharedRow
	if row.First != 0 {
		if row.First >= row.Call {
			return row.Damaged(fmt.Errorf("it begins with call %d", row.First))
		}
		shared = &sharedRow{first: row.First, last: row.Call}
	}
	for n := row.first(); n <= row.Call; n++ {
		switch c := t.byNumber[n]; {
		case c == nil && shared == nil && t.hasBlockRow(n):
			return nil
		case c == nil:
			return row.Damaged(fmt.Errorf("call %d is not open in history", n))
		case c.hasRow:
			return row.Damaged(fmt.Errorf("another row is about call %d, too", n))
		case !c.attempted() || c.Name != row.Name:
			return row.Damaged(fmt.Errorf("call %d is no call of %q in history", n, row.Name))
		}
	}
	for n := row.first(); n <= row.Call; n++ {
		c := t.byNumber[n]
		if err := t.restore(c, row); err != nil {
			for ; n >= row.first(); n-- { // none of them has it
				t.byNumber[n].hasRow, t.byNumber[n].shared = false, nil
			}
			return err
		}
		c.shared = shared
	}
	return nil
}

// restore gives a replayed call the state in its row.
func (t *callTable) restore(c *Call, row Row) error {
	t.setState(c, row.State)
	c.Progress = Progress{state: row.State} // drops what the replay assumed
	if err := history.Unseal(row.Data, &c.Progress); err != nil {
		return row.Damaged(err)
	}
	c.attempt = row.Attempt
	c.hasRow = true
	if c.Untold {
		t.unnotified++
	}
	c.cancelRequested = c.cancelRequested || c.Cancel
	if len(c.AtGates) != len(c.Gates) {
		return row.Damaged(fmt.Errorf("it is at %d of %d gates", len(c.AtGates), len(c.Gates)))
	}
	switch c.state {
	case Backoff:
		c.due = row.Due
		t.awaitBackoff(c)
		return nil
	case Queued, Offered:
		c.due = c.queueDue()
	case External, Remote:
		c.due, _ = c.timesOut(c.terms())
	case Gated:
		if c.Undecided == nil {
			c.due = c.gatedDue()
		}
	}
	t.watch(c)
	return nil
}

// hasBlockRow notes that a block in backoff has a row. It returns false if there is no such
// block. The row holds nothing that is not in history.
func (t *callTable) hasBlockRow(number int64) bool {
	for _, c := range t.byNumber {
		if c.backoffOf != nil && c.subject().Number == number {
			c.hasRow = true
			return true
		}
	}
	return false
}

// Row is the durable state of a call that must be found without a replay, or of several that
// follow each other and are alike.
type Row struct {
	Call    int64
	First   int64 // of the calls, of which Call is the last; 0: there is only that one
	State   CallState
	Name    string
	Queue   string
	Attempt int
	Due     int64
	Data    []byte
}

// first returns the number of the first call of a row.
func (r *Row) first() int64 { return cmp.Or(r.First, r.Call) }

// Has reports whether a row is about a call.
func (r *Row) Has(call int64) bool { return r.first() <= call && call <= r.Call }

// Damaged returns a *history.DamageError that says why a row cannot be what was written, nil if cause
// is nil.
func (r *Row) Damaged(cause error) error {
	if 0 < r.First && r.First < r.Call {
		return history.Damaged(fmt.Sprintf("the row of calls %d to %d", r.First, r.Call), cause)
	}
	return history.Damaged(fmt.Sprintf("the row of call %d", r.Call), cause)
}

// like reports whether rows say the same of their calls.
func (r *Row) like(o *Row) bool {
	return r.State == o.State && r.Name == o.Name && r.Queue == o.Queue && r.Attempt == o.Attempt && r.Due == o.Due && bytes.Equal(r.Data, o.Data)
}
