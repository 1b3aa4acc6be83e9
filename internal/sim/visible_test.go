package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// visible is what clients may know of a workflow ID: one register, as if there were one process
// and no time between question and answer (P2).
type visible struct {
	exists    bool
	ended     bool
	told      bool // how it ended
	end       ending
	toEnd     bool // somebody asked for it
	count     int  // updates that were answered
	forgetful bool // runs of chains are deleted soon
	given     [8]int
}

// visibly says what each request may be answered, and what it makes of a workflow ID. A request
// without an answer may have had its effect, at any time after it was made.
var visibly = porcupine.NondeterministicModel{
	Init:  func() []any { return []any{visible{}} },
	Step:  func(state, input, output any) []any { return steps(state.(visible), input.(asked).what, output) },
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%s: %v", nameOf(input.(asked).what), output)
	},
}

func steps(s visible, what, answer any) []any {
	failure, failed := answer.(error)
	if failed && !known(failure) || errors.Is(failure, store.ErrNotFound) && s.forgetful {
		return append(may(s, what), s)
	}
	ended, missing := errors.Is(failure, store.ErrClosed), errors.Is(failure, store.ErrNotFound)
	switch {
	case missing:
		return allowed(s, !s.exists)
	case ended:
		ok := s.exists
		s.ended = true
		return allowed(s, ok)
	}
	switch what := what.(type) {
	case starts:
		ok := answer.(started).attached == s.exists
		s.exists = true
		return allowed(s, ok)
	case signals:
		return allowed(s, s.exists && !s.ended)
	case asksForEnd:
		ok := s.exists && !s.ended
		s.toEnd = true
		return allowed(s, ok)
	case updates:
		n := answer.(int)
		if s.given[what.n] != 0 {
			return allowed(s, s.given[what.n] == n)
		}
		s.count++
		s.given[what.n] = n
		return allowed(s, s.exists && !s.ended && s.count == n)
	case results:
		e := answer.(ending)
		ok := s.exists && (!s.told || s.end == e) && (s.toEnd || e.status == core.StatusCompleted)
		s.ended, s.told, s.end = true, true, e
		return allowed(s, ok)
	}
	panic(fmt.Sprintf("nobody asks %T", what))
}

// may are the states to which an unanswered request may lead.
func may(s visible, what any) []any {
	switch what := what.(type) {
	case starts:
		s.exists = true
		return []any{s}
	case asksForEnd:
		s.toEnd = true
		return []any{s}
	case updates:
		if s.given[what.n] == 0 && s.exists && !s.ended {
			s.count++
			s.given[what.n] = s.count
			return []any{s}
		}
	}
	return nil
}

// allowed is the state after an answer, none if that answer cannot be.
func allowed(s visible, ok bool) []any {
	if !ok {
		return nil
	}
	return []any{s}
}

// telling leaves out the requests without an answer that can make no difference, because the search
// for an order takes twice the time with each that may have its effect late or never. A signal or a
// question for the result has none here; of equal others the first may have it whenever a later one
// could, and a second effect changes nothing.
func telling(all []porcupine.Operation) (some []porcupine.Operation) {
	open := map[any]bool{}
	for _, op := range all {
		if op.Return == never {
			what := op.Input.(asked).what
			if len(may(visible{exists: true}, what)) == 0 || open[what] {
				continue
			}
			open[what] = true
		}
		some = append(some, op)
	}
	return some
}

// check says for which workflow IDs what clients were told cannot have been.
func (h *hearsay) check(except map[string]bool) (wrong []string) {
	byID := map[string][]porcupine.Operation{}
	for _, op := range h.all {
		id := op.Input.(asked).id
		byID[id] = append(byID[id], op)
	}
	visibly := visibly
	visibly.Init = func() []any { return []any{visible{forgetful: h.forgetful}} }
	model := visibly.ToModel()
	for id, all := range byID {
		if !except[id] && !porcupine.CheckOperations(model, telling(all)) {
			text := "P2: what clients were told of " + id + " cannot have been:"
			for _, op := range all {
				text += fmt.Sprintf("\n    %d to %d: %s", op.Call>>10, op.Return>>10, visibly.DescribeOperation(op.Input, op.Output))
			}
			wrong = append(wrong, text)
		}
	}
	slices.Sort(wrong)
	return wrong
}
