package gates_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
)

// crowd is a gate at which calls of a run key take a second each. It counts who started when.
type crowd struct {
	t       *testing.T
	m       *gates.Machine[int]
	now     int64
	keys    map[int]string
	running []int
	started map[string][]time.Duration
}

func newCrowd(t *testing.T, c spec.Spec) *crowd {
	c.Mode = spec.Rejoin
	m, err := gates.New[int](c)
	if err != nil {
		t.Fatal(err)
	}
	return &crowd{t: t, m: m, now: 1, keys: map[int]string{}, started: map[string][]time.Duration{}}
}

func (c *crowd) enter(runKey string, weight, n int) {
	for range n {
		id := len(c.keys)
		c.keys[id] = runKey
		c.heed(c.m.Enter(c.now, gates.Ask[int]{Key: id, Attempt: 1, RunKey: runKey, Weight: weight}))
	}
}

func (c *crowd) heed(s *gates.Step[int]) {
	for _, g := range s.Granted {
		c.running = append(c.running, g.Key)
		c.started[c.keys[g.Key]] = append(c.started[c.keys[g.Key]], time.Duration(c.now))
	}
}

// second passes a second: what runs ends.
func (c *crowd) second() {
	c.now += int64(time.Second)
	ended := c.running
	c.running = nil
	c.heed(c.m.Tick(c.now))
	for _, id := range ended {
		c.heed(c.m.Done(c.now, id, gates.Success))
	}
}

// A thousand calls of A, then one of B: B starts with the next slot, not after all of A.
func TestT6_OneCallBehindManyAtAGate(t *testing.T) {
	c := newCrowd(t, spec.Spec{Limit: 2})
	c.enter("a", 0, 100_000)
	c.second()
	c.enter("b", 0, 1)
	c.second()
	if got := c.started["b"]; len(got) != 1 || got[0] > 2*time.Second+1 {
		t.Errorf("b started at %v", got)
	}
}

func TestT2_WithinAKeyPriorityThenAge(t *testing.T) {
	c := newCrowd(t, spec.Spec{Limit: 1})
	c.enter("a", 0, 3)
	var order []int
	for i, p := range []int{0, 5, 9} {
		c.keys[10+i] = "a"
		c.heed(c.m.Enter(c.now, gates.Ask[int]{Key: 10 + i, Attempt: 1, RunKey: "a", Priority: p}))
	}
	for range 6 {
		order = append(order, c.running...)
		c.second()
	}
	if got := fmt.Sprint(order); got != "[0 12 11 1 2 10]" {
		t.Error(got)
	}
}

// Priority stands above keys only if that is asked for.
func TestT2_PriorityAboveKeys(t *testing.T) {
	for _, first := range []bool{false, true} {
		c := newCrowd(t, spec.Spec{Limit: 1, PriorityFirst: first})
		c.enter("a", 0, 1)
		for i := range 4 {
			c.keys[10+i] = "a"
			c.heed(c.m.Enter(c.now, gates.Ask[int]{Key: 10 + i, Attempt: 1, RunKey: "a", Priority: 1}))
		}
		c.enter("b", 0, 1)
		for range 6 {
			c.second()
		}
		if b, want := c.started["b"][0].Truncate(time.Second), map[bool]time.Duration{false: 1, true: 5}[first]*time.Second; b != want {
			t.Errorf("priority first %v: b started after %v, not %v", first, b, want)
		}
	}
}

func TestT3_LimitOfEachKey(t *testing.T) {
	c := newCrowd(t, spec.Spec{Limit: 5, PerKey: spec.PerKey{Limit: 2}})
	c.enter("a", 0, 10)
	if n := len(c.running); n != 2 {
		t.Errorf("%d of a run", n)
	}
	c.enter("b", 0, 10)
	c.enter("c", 0, 10)
	if n := len(c.running); n != 5 {
		t.Errorf("%d run", n)
	}
	// A changed limit holds at once.
	s, err := c.m.Reconfigure(c.now, spec.Spec{Limit: 10, Mode: spec.Rejoin, PerKey: spec.PerKey{Limit: 3}})
	if err != nil {
		t.Fatal(err)
	}
	c.heed(s)
	if len(c.started["a"]) != 3 || len(c.started["b"]) != 3 || len(c.started["c"]) != 3 {
		t.Error(c.started)
	}
}

func TestT3_RateOfEachKey(t *testing.T) {
	c := newCrowd(t, spec.Spec{Limit: 100, PerKey: spec.PerKey{Rate: spec.Rate{PerSecond: 0.5, Burst: 2}}})
	c.enter("a", 0, 10)
	c.enter("b", 0, 1)
	for range 4 {
		c.second()
	}
	if a, b := len(c.started["a"]), len(c.started["b"]); a != 4 || b != 1 {
		t.Errorf("%d of a started, %d of b", a, b)
	}
}

// A key whose rate is at rest and that has no calls is forgotten, and so is its record.
func TestT3_AnIdleKeyIsForgottenAtAGate(t *testing.T) {
	c := newCrowd(t, spec.Spec{Limit: 100, PerKey: spec.PerKey{Rate: spec.Rate{PerSecond: 1}}})
	for i := range 50 {
		c.enter(fmt.Sprint("k", i), 0, 1)
	}
	if c.m.Share("k7") == (gates.ShareRecord{}) {
		t.Error("k7 has no record")
	}
	s := c.m.Tick(c.now + int64(time.Second))
	if len(s.Shares) != 50 || c.m.Share("k7") != (gates.ShareRecord{}) {
		t.Errorf("%d records change, k7 has %+v", len(s.Shares), c.m.Share("k7"))
	}
	if c.second(); !c.m.Forgettable(c.now) {
		t.Error("the gate remembers something")
	}
}

// An active key costs less than a kibibyte besides its calls.
func TestT4_AKeyIsSmall(t *testing.T) {
	size := func(keys int) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m, err := gates.New[int](spec.Spec{Limit: 1, Mode: spec.Rejoin, PerKey: spec.PerKey{Limit: 1, Rate: spec.Rate{PerSecond: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		const calls = 100_000
		for i := range calls {
			m.Enter(1, gates.Ask[int]{Key: i, Attempt: 1, RunKey: fmt.Sprint(i % keys)})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(m)
		return after.HeapAlloc - before.HeapAlloc
	}
	one, many := size(1), size(100_000)
	if per := int64(many-one) / 100_000; per > 1024 {
		t.Errorf("a key takes %d bytes", per)
	} else {
		t.Logf("a key takes %d bytes, a call %d", per, one/100_000)
	}
}

// What an admission costs, by the number of keys that wait.
func BenchmarkKeysAtAGate(b *testing.B) {
	breakers := map[string]spec.Breaker{"": {}, "/breaker": {Failures: 3, Cooldown: time.Minute, Wait: true}, "/breaker-of-each-key": {Failures: 3, Cooldown: time.Minute, Wait: true, PerKey: true}}
	for _, keys := range []int{1, 1000, 100_000} {
		for _, name := range slices.Sorted(maps.Keys(breakers)) {
			b.Run(fmt.Sprint(keys, name), func(b *testing.B) {
				m, err := gates.New[int](spec.Spec{Limit: 1, Mode: spec.Rejoin, Breaker: breakers[name]})
				if err != nil {
					b.Fatal(err)
				}
				names := make([]string, keys)
				for i := range names {
					names[i] = fmt.Sprint(i)
				}
				next, running := 0, 0
				enter := func() {
					for _, g := range m.Enter(1, gates.Ask[int]{Key: next, Attempt: 1, RunKey: names[next%keys]}).Granted {
						running = g.Key
					}
					next++
				}
				for range 100_000 {
					enter()
				}
				b.ReportAllocs()
				for b.Loop() {
					enter()
					for _, g := range m.Done(1, running, gates.Success).Granted {
						running = g.Key
					}
				}
			})
		}
	}
}

// TestT3_OneKeyHasBoundsOfItsOwn: they hold for it alone, are in its record, and are forgotten when they
// are taken back. A gate that has some is not forgotten.
func TestT3_OneKeyHasBoundsOfItsOwn(t *testing.T) {
	config := spec.Spec{Mode: spec.Hold, Limit: 100, PerKey: spec.PerKey{Limit: 1}}
	m, err := gates.New[int](config)
	if err != nil {
		t.Fatal(err)
	}
	bound := func(own *spec.PerKey) *gates.Step[int] {
		t.Helper()
		s, err := m.BoundKey(1, "ann", own)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := bound(&spec.PerKey{Limit: 3}); len(s.Shares) != 1 || s.Shares[0] != "ann" {
		t.Errorf("the records of %q changed", s.Shares)
	}
	for i := range 10 {
		m.Enter(2, gates.Ask[int]{Key: i, Attempt: 1, RunKey: []string{"ann", "bob"}[i%2]})
	}
	running := func() string {
		n := map[string]int{}
		for _, k := range m.Tickets() {
			if k.Phase == gates.Running {
				n[k.RunKey]++
			}
		}
		return fmt.Sprint(n)
	}
	if got := running(); got != "map[ann:3 bob:1]" {
		t.Errorf("there run %s", got)
	}
	m, err = gates.Restore(config, m.Record(), m.Tickets(), map[string]gates.ShareRecord{"ann": m.Share("ann")})
	if err != nil {
		t.Fatal(err)
	}
	bound(&spec.PerKey{Limit: 4})
	if got := running(); got != "map[ann:4 bob:1]" {
		t.Errorf("after a restart there run %s", got)
	}
	if _, err := m.BoundKey(3, "ann", &spec.PerKey{Limit: 101}); err == nil {
		t.Error("a key may have more than the gate")
	}
	for i := range 10 {
		m.Leave(4, i)
	}
	for range 2 { // with nothing else that would keep the key
		if m, err = gates.Restore[int](config, m.Record(), nil, map[string]gates.ShareRecord{"ann": m.Share("ann")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(m.OwnBounds()); got != "map[ann:4 slots]" {
		t.Errorf("after two restarts the keys have %s", got)
	}
	if m.Forgettable(5) {
		t.Error("the bounds of ann would be forgotten")
	}
	bound(nil)
	if m.Share("ann") != (gates.ShareRecord{}) || m.OwnBounds() != nil || !m.Forgettable(5) {
		t.Errorf("something is left: %+v", m.Share("ann"))
	}
}
