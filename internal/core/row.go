package core

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
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
				t.journal.out.Closed = append(t.journal.out.Closed, c.shown().Number)
			}
		case c.backoffOf != nil:
			c.hasRow = true
			row := c.shown().row()
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

func (c *Call) row() Row {
	c.Cancel = c.cancelRequested
	c.Inline = c.Step()
	data, _ := history.Seal(&c.Progress) // strings and numbers only: cannot fail
	row := Row{Call: c.Number, State: c.state, Name: c.Name, Queue: c.Queue, Attempt: c.attempt, Data: data}
	if c.state == Backoff {
		row.Due = c.due
	}
	return row
}

// shown returns the call as operators know it. For the backoff of a block that is the
// block.
func (c *Call) shown() *Call {
	if c.backoffOf != nil {
		return &c.backoffOf.call
	}
	return c
}

// keepsRow notes that a block in backoff has a row. It returns false if there is no such
// block. The row holds nothing that is not in history.
func (t *callTable) keepsRow(number int64) bool {
	for _, c := range t.byNumber {
		if c.backoffOf != nil && c.shown().Number == number {
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
		t.untold++
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
		c.due, _ = c.timesOut(c.Policy)
	case Gated:
		if c.Undecided == nil {
			c.due = c.gatedDue()
		}
	}
	t.watch(c)
	return nil
}

// TimesOut returns when an external attempt times out.
func (p *Progress) TimesOut(policy *retry.Policy) int64 {
	at, _ := p.timesOut(policy)
	return at
}

// DecodeProgress reads the data of a call's row. If the data is encoded and cannot be
// decoded, DecodeProgress returns an error and the progress that the document's face shows.
func DecodeProgress(data []byte) (*Progress, error) {
	p := &Progress{}
	switch err := history.Unseal(data, p); {
	case history.IsCoded(err):
		return p, history.Damaged("the row of the call", err)
	case err != nil:
		return nil, history.Damaged("the row of the call", err)
	}
	return p, nil
}

// Awaits returns the index of the gate at which the call waits, or -1, and whether it waits
// for the verdict of a budget.
func (p *Progress) Awaits() (at int, verdict bool) {
	return slices.IndexFunc(p.AtGates, atGate.waits), p.Undecided != nil
}

func encodeDetail(d Detail) []byte {
	data, _ := history.Seal(d) // payloads are valid JSON already: cannot fail
	return data
}

// EncodeDetail encodes the document beside a status.
func EncodeDetail(d Detail) []byte { return encodeDetail(d) }

// DecodeDetail decodes the document beside a status. An absent document is the zero Detail.
func DecodeDetail(data []byte) (Detail, error) {
	var d Detail
	if len(data) == 0 {
		return d, nil
	}
	if result, is := history.UnsealResult(data); is {
		return Detail{Result: &result}, nil
	}
	if err := history.Unseal(data, &d); err != nil {
		return d, history.Damaged("the outcome or reason in the row of the run", err)
	}
	return d, nil
}
