package suspects

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestE87_ThePoisonedAreFound lives life after life with some runs whose code ends the
// process, among any number of others, until one goes through. The poisoned runs are
// found, no other is, and a single one costs no more deaths than halving would.
func TestE87_ThePoisonedAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "runs")
		poison := map[string]bool{}
		for range rapid.IntRange(1, 3).Draw(t, "poisons") {
			poison[run(rapid.IntRange(0, n-1).Draw(t, "poison"))] = true
		}
		var left []byte
		deaths := 0
		for ; ; deaths++ {
			if deaths > 3*(Limit+6) {
				t.Fatalf("%d of %d runs are poisoned, and %d processes died", len(poison), n, deaths)
			}
			b, err := Open(int64(deaths)+1, "node", left, func(int64) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			died, parked := live(b, n, poison, &left)
			for id := range parked {
				if !poison[id] {
					t.Fatalf("%s is parked and harmless", id)
				}
			}
			if !died {
				if len(parked) != len(poison) {
					t.Fatalf("parked are %v, poisoned %v", parked, poison)
				}
				break
			}
		}
		if most := max(bits.Len(uint(n)), 2) + Limit + 1; len(poison) == 1 && deaths > most {
			t.Errorf("one of %d runs was found after %d deaths, want at most %d", n, deaths, most)
		}
	})
}

// live tries all runs, and reports whether the process died.
func live(b *Book, n int, poison map[string]bool, left *[]byte) (died bool, parked map[string]bool) {
	var waiting []Waiter
	parked = map[string]bool{}
	for i := range n {
		if _, is := poisoned(b, run(i), "v1"); is {
			parked[run(i)] = true
		} else {
			waiting = append(waiting, Waiter{run(i), v1})
		}
	}
	writes := 0
	for len(waiting) > 0 {
		tried := b.Admit(waiting, time.Hour, true)
		*left = b.Write()
		writes++
		for _, w := range tried {
			if poison[w.Run] {
				return true, parked
			}
		}
		rest := waiting[:0]
		now := map[string]bool{}
		for _, w := range tried {
			b.Survived(w.Run, true)
			now[w.Run] = true
		}
		for _, w := range waiting {
			if !now[w.Run] {
				rest = append(rest, w)
			}
		}
		waiting = rest
		if len(tried) == 0 || writes > 3*parts {
			panic(fmt.Sprintf("%d runs wait after %d writes", len(waiting), writes))
		}
	}
	return false, parked
}

// poisoned reports how many deaths a run was alone at, and whether it is tried no more.
func poisoned(b *Book, run, code string) (deaths int, is bool) {
	s, _ := b.Suspect(run)
	return s.Deaths, s.Poisoned(code)
}

var v1 = Code{Fingerprint: "v1"}

func run(i int) string { return fmt.Sprint("run ", i) }

// TestE87_OneDeathIsNoProof: a run that survives a turn, and one whose code is another
// one now, begins afresh; deaths that are not known to be deaths do not count.
func TestE87_OneDeathIsNoProof(t *testing.T) {
	dies := func(int64) bool { return true }
	var left []byte
	open := func(died func(int64) bool) *Book {
		b, err := Open(1, "node", left, died)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	die := func(b *Book, code string) {
		b.Admit([]Waiter{{"a", Code{"", code}}}, time.Hour, true)
		left = b.Write()
	}
	for range Limit {
		die(open(dies), "v1") // the first makes it a suspect
	}
	b := open(dies)
	if n, is := poisoned(b, "a", "v1"); n != Limit-1 || is {
		t.Errorf("after %d deaths it is %v", n, is)
	}
	b.Admit([]Waiter{{"a", v1}}, time.Hour, true)
	b.Survived("a", false)
	if n, _ := poisoned(b, "a", "v1"); n != Limit-1 {
		t.Errorf("after it was only loaded, %d deaths are left", n)
	}
	b.Admit([]Waiter{{"a", v1}}, time.Hour, true)
	b.Survived("a", true)
	die(b, "v1")
	if n, is := poisoned(open(dies), "a", "v1"); n != 0 || is {
		t.Errorf("after it survived, %d deaths are left", n)
	}
	for range Limit {
		die(open(dies), "v1")
	}
	if _, is := poisoned(open(func(int64) bool { return false }), "a", "v1"); is {
		t.Error("the last owner lives, and its run is poisoned")
	}
	b = open(dies)
	if _, is := poisoned(b, "a", "v1"); !is {
		t.Error("it is not poisoned")
	}
	if _, is := poisoned(b, "a", "v2"); is {
		t.Error("other code is poisoned")
	}
	die(b, "v2")
	if n, is := poisoned(open(dies), "a", "v2"); n != 1 || is {
		t.Errorf("other code died %d times", n)
	}
	left = []byte("{")
	if _, err := Open(1, "node", left, dies); err == nil {
		t.Error("a book that cannot be read is read")
	}
}

// TestE87_KillsFromOutsideMissASuspect: a run that was alone at a death is tried again when
// the process has lived for a time.Second, and after two deaths for two; others are not held up.
func TestE87_KillsFromOutsideMissASuspect(t *testing.T) {
	b := &Book{trying: map[string]Code{}, runs: map[string]Run{"once": {Deaths: 1, Code: "v1"}, "twice": {Deaths: 2, Code: "v1"}, "new": {Code: "v1"}}, among: 3}
	waiting := []Waiter{{"twice", v1}, {"once", v1}, {"other", v1}, {"new", v1}}
	for _, step := range []struct {
		lived time.Duration
		want  string
	}{{0, "other"}, {0, "new"}, {time.Second - 1, ""}, {time.Second, "once"}, {2*time.Second - 1, ""}, {2 * time.Second, "twice"}} {
		got := ""
		for _, w := range b.Admit(waiting, step.lived, true) {
			got = w.Run
			b.Survived(w.Run, true)
			waiting = slices.DeleteFunc(waiting, func(x Waiter) bool { return x == w })
		}
		if got != step.want {
			t.Errorf("after %s %q is tried, want %q", step.lived, got, step.want)
		}
	}
}
