package trial

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
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
		if _, is := b.Poisoned(run(i), "v1"); is {
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
	if n, is := b.Poisoned("a", "v1"); n != Limit-1 || is {
		t.Errorf("after %d deaths it is %v", n, is)
	}
	b.Admit([]Waiter{{"a", v1}}, time.Hour, true)
	b.Survived("a", false)
	if n, _ := b.Poisoned("a", "v1"); n != Limit-1 {
		t.Errorf("after it was only loaded, %d deaths are left", n)
	}
	b.Admit([]Waiter{{"a", v1}}, time.Hour, true)
	b.Survived("a", true)
	die(b, "v1")
	if n, is := open(dies).Poisoned("a", "v1"); n != 0 || is {
		t.Errorf("after it survived, %d deaths are left", n)
	}
	for range Limit {
		die(open(dies), "v1")
	}
	if _, is := open(func(int64) bool { return false }).Poisoned("a", "v1"); is {
		t.Error("the last owner lives, and its run is poisoned")
	}
	b = open(dies)
	if _, is := b.Poisoned("a", "v1"); !is {
		t.Error("it is not poisoned")
	}
	if _, is := b.Poisoned("a", "v2"); is {
		t.Error("other code is poisoned")
	}
	die(b, "v2")
	if n, is := open(dies).Poisoned("a", "v2"); n != 1 || is {
		t.Errorf("other code died %d times", n)
	}
	left = []byte("{")
	if _, err := Open(1, "node", left, dies); err == nil {
		t.Error("a book that cannot be read is read")
	}
}

// TestE87_Suspicion: two owners in a row that died soon are suspicious.
func TestE87_Suspicion(t *testing.T) {
	long := int64(tenure) + 1
	for _, c := range []struct {
		name   string
		owners []store.Ownership
		want   bool
	}{
		{"the first", []store.Ownership{{Epoch: 1}}, false},
		{"one died", []store.Ownership{{Epoch: 2}, {Epoch: 3, Since: 1}}, false},
		{"two died", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 2}}, true},
		{"one survived", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1, Survived: true}, {Epoch: 3, Since: 2}}, false},
		{"the one before survived", []store.Ownership{{Epoch: 1, Survived: true}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 2}}, false},
		{"one lived long", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 1 + long}}, false},
		{"lost again", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 2}, {Epoch: 4, Since: 3}}, true},
	} {
		if got := Suspected(c.owners, 3); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestE87_KillsFromOutsideMissASuspect: a run that was alone at a death is tried again when
// the process has lived for a second, and after two deaths for two; others are not held up.
func TestE87_KillsFromOutsideMissASuspect(t *testing.T) {
	b := &Book{trying: map[string]Code{}, suspects: map[string]Suspect{"once": {Deaths: 1, Code: "v1"}, "twice": {Deaths: 2, Code: "v1"}, "new": {Code: "v1"}}, among: 3}
	waiting := []Waiter{{"twice", v1}, {"once", v1}, {"other", v1}, {"new", v1}}
	for _, step := range []struct {
		lived time.Duration
		want  string
	}{{0, "other"}, {0, "new"}, {Patience - 1, ""}, {Patience, "once"}, {2*Patience - 1, ""}, {2 * Patience, "twice"}} {
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
