package sim

import (
	"fmt"
	"slices"
)

// kind is what a statement of a program does.
type kind int

const (
	call     kind = iota // an activity, which fails some times and then succeeds
	gated                // one that passes a gate
	queued               // one in a queue
	written              // one with a step transaction
	beating              // one that beats, and continues from where it was
	outside              // one that is completed from outside
	failing              // one that fails as often as its policy allows
	charged              // one that must not be made twice, and is asked about when that is in doubt
	deadly               // one whose first attempts kill their process
	step                 // inline
	nap                  // a timer
	signal               // waits for the next signal
	echo                 // sends a signal to itself
	child                // another program as a child
	again                // a child whose first run fails, and is retried
	apart                // another program, detached
	block                // statements that are retried as a block
	spread               // statements beside each other
	limited              // a wait that is given up
	undone               // a saga that fails, and is undone
	anew                 // the run continues as new
	patience             // waits until the updates that have come are answered
	kinds
)

// statement is one statement of a program. Its number is unlike that of any other in the world.
type statement struct {
	kind   kind
	number int
	parts  [][]statement
}

// job is the input of a run: which program, from where, with what.
type job struct {
	Seed    uint64 // of the program
	Of      []kind // the kinds of its statements; nil: all
	From    int    // the first statement of this run of the chain
	Value   int
	Updates int  // answered before, in earlier runs of the chain
	Pinned  bool // to the build that it began on
}

// composer writes a program.
type composer struct {
	dice   dice
	of     []kind
	number int
}

// program writes the program of a job. It is called by workflow code, too: whenever the code
// runs again, the program is the same.
func (j *job) program() []statement {
	c := &composer{dice: dice(j.Seed), of: j.Of, number: int(j.Seed % 1_000_000 * 100)}
	return c.statements(1+c.dice.of("length").below(5), 0)
}

// expect is what must become of the job.
func (j *job) expect() expectation { return expect(j.program(), j.Seed, 0) }

func (c *composer) statements(n, depth int) []statement {
	all := make([]statement, n)
	for i := range all {
		all[i] = c.statement(depth)
	}
	return all
}

func (c *composer) statement(depth int) statement {
	c.number++
	d := c.dice.of("statement", c.number)
	s := statement{kind: kind(d.below(int(kinds))), number: c.number}
	if c.of != nil {
		s.kind = c.of[d.below(len(c.of))]
	}
	if depth > 0 && slices.Contains([]kind{signal, child, again, apart, block, spread, undone, anew, patience, echo}, s.kind) {
		s.kind = []kind{call, gated, written, step, nap}[d.of("plain").below(5)]
	}
	switch s.kind {
	case block, undone:
		s.parts = [][]statement{c.statements(1+d.of("part").below(2), depth+1)}
	case spread:
		for range 2 + d.of("parts").below(2) {
			s.parts = append(s.parts, c.statements(1, depth+1))
		}
	}
	return s
}

// subseed is the seed of the program that a statement starts.
func subseed(seed uint64, number int) uint64 { return uint64(dice(seed).of("sub", number)) }

// sub is that program: it is short, and starts no other.
func sub(seed uint64) []statement {
	c := &composer{dice: dice(seed), number: int(seed % 1_000_000 * 100)}
	return c.statements(1+c.dice.of("length").below(2), 1)
}

// after is what a statement makes of a value.
func after(value, number int) int { return (value*31 + number) % 1_000_003 }

// expectation is what must become of a program.
type expectation struct {
	value   int
	signals int      // the number that it waits for
	apart   []uint64 // seeds of the programs that it starts detached
}

// expect reckons what a program comes to, without any engine.
func expect(statements []statement, seed uint64, value int) expectation {
	e := expectation{value: value}
	for _, s := range statements {
		switch s.kind {
		case spread:
			for i := range s.parts {
				e.value = after(e.value, expect(s.parts[i], seed, i).value)
			}
		case block:
			e.value = expect(s.parts[0], seed, e.value).value
		case undone:
			e.value = after(e.value, expect(s.parts[0], seed, e.value).value)
		case child:
			seed := subseed(seed, s.number)
			e.value = after(e.value, expect(sub(seed), seed, 0).value)
		case signal:
			e.value = after(e.value, e.signals)
			e.signals++
		case apart:
			e.apart = append(e.apart, subseed(seed, s.number))
			e.value = after(e.value, s.number)
		case anew, patience:
		default:
			e.value = after(e.value, s.number)
		}
	}
	return e
}

// apartID is the workflow ID of a program that is started detached.
func apartID(seed uint64) string { return fmt.Sprintf("apart-%x", seed) }
