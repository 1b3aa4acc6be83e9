package view

import (
	"cmp"
	"slices"
)

// Comparison says where two runs differ, such as one that failed and one that did not.
type Comparison struct {
	A         Run  `json:"a"`          // the one
	B         Run  `json:"b"`          // the other
	SameInput bool `json:"same_input"` // both began with the same value; of encrypted ones nobody can know
	// Alike is how many activities and steps went alike in both: under the same number, with
	// the same name, outcome, type of error and number of attempts.
	Alike int `json:"alike"`
	// Calls are the others, by number.
	Calls []CallPair `json:"calls"`
}

// CallPair is what two runs did under one call number. A run that made no such activity or step,
// or has not ended its first attempt, has nil.
type CallPair struct {
	Call int64         `json:"call"`        // number in both runs
	A    *CallAttempts `json:"a,omitempty"` // of the one
	B    *CallAttempts `json:"b,omitempty"` // of the other
}

// Parted reports whether the code of the two runs did different things.
func (p *CallPair) Parted() bool { return p.A != nil && p.B != nil && p.A.Name != p.B.Name }

// Compare compares two runs.
func Compare(a, b *Overview) Comparison {
	c := Comparison{A: a.Description.Run, B: b.Description.Run, SameInput: a.Description.Input.equal(b.Description.Input), Calls: []CallPair{}}
	pairs := map[int64]*CallPair{}
	of := func(call int64) *CallPair {
		if pairs[call] == nil {
			pairs[call] = &CallPair{Call: call}
		}
		return pairs[call]
	}
	for i := range a.Calls {
		of(a.Calls[i].Call).A = &a.Calls[i]
	}
	for i := range b.Calls {
		of(b.Calls[i].Call).B = &b.Calls[i]
	}
	for _, p := range pairs {
		if p.A != nil && p.B != nil && p.A.alike(p.B) {
			c.Alike++
		} else {
			c.Calls = append(c.Calls, *p)
		}
	}
	slices.SortFunc(c.Calls, func(p, q CallPair) int { return cmp.Compare(p.Call, q.Call) })
	return c
}

func (c *CallAttempts) alike(o *CallAttempts) bool {
	return c.Name == o.Name && c.Outcome == o.Outcome && c.ErrorType == o.ErrorType && c.Attempts == o.Attempts
}
