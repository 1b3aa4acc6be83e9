package eval

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/flow/syntax"
)

// Paused is the error of a program that stopped between two statements, so that
// another run goes on from there with [Resume]. See [Effects.History].
type Paused struct {
	// marks are where it stands, one for each level, outermost first.
	marks []mark
}

func (p *Paused) Error() string { return "the program stopped between two statements" }

// State is where the program stopped, as JSON.
func (p *Paused) State() ([]byte, error) { return json.Marshal(p.marks) }

// mark is one level of where a program stands: a block at a statement, the call of a
// function with its variables, a loop or a spread with its elements.
type mark struct {
	At    int                        `json:"at,omitempty"`    // the statement, element or clause
	Vars  map[string]json.RawMessage `json:"vars,omitempty"`  // of a function
	Items json.RawMessage            `json:"items,omitempty"` // of a loop or a spread
	Done  json.RawMessage            `json:"done,omitempty"`  // of a spread: what became of the elements before At
	// Failed are the elements of Done that failed, whose errors stand there.
	Failed []int `json:"failed,omitempty"`
	// Shield says that the clause caught a cancellation.
	Shield bool `json:"shield,omitempty"`
}

// Resume goes on with a program that stopped.
func Resume(file *syntax.File, state []byte, fx Effects) (Value, error) {
	m := newMachine(file, fx)
	if err := json.Unmarshal(state, &m.resume); err != nil {
		return nil, fmt.Errorf("the state of the program cannot be read: %w", err)
	}
	for _, mark := range m.resume {
		if mark.At < 0 {
			return nil, errState
		}
	}
	if len(m.resume) == 0 {
		return nil, errState
	}
	return m.call(file.Main(), nil, fx, 1, true)
}

var errState = errors.New("the state of the program does not fit its text")

// resuming returns the mark of the level at which the evaluator is, if it is on its way
// to where the program stopped.
func (f *frame) resuming() (mark, bool) {
	m := f.m
	if !f.open || len(m.resume) == 0 {
		return mark{}, false
	}
	next := m.resume[0]
	m.resume = m.resume[1:]
	return next, true
}

// passed adds a level to where a program stops. Any other error passes unchanged.
func passed(err error, level func() (mark, error)) error {
	p, is := err.(*Paused)
	if !is {
		return err
	}
	next, failed := level()
	if failed != nil {
		return failed
	}
	return &Paused{append([]mark{next}, p.marks...)}
}

// at is the mark of a level that has a place and nothing else.
func at(n int) func() (mark, error) {
	return func() (mark, error) { return mark{At: n}, nil }
}

// boundary stops the program if its run has grown long, and fails it where it cannot
// stop before that becomes the business of the engine. It fails once: what catches the
// error may clean up.
func (f *frame) boundary() error {
	events, most := f.fx.History()
	switch {
	case most == 0 || events < most:
		return nil
	case f.open:
		return &Paused{}
	case events < Longest*most || f.m.refused:
		return nil
	}
	f.m.refused = true
	return fault(TypeLimit, "the run has %d events of history, and cannot continue as new here: inside of parallel, of a try with a policy, or of a call with a policy or within an expression. Let its loops stand in the main function, or in functions that are called on a line of their own", events)
}

// Longest is how many times as long as it should be a run may become where it cannot
// stop.
const Longest = 20

// encodeAll is values as JSON that decodeAll reads with all that they are.
func encodeAll(items []Value) (json.RawMessage, error) {
	return encodeTagged(&List{items: items})
}

func decodeAll(data []byte) ([]Value, error) {
	v, err := decodeTagged(data)
	if err != nil {
		return nil, err
	}
	l, is := v.(*List)
	if !is {
		return nil, fmt.Errorf("the state of the program has %s where a list should be", kindOf(v))
	}
	return l.items, nil
}
