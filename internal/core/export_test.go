package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Dump renders everything that makes a difference to what the machine does next,
// its clock excepted: two machines with the same dump are the same machine.
func (r *Run) Dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "length %d, turn %d, last call %d, busy %d, status %s, wake %d, closed %d, detail %s\n",
		r.journal.length, r.journal.turn, r.calls.lastCall, r.calls.busy, r.row.state.Status, r.row.state.Wake, r.row.state.Closed, r.row.state.Detail)
	fmt.Fprintf(&b, "children %d\n", r.calls.childCalls)
	fmt.Fprintf(&b, "ended %t, must advance %t, cancel requested %t (%q), untold %t, next due %d\n",
		r.facts.ended, r.journal.mustAdvance, r.journal.cancellation.requested, r.journal.cancellation.reason, r.journal.cancellation.untold, r.NextDue())
	for _, c := range r.calls.sorted() {
		c.Cancel = c.cancelRequested // as its row would say
		data, _ := json.Marshal(&c.Progress)
		policy, _ := json.Marshal(c.Policy)
		fmt.Fprintf(&b, "call %d %s %q queue %q trace %q input %s policy %s state %q attempt %d due %d cancel %t row %t %s\n",
			c.Number, c.Kind, c.Name, c.Queue, c.Trace, c.Input, policy, c.state, c.attempt, c.due, c.cancelRequested, c.hasRow, data)
	}
	for _, c := range r.calls.sorted() {
		if child := c.Child; child != nil {
			fmt.Fprintf(&b, "child of call %d: %+v\n", c.Number, *child)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.signals.byName)) {
		m := r.signals.byName[name]
		fmt.Fprintf(&b, "signal %q arrived %d values %v waiting", name, m.arrivals, m.values)
		for _, c := range m.waiting {
			fmt.Fprintf(&b, " %d", c.Number)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "seen %v\n", r.signals.ids.order)
	fmt.Fprintf(&b, "updates %v %v, updatable %t\n", r.facts.updates.order, r.facts.updates.known, r.code.updatable)
	fmt.Fprintf(&b, "asked %v, untold %d\n", r.attempts.operationIDs.order, r.calls.unnotified)
	return b.String()
}

// StateOf is where an open call stands, empty if there is none.
func (r *Run) StateOf(call int64) CallState {
	if c := r.calls.byNumber[call]; c != nil {
		return c.state
	}
	return ""
}

// Dump renders the machine of an examination, with the row of its run.
func (x *Examination) Dump(state State) string {
	x.run.loadRow(state, false)
	return x.run.Dump()
}
