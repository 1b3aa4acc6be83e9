package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Elements of a plan are its programs and then its events, by number. A plan that fails is made
// smaller by leaving elements out; the others stay what they were, because the dice say the
// same about them.

// elements is how many there are.
func (p plan) elements() int { return len(p.programs) + len(p.events) }

// with returns the plan with these of its elements.
func (p plan) with(kept []int) plan {
	out := p
	out.programs, out.events, out.kept = nil, nil, kept
	for _, i := range kept {
		if i < len(p.programs) {
			out.programs = append(out.programs, p.programs[i])
		} else {
			out.events = append(out.events, p.events[i-len(p.programs)])
		}
	}
	return out
}

// keeping is with for what -keep says; "" keeps everything.
func (p plan) keeping(t *testing.T, text string) plan {
	if text == "" {
		return p
	}
	var kept []int
	for _, field := range strings.Split(text, ",") {
		i, err := strconv.Atoi(field)
		if err != nil || i < 0 || i >= p.elements() {
			t.Fatalf("-keep %s: %q is not an element of this world, which has 0 to %d", text, field, p.elements()-1)
		}
		kept = append(kept, i)
	}
	return p.with(kept)
}

// command repeats a plan.
func (p plan) command() string {
	text := fmt.Sprintf("go test ./internal/sim -run P1_Worlds -world %s -seed %d", p.profile.name, p.seed)
	if p.kept != nil {
		fields := make([]string, len(p.kept))
		for i, k := range p.kept {
			fields[i] = strconv.Itoa(k)
		}
		text += " -keep " + strings.Join(fields, ",")
	}
	return text
}

// shrink leaves out what a failing plan does not need to fail, one element after the other, until
// nothing can be left out any more.
func shrink(p plan, fails func(plan) bool) plan {
	kept := make([]int, p.elements())
	for i := range kept {
		kept[i] = i
	}
	for smaller := true; smaller; {
		smaller = false
		for i := len(kept) - 1; i >= 0; i-- {
			less := slices.Delete(slices.Clone(kept), i, i+1)
			if q := p.with(less); len(q.programs) > 0 && fails(q) {
				kept, smaller = less, true
			}
		}
	}
	return p.with(kept)
}

// report tells of a plan that failed, and how to see it fail in the smallest way.
func report(t *testing.T, p plan, r result) {
	small := shrink(p, func(q plan) bool { return len(play(t, q, nil).faults) > 0 })
	t.Errorf("%s\n  of %d programs and events %d are needed; repeat it with\n    %s", strings.Join(r.faults, "\n"), p.elements(), len(small.kept), small.command())
}
