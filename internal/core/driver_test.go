package core_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// beginning is the engine time at which the runs of these tests are created.
var beginning = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// tester is a test, of package testing or of rapid.
type tester interface {
	rapid.TB
	Cleanup(func())
}

// maker makes the program of a run.
type maker func(*core.Run) seal.Instance

// driver is the shell around one machine: it keeps what a store would keep, as
// bytes where a store keeps bytes, and holds every turn against the invariants.
type driver struct {
	t      tester
	start  history.Start
	policy retry.Policy // of the engine
	near   int64
	epoch  int64
	now    int64

	code     maker // nil: missing
	run      *core.Run
	instance seal.Instance

	turns  []storedTurn
	rows   map[int64]core.Row
	state  core.State
	ledger []core.Record
	counts map[string]core.Tally // all tallies, by name

	running map[core.AttemptRef]core.Dispatch // started and not ended
	begun   map[core.AttemptRef]bool          // ever started
	known   map[core.AttemptRef]bool          // on record with an end
	highest map[int64]int
	due     map[int64]int64 // of calls in backoff
	closed  map[int64]bool
	before  map[int64]bool            // calls that were closed in the run from which the history is
	late    map[int64]bool            // those of them whose end takes effect after the code has gone on
	asked   map[askedGate]core.ToGate // what gates were told last

	children map[int64]*childBook // that were started, by call
}

// childBook is what the driver knows of a run that its run has started.
type childBook struct {
	run           string
	detached      bool
	onParentClose history.OnParentClose
	begun, told   bool // a message said so
	over          bool // its outcome is on record
}

// askedGate is a gate of a call.
type askedGate struct {
	call int64
	gate string
}

// storedTurn is a turn as a store keeps it.
type storedTurn struct {
	number, epoch, time int64
	events              []byte
}

func newDriver(t tester, c maker, input any) *driver {
	t.Helper()
	payload, err := history.Encode(input)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{
		t: t, code: c, epoch: 1, now: beginning,
		start: history.Start{
			Kind: history.RunStarted, Format: history.Format, WorkflowID: "order-1", Run: "r1", Type: "test",
			Chain: "r1", Attempt: 1, Input: payload, Created: beginning,
		},
		rows: map[int64]core.Row{}, state: core.State{Status: core.StatusRunning, Wake: core.Hot},
		running: map[core.AttemptRef]core.Dispatch{}, begun: map[core.AttemptRef]bool{},
		known: map[core.AttemptRef]bool{}, counts: map[string]core.Tally{}, highest: map[int64]int{}, due: map[int64]int64{}, closed: map[int64]bool{},
		asked: map[askedGate]core.ToGate{}, children: map[int64]*childBook{},
	}
	d.run, d.instance = d.build(c)
	t.Cleanup(func() { d.drop() })
	return d
}

func (d *driver) build(c maker) (*core.Run, seal.Instance) {
	config := core.Config{
		Node: nodeName(d.epoch), Policy: &d.policy, Owner: nodeName, Near: d.near, Tell: true,
		Draw: func(string, int64, int) float64 { return 0.5 }, // proportional jitter changes nothing
	}
	run := core.New(config, d.start)
	if c == nil {
		return run, nil
	}
	instance := c(run)
	run.Bind(instance)
	return run, instance
}

// calls returns the rows with one for each call. No call may have two.
func (d *driver) calls() map[int64]core.Row {
	d.t.Helper()
	all := map[int64]core.Row{}
	for _, row := range d.rows {
		for _, own := range apart(row) {
			if before, has := all[own.Call]; has {
				d.t.Fatalf("call %d has two rows: %+v and %+v", own.Call, before, row)
			}
			all[own.Call] = own
		}
	}
	return all
}

// apart returns a row for each call that a row is about.
func apart(row core.Row) (all []core.Row) {
	first, last := row.First, row.Call
	if first == 0 {
		first = last
	}
	row.First = 0
	for row.Call = first; row.Call <= last; row.Call++ {
		all = append(all, row)
	}
	return all
}

func nodeName(epoch int64) string { return fmt.Sprintf("node-%d", epoch) }

// drop unwinds the code.
func (d *driver) drop() {
	if d.instance != nil {
		<-d.instance.Close()
	}
	d.run, d.instance = nil, nil
}

// load makes a machine from the records.
func (d *driver) load(c maker) (*core.Run, seal.Instance, error) {
	return d.loadTurns(c, d.turns, slices.Collect(maps.Values(d.rows)), d.state)
}

func (d *driver) loadTurns(c maker, turns []storedTurn, rows []core.Row, state core.State) (*core.Run, seal.Instance, error) {
	run, instance := d.build(c)
	stored := make([]core.StoredTurn, len(turns))
	for i, t := range turns {
		events, err := history.DecodeTurn(t.events)
		if err != nil {
			d.t.Fatalf("turn %d: %v", t.number, err)
		}
		stored[i] = core.StoredTurn{Number: t.number, Epoch: t.epoch, Time: t.time, Events: events}
	}
	slices.SortFunc(rows, func(a, b core.Row) int { return int(a.Call - b.Call) })
	return run, instance, run.Load(stored, rows, state)
}

// reload drops the machine and makes it again, with the given code.
func (d *driver) reload(c maker) error {
	d.drop()
	run, instance, err := d.load(c)
	if err != nil {
		if instance != nil {
			<-instance.Close()
		}
		return err
	}
	d.code, d.run, d.instance = c, run, instance
	return nil
}

// crash is reload on another node, with no attempt left alive.
func (d *driver) crash(c maker) error {
	d.epoch++
	clear(d.running)
	return d.reload(c)
}

// alive are the attempts that run.
func (d *driver) alive() []core.AttemptRef {
	refs := slices.Collect(maps.Keys(d.running))
	slices.SortFunc(refs, func(a, b core.AttemptRef) int { return int(a.Call-b.Call)*1000 + a.Attempt - b.Attempt })
	return refs
}

// step takes a step, keeps what it says, and checks that a machine made from the
// records is the machine that took it.
func (d *driver) step(inputs []core.Input, admit func(*core.Call) bool) (*core.Turn, error) {
	d.t.Helper()
	turn, err := d.run.Step(d.now, inputs, admit)
	if err != nil {
		return nil, err
	}
	d.keep(turn)
	if !d.run.Ended() {
		d.checkReload()
	}
	return turn, nil
}

func (d *driver) keep(turn *core.Turn) {
	d.t.Helper()
	if len(turn.Events) > 0 {
		if want := int64(len(d.turns)) + 1; turn.Number != want {
			d.t.Fatalf("the turn has number %d, want %d", turn.Number, want)
		}
		d.checkEvents(turn.Events)
		data, err := history.EncodeTurn(turn.Events)
		if err != nil {
			d.t.Fatal(err)
		}
		d.turns = append(d.turns, storedTurn{turn.Number, d.epoch, turn.Time, data})
	}
	for _, m := range turn.Gates {
		key := askedGate{m.Ticket.Call, m.Gate}
		if m.Word == core.GateReturn { // the grant that is given back may arrive again
			continue
		}
		if delete(d.asked, key); m.Word == core.GateEnter || m.Word == core.GateBackoff && m.Judge {
			d.asked[key] = m
		}
	}
	for _, row := range turn.Rows {
		d.rows[row.Call] = row
		for _, row := range apart(row) {
			if row.State == core.External { // it runs outside
				delete(d.running, core.AttemptRef{Call: row.Call, Attempt: row.Attempt})
			}
			if row.Due != 0 {
				d.due[row.Call] = row.Due
			}
		}
	}
	for _, n := range turn.Closed {
		if _, ok := d.rows[n]; !ok {
			d.t.Errorf("the row of call %d is deleted but was never written", n)
		}
		delete(d.rows, n)
	}
	for n := range d.calls() {
		if d.closed[n] {
			d.t.Errorf("call %d is closed and has a row", n)
		}
	}
	for _, rec := range turn.Attempts {
		d.keepRecord(rec)
	}
	if turn.State != nil {
		d.state = *turn.State
	}
	d.keepChildren(turn)
	d.keepAttempts(turn)
	d.keepTallies(turn)
	d.checkWake(turn)
}

// keepChildren holds what a run says to others against what is on record: each child
// is begun once, in the turn that has it on record, and told nothing before; and no
// child is left that was to end with its parent (I6).
func (d *driver) keepChildren(turn *core.Turn) {
	d.t.Helper()
	for _, e := range turn.Events {
		if e.Kind == history.ChildScheduled || e.Kind == history.DetachedScheduled {
			d.children[e.Call] = &childBook{run: e.Child.Run, detached: e.Kind == history.DetachedScheduled, onParentClose: e.Child.OnParentClose}
		} else if c := d.children[e.Call]; c != nil && e.Child != nil {
			c.over = true
		}
	}
	tell := func(chain string, terminate bool) {
		for _, c := range d.children {
			if c.run == chain {
				c.told = true
				if !c.begun || c.detached || terminate && c.onParentClose != history.TerminateChild {
					d.t.Errorf("child %+v is told to end", *c)
				}
				return
			}
		}
		d.t.Errorf("nobody knows the child %s", chain)
	}
	for _, m := range turn.Messages {
		switch in := m.Input.(type) {
		case nil:
			c := d.children[m.Start.Parent.Call]
			if c.begun || c.run != m.Start.Run {
				d.t.Errorf("child %+v begins as %s", *c, m.Start.Run)
			}
			c.begun = true
		case core.Control:
			if in.Operation != core.SignalTheRun {
				tell(in.Chain, in.Operation == core.TerminateTheRun)
			}
		}
	}
	for n, c := range d.children {
		if !c.begun {
			d.t.Errorf("child %d was never begun", n)
		}
		if turn.Ended && !c.over && !c.told && !c.detached && c.onParentClose != history.AbandonChild {
			d.t.Errorf("child %d is left: %+v", n, *c)
		}
	}
}

// checkWake sees that the row of the run wakes it when it has something to do.
func (d *driver) checkWake(turn *core.Turn) {
	d.t.Helper()
	switch {
	case d.state.Wake != d.run.State().Wake || d.state.Status != d.run.State().Status:
		d.t.Errorf("the row says %+v, the machine %+v", d.state, d.run.State())
	case turn.Ended && d.state.Wake != core.Never:
		d.t.Errorf("an ended run wakes at %s", at(d.state.Wake))
	case !d.run.Idle() && d.state.Wake != core.Hot:
		d.t.Errorf("a run with attempts in flight or queued wakes at %s", at(d.state.Wake))
	case !turn.Ended && d.state.Wake > d.run.NextDue():
		d.t.Errorf("the run wakes at %s, it is due at %s", at(d.state.Wake), at(d.run.NextDue()))
	}
}

func (d *driver) keepRecord(rec core.Record) {
	d.t.Helper()
	ref := core.AttemptRef{Call: rec.Call, Attempt: rec.Attempt}
	if slices.ContainsFunc(d.ledger, func(r core.Record) bool { return r.Call == rec.Call && r.Attempt == rec.Attempt }) {
		d.t.Errorf("attempt %d.%d is in the ledger twice", rec.Call, rec.Attempt)
	}
	if rec.Started != 0 && !d.begun[ref] && rec.Name != core.BlockName {
		d.t.Errorf("attempt %d.%d is in the ledger as started but was not", rec.Call, rec.Attempt)
	}
	d.known[ref] = true
	d.ledger = append(d.ledger, rec)
	delete(d.running, ref)
}

func (d *driver) keepAttempts(turn *core.Turn) {
	d.t.Helper()
	for _, in := range turn.Interrupt {
		ref := core.AttemptRef(in)
		if d.run.StateOf(in.Call) == "" {
			delete(d.running, ref)
		}
	}
	for _, x := range turn.Dispatch {
		ref := core.AttemptRef{Call: x.Call, Attempt: x.Attempt}
		if x.Started < d.due[x.Call] { // I7
			d.t.Errorf("attempt %d.%d starts at %s, it is due at %s", x.Call, x.Attempt, at(x.Started), at(d.due[x.Call]))
		}
		if d.begun[ref] || x.Attempt <= d.highest[x.Call] {
			d.t.Errorf("attempt %d.%d starts after attempt %d", x.Call, x.Attempt, d.highest[x.Call])
		}
		if row, ok := d.calls()[x.Call]; x.Attempt > 1 && (!ok || row.State != core.Dispatched || row.Attempt != x.Attempt) {
			d.t.Errorf("attempt %d.%d starts without a row that says so", x.Call, x.Attempt)
		}
		d.begun[ref], d.running[ref], d.highest[x.Call] = true, x, x.Attempt
	}
	if !turn.Ended {
		return
	}
	clear(d.running)
	if len(d.rows) > 0 {
		d.t.Errorf("the run ended and left rows: %v", d.rows)
	}
	for ref := range d.begun {
		if !d.known[ref] {
			d.t.Errorf("attempt %d.%d was started and has no record of its end", ref.Call, ref.Attempt)
		}
	}
}

// checkEvents holds a turn against the rules of history: inputs before commands,
// one end per call, nothing after the end of the run.
func (d *driver) checkEvents(events []history.Event) {
	d.t.Helper()
	commands, ended := false, false
	for i, e := range events {
		if ended {
			d.t.Errorf("%s stands after the end of the run", e.Kind)
		}
		if commands && !e.Kind.Command() {
			d.t.Errorf("the input %s stands after a command", e.Kind)
		}
		commands = e.Kind.Command()
		ended = e.Kind.Terminal()
		switch e.Kind {
		case history.CallControlled:
			if e.Operation == string(core.RetryNow) && e.Outcome == core.Applied {
				delete(d.due, e.Call)
			}
		case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled:
			d.close(e.Call)
		case history.CallCancelRequested:
			if e.Closed && d.late[e.Call] {
				delete(d.late, e.Call) // the code gave up what had an end that has not taken effect yet
			} else if e.Closed {
				d.close(e.Call)
			}
		case history.AttemptStarted:
			d.known[core.AttemptRef{Call: e.Call, Attempt: e.Attempt}] = true
			if i+1 >= len(events) || events[i+1].Call != e.Call {
				d.t.Errorf("AttemptStarted of call %d does not stand before the end of the call", e.Call)
			}
			if e.Queued > e.Started {
				d.t.Errorf("attempt %d.%d was queued after it was started", e.Call, e.Attempt)
			}
		}
	}
}

func (d *driver) close(call int64) {
	if d.closed[call] {
		d.t.Errorf("call %d ends twice", call)
	}
	d.closed[call] = true
	for ref := range d.running {
		if ref.Call == call {
			delete(d.running, ref)
		}
	}
}

// checkReload makes a second machine from the records and compares.
func (d *driver) checkReload() {
	d.t.Helper()
	run, instance, err := d.load(d.code)
	if instance != nil {
		defer func() { <-instance.Close() }()
	}
	if err != nil {
		d.t.Fatalf("after turn %d the run cannot be loaded: %v", len(d.turns), err)
	}
	if got, want := run.Dump(), d.run.Dump(); got != want {
		d.t.Fatalf("after turn %d a machine made from the records differs\n--- in memory\n%s--- from records\n%s", len(d.turns), want, got)
	}
}

// outcome is how the run ended.
func (d *driver) outcome() core.Detail {
	d.t.Helper()
	detail, err := core.DecodeDetail(d.state.Detail)
	if err != nil {
		d.t.Fatal(err)
	}
	return detail
}

// events are all events on record.
func (d *driver) events() []history.Event {
	var all []history.Event
	for _, t := range d.turns {
		events, err := history.DecodeTurn(t.events)
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}

func anySlot(*core.Call) bool { return true }

// scriptError is an error as scripts and the generator make it.
type scriptError struct{ kind, text string }

func (e *scriptError) Error() string     { return e.text }
func (e *scriptError) ErrorType() string { return e.kind }

// errDeclined is a sentinel, for what must hold after a replay.
var errDeclined = errors.New("the card was declined")

func init() { retry.RegisterError("core_test.Declined", errDeclined) }
