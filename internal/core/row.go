package core

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// writeRows turns the touched calls into rows to write or delete.
func (t *callTable) writeRows() {
	for _, c := range t.dirty {
		c.isDirty = false
		t.writeTask(c)
		switch {
		case c.Done:
			if c.hasRow {
				c.hasRow = false
				t.journal.out.Closed = append(t.journal.out.Closed, c.subject().Number)
			}
		case c.backoffOf != nil:
			c.hasRow = true
			row := c.subject().row()
			row.State, row.Due = Backoff, c.due
			t.journal.out.Rows = append(t.journal.out.Rows, row)
		case !c.attempted():
		case c.state == Dispatched && c.attempt == 1 && !c.hasRow && c.BeatAt == 0 && c.Pause == nil && !c.renewed:
			// History alone says so.
		default:
			c.hasRow = true
			t.journal.out.Rows = append(t.journal.out.Rows, c.row())
		}
	}
	t.dirty = t.dirty[:0]
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

// restore gives a replayed call the state in its row.
func (t *callTable) restore(c *Call, row Row) error {
	t.setState(c, row.State)
	c.Progress = Progress{state: row.State} // drops what the replay assumed
	if err := history.Unseal(row.Data, &c.Progress); err != nil {
		return history.Damaged(fmt.Sprintf("the row of call %d", row.Call), err)
	}
	c.attempt = row.Attempt
	c.hasRow = true
	if c.Untold {
		t.unnotified++
	}
	c.cancelRequested = c.cancelRequested || c.Cancel
	if len(c.AtGates) != len(c.Gates) {
		return history.Damaged(fmt.Sprintf("the row of call %d", row.Call), fmt.Errorf("it is at %d of %d gates", len(c.AtGates), len(c.Gates)))
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

// writeTask keeps the queue's row in step with the call. The row exists while the attempt
// is offered, and until a claimed attempt has ended.
func (t *callTable) writeTask(c *Call) {
	want := 0
	if !c.Done && (c.state == Offered || c.state == Remote) {
		want = c.attempt
	}
	if c.Task != 0 && c.Task != want {
		ref := AttemptRef{c.Number, c.Task}
		switch {
		case !c.Claimed:
			t.journal.out.Withdrawn = append(t.journal.out.Withdrawn, ref)
		case c.abandoned:
			t.journal.out.GivenUp = append(t.journal.out.GivenUp, ref)
		default:
			t.journal.out.Over = append(t.journal.out.Over, ref)
		}
		c.Task, c.Claimed, c.abandoned = 0, false, false
		t.offered = slices.DeleteFunc(t.offered, func(o *Call) bool { return o == c }) // else a worker would find it
	}
	if want != 0 && c.Task == 0 {
		c.Task, c.Claimed = want, false
		t.offered = append(t.offered, c)
	}
}

// offerAgain tells the queue of an offered attempt that the end of its time has moved.
func (t *callTable) offerAgain(c *Call) {
	if c.state == Offered && c.Task != 0 && !c.Claimed && !slices.Contains(t.offered, c) {
		t.offered = append(t.offered, c)
	}
}
