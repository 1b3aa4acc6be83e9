package suspects

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// call is one of a simulated process: it ends its process or not.
type call struct {
	Suspect
	poison bool
	done   bool
}

// limit is how often a call may be charged before it is quarantined.
const limit = 3

// simulation is a process that dies and is started again.
type simulation struct {
	calls           []*call
	room, passed    int
	deaths, rounds  int
	charged, guilty int // of the harmless, of the poisoned: quarantined
}

// open are the calls that are neither done nor quarantined.
func (s *simulation) open() (open []*call) {
	for _, c := range s.calls {
		if !c.done && c.Charged < limit {
			open = append(open, c)
		}
	}
	slices.SortStableFunc(open, func(a, b *call) int { return Compare(a.Suspect, b.Suspect) })
	return open
}

// run lets groups run until all calls are done or quarantined, or the deaths are too many.
func (s *simulation) run(most int) {
	s.deaths = 2 // after which all of them are suspects
	for s.deaths <= most {
		open := s.open()
		if len(open) == 0 {
			return
		}
		n := Next(open, func(*call) bool { return false }, func(a, b *call) bool { return Compare(a.Suspect, b.Suspect) == 0 },
			func(alike int) int { return min(open[0].Most(alike, s.passed), s.room) })
		group := open[:n]
		s.rounds++
		if !slices.ContainsFunc(group, func(c *call) bool { return c.poison }) {
			for _, c := range group {
				c.done = true
			}
			s.passed = n
			continue
		}
		s.deaths++
		s.passed = 0
		for _, c := range group {
			if c.Group = n; !Alone(n) {
				continue
			}
			c.Charged++
			if !c.poison {
				s.charged++
			}
			if c.Charged == limit {
				s.guilty++
			}
		}
	}
}

// TestE3_OnePoisonedCallIsAloneAfterHalving: among any number of suspects the one that
// ends its process is quarantined after the two deaths that made them suspects, one for
// each halving, and those that it is charged with. No other call is ever charged.
func TestE3_OnePoisonedCallIsAloneAfterHalving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "calls")
		s := simulation{room: rapid.SampledFrom([]int{1, 3, 128, 4000}).Draw(t, "room")}
		for range n {
			s.calls = append(s.calls, &call{})
		}
		s.calls[rapid.IntRange(0, n-1).Draw(t, "poison")].poison = true
		halvings := bits.Len(uint(n - 1)) // log2, rounded up
		s.run(2 + halvings + limit)
		if s.guilty != 1 || s.charged != 0 || len(s.open()) != 0 || s.deaths > 2+halvings+limit {
			t.Fatalf("of %d calls, %d of the poisoned are quarantined, harmless ones charged %d times, %d open, after %d deaths", n, s.guilty, s.charged, len(s.open()), s.deaths)
		}
	})
}

// TestE3_SeveralPoisonedCallsAreAllFound: each costs a search of its own at most.
func TestE3_SeveralPoisonedCallsAreAllFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 300).Draw(t, "calls")
		s := simulation{room: 128}
		for range n {
			s.calls = append(s.calls, &call{})
		}
		poisons := 0
		for range rapid.IntRange(2, 5).Draw(t, "poisons") {
			if c := s.calls[rapid.IntRange(0, n-1).Draw(t, "which")]; !c.poison {
				c.poison = true
				poisons++
			}
		}
		most := 2 + poisons*(bits.Len(uint(n))+limit)
		s.run(most)
		if s.guilty != poisons || s.charged != 0 || len(s.open()) != 0 {
			t.Fatalf("of %d calls %d of %d are quarantined, harmless ones charged %d times, %d open, after %d deaths", n, s.guilty, poisons, s.charged, len(s.open()), s.deaths)
		}
	})
}

// TestE3_TheInnocentRunInTwoGroups: calls that were lost twice and end their process no
// further time are done after two groups, or as many as the room asks for.
func TestE3_TheInnocentRunInTwoGroups(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 128: 2, 1000: 2} {
		s := simulation{room: 4000}
		for range n {
			s.calls = append(s.calls, &call{})
		}
		s.run(100)
		if s.rounds != want || s.deaths != 2 || len(s.open()) != 0 {
			t.Errorf("%d calls took %d groups and %d deaths, want %d and 2", n, s.rounds, s.deaths, want)
		}
	}
}
