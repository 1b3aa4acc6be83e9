package core

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"pgregory.net/rapid"
)

// hall is a world of gates, runs of one call, and the messages between them, which take
// their time, keep their order, and may arrive again later.
type hall struct {
	t      rapid.TB
	random *rand.Rand
	now    int64
	delay  int64 // of a message, at most
	again  int   // one of so many messages arrives twice, 0 for none

	gates   map[string]*entrance
	guests  []*guest
	letters []letter
	last    map[[2]string]int64 // when the last message of a sender to a receiver arrives
	started []string            // guests, in the order in which their attempts started
	idlest  time.Duration       // that a slot was held and not used
	idle    time.Duration       // that all were
}

type entrance struct {
	*Gate
	spec  spec.Spec
	rows  map[int64]Row
	since map[string]grant // of guests that do not run
}

// grant is a slot that is held since a time.
type grant struct {
	at               int64
	attempt, returns int
}

type guest struct {
	name    string
	comes   int64
	length  time.Duration // of its attempts
	fails   int           // so many of its attempts
	run     *Run
	program *oneCall
	turns   []StoredTurn
	rows    map[int64]Row
	state   State
	ends    int64 // of the attempt that runs, 0 if none does
	attempt int
}

type letter struct {
	at   int64
	to   string
	gate *ToGate
	run  *FromGate
}

func newHall(t rapid.TB, seed uint64, specs ...spec.Spec) *hall {
	h := &hall{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: 1, delay: 1, gates: map[string]*entrance{}, last: map[[2]string]int64{}}
	for _, spec := range specs {
		h.gates[spec.Name] = &entrance{Gate: NewGate(spec.Name), spec: spec, rows: map[int64]Row{}, since: map[string]grant{}}
	}
	return h
}

func (h *hall) invite(g guest, policy retry.Policy, priority int, names ...string) {
	g.name = fmt.Sprint("g", len(h.guests))
	start := StartCall{Kind: history.ActivityScheduled, Name: "work", Policy: &policy, Priority: priority}
	for _, name := range slices.Sorted(slices.Values(names)) {
		start.Gates = append(start.Gates, history.GateSpec(h.gates[name].spec))
	}
	g.rows, g.program = map[int64]Row{}, &oneCall{start: start}
	g.begin()
	h.guests = append(h.guests, &g)
}

func (g *guest) begin() {
	g.run = New(Config{Node: "n"}, history.Start{WorkflowID: g.name, Run: g.name})
	g.program = &oneCall{run: g.run, start: g.program.start}
	g.run.Bind(g.program)
}

// next is when something happens, Never if nothing does any more.
func (h *hall) next() int64 {
	at := Never
	for _, l := range h.letters {
		at = min(at, l.at)
	}
	for _, d := range h.gates {
		at = min(at, d.NextDue())
	}
	for _, g := range h.guests {
		switch {
		case g.run.Ended():
		case g.turns == nil:
			at = min(at, g.comes)
		case g.ends != 0:
			at = min(at, g.ends)
		default:
			at = min(at, g.run.NextDue())
		}
	}
	return at
}

// over reports that all is done. A gate may still take a message that arrived again for a
// call, and find out that no call asks.
func (h *hall) over() bool {
	for _, d := range h.gates {
		if len(d.rows) > 0 {
			return false
		}
	}
	return len(h.letters) == 0 && !slices.ContainsFunc(h.guests, func(g *guest) bool { return !g.run.Ended() })
}

// turn lets happen what is due next.
func (h *hall) turn() {
	h.now = max(h.now, h.next())
	arrived := map[string][]Input{}
	h.letters = slices.DeleteFunc(h.letters, func(l letter) bool {
		switch {
		case l.at > h.now:
			return false
		case l.gate != nil:
			arrived[l.to] = append(arrived[l.to], *l.gate)
		default:
			arrived[l.to] = append(arrived[l.to], *l.run)
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(h.gates)) {
		if d := h.gates[name]; len(arrived[name]) > 0 || d.NextDue() <= h.now {
			h.stepGate(d, arrived[name])
		}
	}
	for _, g := range h.guests {
		if g.ends != 0 && g.ends <= h.now {
			ended := AttemptEnded{Call: 1, Attempt: g.attempt, Outcome: Completed, Ended: g.ends}
			if g.fails > 0 {
				g.fails--
				ended.Outcome, ended.Failure = Failed, history.FromError(errors.New("down"))
			}
			g.ends = 0
			arrived[g.name] = append(arrived[g.name], ended)
		}
		if g.turns == nil && g.comes <= h.now || g.turns != nil && !g.run.Ended() && (len(arrived[g.name]) > 0 || g.ends == 0 && g.run.NextDue() <= h.now) {
			h.stepRun(g, arrived[g.name])
		}
		if g.run.Ended() {
			for _, in := range arrived[g.name] {
				if said, is := in.(FromGate); is {
					if answer, due := said.Decline(); due {
						h.send(g.name, letter{to: said.Gate, gate: &answer})
					}
				}
			}
		}
	}
	h.judge()
}

func (h *hall) stepGate(d *entrance, inputs []Input) {
	out := d.Step(h.now, inputs)
	for _, row := range out.Rows {
		d.rows[row.Call] = row
	}
	for _, n := range out.Closed {
		delete(d.rows, n)
	}
	for i := range out.Say {
		h.send(d.name, letter{to: out.Say[i].Ticket.Run, run: &out.Say[i]})
	}
	if len(out.Faults) > 0 {
		h.t.Fatalf("%v", out.Faults)
	}
}

func (h *hall) stepRun(g *guest, inputs []Input) {
	out, err := g.run.Step(h.now, inputs, func(*Call) bool { return true })
	if err != nil {
		h.t.Fatal(err)
	}
	if len(out.Events) > 0 {
		g.turns = append(g.turns, StoredTurn{Number: out.Number, Epoch: 1, Time: out.Time, Events: slices.Clone(out.Events)})
	}
	for _, row := range out.Rows {
		g.rows[row.Call] = row
	}
	for _, n := range out.Closed {
		delete(g.rows, n)
	}
	if out.State != nil {
		g.state = *out.State
	}
	for i := range out.Gates {
		h.send(g.name, letter{to: out.Gates[i].Gate, gate: &out.Gates[i]})
	}
	for _, x := range out.Dispatch {
		g.attempt, g.ends = x.Attempt, max(h.now, x.Started)+int64(g.length)
		h.started = append(h.started, g.name)
	}
}

func (h *hall) send(from string, l letter) {
	pair := [2]string{from, l.to}
	l.at = max(h.now+h.random.Int64N(h.delay), h.last[pair])
	h.last[pair] = l.at
	h.letters = append(h.letters, l)
	if h.again > 0 && h.random.IntN(h.again) == 0 {
		l.at += h.random.Int64N(5 * int64(time.Second))
		h.letters = append(h.letters, l)
	}
}

// crash makes a gate, or a run whose attempt is lost, again from its records.
func (h *hall) crash() {
	if h.random.IntN(2) == 0 {
		d := h.gates[slices.Sorted(maps.Keys(h.gates))[h.random.IntN(len(h.gates))]]
		if d.Gate.machine == nil {
			return
		}
		gate, err := LoadGate(d.name, slices.Collect(maps.Values(d.rows)), d.State())
		if err != nil {
			h.t.Fatal(err)
		}
		d.Gate = gate
		return
	}
	g := h.guests[h.random.IntN(len(h.guests))]
	if g.turns == nil || g.run.Ended() {
		return
	}
	g.begin()
	if err := g.run.Load(g.turns, slices.Collect(maps.Values(g.rows)), g.state); err != nil {
		h.t.Fatal(err)
	}
	g.ends = 0
	h.stepRun(g, []Input{TakenOver{}})
}

// judge holds the limits, and how long slots are held and not used. No call keeps one for
// longer than its patience, and what messages take.
func (h *hall) judge() {
	inside := map[string]int{}
	for _, d := range h.gates {
		if d.machine != nil {
			if s := d.Stats(h.now); s.Holders > d.spec.Limit {
				h.t.Fatalf("%d hold %s, which lets %d pass", s.Holders, d.name, d.spec.Limit)
			}
		}
		held := map[string]grant{}
		if d.machine != nil {
			for _, ticket := range d.Tickets() {
				if ticket.Phase == gates.Running {
					held[ticket.Key.Run] = grant{h.now, ticket.Attempt, ticket.Returns}
				}
			}
		}
		for _, g := range h.guests {
			c := g.program.call
			if g.ends != 0 && slices.ContainsFunc(c.Gates, func(s history.GateSpec) bool { return s.Name == d.name }) {
				inside[d.name]++
			}
			now, holds := held[g.name]
			if was := d.since[g.name]; !holds || g.ends != 0 {
				if was.at != 0 {
					h.idle += time.Duration(h.now - was.at)
				}
				delete(d.since, g.name)
			} else if was.attempt != now.attempt || was.returns != now.returns {
				d.since[g.name] = now
			} else if idle := h.now - was.at; c != nil {
				h.idlest = max(h.idlest, time.Duration(idle))
				if most := int64(gates.Patience(Patience, true, c.Returned)) + 4*h.delay; idle > most {
					h.t.Fatalf("%s holds %s and has not used it for %s, and gave back %d times", g.name, d.name, time.Duration(idle), c.Returned)
				}
			}
		}
		if inside[d.name] > d.spec.Limit {
			h.t.Fatalf("%d attempts run behind %s, which lets %d pass", inside[d.name], d.name, d.spec.Limit)
		}
	}
}

// run goes on until all is done, and no call is left at a gate.
func (h *hall) run(crashes int) {
	for range 50_000 {
		if h.over() || h.next() == Never {
			break
		}
		h.turn()
		if crashes > 0 && h.random.IntN(20) == 0 {
			crashes--
			h.crash()
		}
	}
	if !h.over() {
		for _, d := range h.gates {
			for _, row := range d.rows {
				h.t.Errorf("a ticket of %s is left: %s", d.name, row.Data)
			}
		}
		for _, g := range h.guests {
			if c := g.program.call; c != nil && !c.Done {
				h.t.Errorf("%s waits: %+v", g.name, c.Progress)
			}
		}
		h.t.Fatalf("it does not end; it is %s", time.Duration(h.now))
	}
}

// TestE96_RandomArrivals: calls through any of three gates come, fail, wait for messages
// that take long or arrive twice, and lose their processes. Limits hold, no slot is held
// for longer than the patience of its call, every call starts, and none is left.
func TestE96_RandomArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var specs []spec.Spec
		names := []string{"a", "b", "c"}
		for _, name := range names {
			s := spec.Spec{Name: name, Limit: rapid.IntRange(1, 3).Draw(t, "limit"), Mode: rapid.SampledFrom([]spec.Mode{spec.Hold, spec.Release, spec.Rejoin}).Draw(t, "mode")}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				s.Rate = spec.Rate{PerSecond: 0.5, Burst: rapid.IntRange(1, 2).Draw(t, "burst")}
			case 1:
				s.Breaker = spec.Breaker{Failures: 2, Cooldown: 5 * time.Second, Wait: true}
			}
			specs = append(specs, s)
		}
		h := newHall(t, rapid.Uint64().Draw(t, "seed"), specs...)
		h.delay = int64(rapid.SampledFrom([]time.Duration{1, 10 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second}).Draw(t, "delay"))
		h.again = rapid.SampledFrom([]int{0, 3}).Draw(t, "again")
		policy := retry.Policy{MaxAttempts: 1000, CrashLimit: 1000, Backoff: retry.Fixed(700 * time.Millisecond)}
		for range rapid.IntRange(2, 25).Draw(t, "guests") {
			through := slices.DeleteFunc(slices.Clone(names), func(string) bool { return rapid.IntRange(0, 2).Draw(t, "not through") == 0 })
			g := guest{
				comes: 1 + int64(time.Second)*rapid.Int64Range(0, 20).Draw(t, "comes"), length: time.Duration(rapid.Int64Range(1, 20_000).Draw(t, "ms")) * time.Millisecond,
				fails: rapid.IntRange(0, 2).Draw(t, "fails"),
			}
			h.invite(g, policy, rapid.IntRange(0, 1).Draw(t, "priority"), through...)
		}
		h.run(rapid.IntRange(0, 8).Draw(t, "crashes"))
	})
}

// startedBefore counts the attempts of others that started before the first one of a guest.
func (h *hall) startedBefore(g *guest) int { return slices.Index(h.started, g.name) }

var steady = retry.Policy{MaxAttempts: 1}

func guestOf(comes, length time.Duration) guest {
	return guest{comes: 1 + int64(comes), length: length}
}

// TestE96_WhatAWaiterGivesBackIsUsed: one that needs both gates comes first, and waits an
// hour for the second. Others pass the first one meanwhile; then it is the next.
func TestE96_WhatAWaiterGivesBackIsUsed(t *testing.T) {
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} { // the free gate, and the one that is held
		h := newHall(t, 1, spec.Spec{Name: "a", Limit: 1, Mode: spec.Rejoin}, spec.Spec{Name: "b", Limit: 1, Mode: spec.Rejoin})
		h.invite(guestOf(0, time.Hour), steady, 0, order[1])
		h.invite(guestOf(time.Second, time.Minute), steady, 0, "a", "b")
		both := h.guests[1]
		for i := range 100 {
			h.invite(guestOf(time.Minute+time.Duration(i)*time.Second, time.Minute), steady, 0, order[0])
		}
		h.run(0)
		// 58 or 59 minutes after the others came, and what is under way then ends first.
		if n := h.startedBefore(both); n < 58 || n > 62 {
			t.Errorf("behind %s %d started before the one that waited", order[0], n)
		}
		if h.idlest > Patience+time.Minute { // in the end it holds one until the other ends
			t.Errorf("a slot was held and not used for %s", h.idlest)
		}
	}
}

// TestE96_NobodyStarves: both gates are always full of attempts that take ten minutes, and
// more are in line. Those that need both get both, although no two slots come free at a
// time.
func TestE96_NobodyStarves(t *testing.T) {
	h := newHall(t, 1, spec.Spec{Name: "a", Limit: 3, Mode: spec.Rejoin}, spec.Spec{Name: "b", Limit: 2, Mode: spec.Rejoin})
	const length = 10 * time.Minute
	for i := range 100 {
		h.invite(guestOf(time.Duration(i)*7*time.Second, length+time.Duration(i)*time.Second), steady, 0, "a")
		h.invite(guestOf(time.Duration(i)*11*time.Second, length+time.Duration(i)*time.Second), steady, 0, "b")
	}
	first := len(h.guests)
	for range 3 {
		h.invite(guestOf(10*time.Second, time.Minute), steady, 0, "a", "b")
	}
	h.run(0)
	for _, g := range h.guests[first:] {
		if n := h.startedBefore(g); n > 40 { // of 200
			t.Errorf("%s is the %dth to start", g.name, n)
		}
	}
	// A slot of b comes free every five minutes. A call that keeps what it has waits nine for one.
	if h.idlest > 5*time.Minute {
		t.Errorf("a slot was held and not used for %s", h.idlest)
	}
}

// TestE96_ACrowdKeepsNothingIdle: many that need both gates wait for the narrow one. The
// wide one is used by others meanwhile, but for the slot that works with it, and for
// moments.
func TestE96_ACrowdKeepsNothingIdle(t *testing.T) {
	h := newHall(t, 1, spec.Spec{Name: "a", Limit: 10, Mode: spec.Rejoin}, spec.Spec{Name: "b", Limit: 1, Mode: spec.Rejoin})
	h.delay = int64(20 * time.Millisecond)
	length := func() time.Duration { return time.Duration(30+h.random.IntN(60)) * time.Second }
	for range 30 {
		h.invite(guestOf(0, length()), steady, 0, "a", "b")
	}
	for range 240 {
		h.invite(guestOf(0, length()), steady, 0, "a")
	}
	h.run(0)
	// There is work for half an hour of either gate. A call that keeps what it has while it waits
	// holds slots for 40 minutes in vain, one of them for four.
	if took := time.Duration(h.now); took > 33*time.Minute || h.idle > 6*time.Minute || h.idlest > 30*time.Second {
		t.Errorf("it took %s; slots were held in vain for %s, one of them for %s", took, h.idle, h.idlest)
	}
}
