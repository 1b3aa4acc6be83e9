package post

import (
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// TestAMessageIsDeliveredOnce: by whichever location of its partition a look reads it, until it
// is forgotten; and a consumed one is known until no look can show it any more.
func TestAMessageIsDeliveredOnce(t *testing.T) {
	o := NewOffice()
	home, ward, other := o.Open(1), o.Open(store.Place(1, 1)), o.Open(2)
	if !home.Claim(7) || home.Claim(7) || ward.Claim(7) {
		t.Error("it is delivered twice, or not at all")
	}
	if !other.Claim(7) {
		t.Error("partitions number their messages together")
	}
	home.PassOn(ward, 7)
	if waiting, _ := home.Pending(); waiting != 0 {
		t.Error("it waits in two places")
	}
	early := o.Begin(1, []*Box{ward})
	ward.Consumed([]int64{7})
	early.End()
	if home.Claim(7) {
		t.Error("a look that began before it was consumed may show it again")
	}
	late := o.Begin(2, []*Box{ward})
	late.Whole = true
	late.End()
	if !ward.HeardSince(2) || ward.HeardSince(3) || home.HeardSince(0) {
		t.Error("the look heard another time, or another box")
	}
	if !home.Claim(7) {
		t.Error("its number is kept for ever")
	}
	o.ForgetAt(1, []int64{7})
	if !ward.Claim(7) {
		t.Error("a forgotten one is not delivered again")
	}
}

// TestMailWaitsForTheStart: messages for a workflow ID wait while a start message of it waits,
// and are routed again when that is decided.
func TestMailWaitsForTheStart(t *testing.T) {
	o := NewOffice()
	b := o.Open(1)
	if _, ok := b.Start("id", "first", 1); !ok {
		t.Fatal("the first start does not come about")
	}
	o.Direct("id", Route{Box: b, Run: "first", Stage: Starting})
	if b.Receiver("id") != "first" || o.Open(store.Place(1, 1)).Receiver("id") != "" {
		t.Error("the latest run of the ID is another one, or at another location")
	}
	b.Claim(2)
	if _, ok := b.Start("id", "second", 2); ok {
		t.Fatal("two runs get the ID")
	}
	b.Claim(3)
	if !b.DeferUntilStart(3, "id", "second") || b.DeferUntilStart(4, "id", "third") || b.DeferUntilStart(5, "other", "") {
		t.Error("not the messages for the run that waits are deferred")
	}
	if b.Decided("id", "second") || !b.Decided("id", "first") {
		t.Error("the start that is decided is not the first")
	}
	if b.Receiver("id") != "" || !b.Claim(2) || !b.Claim(3) {
		t.Error("what waited is not routed again")
	}
}

// TestMailIsSortedByMoment: messages of the inbox keep the order of their numbers, and a claim
// comes first.
func TestMailIsSortedByMoment(t *testing.T) {
	all := []Mail{
		{Input: core.WorkerGone{}, At: 35}, {Sequence: 1, At: 50}, {Sequence: 2, At: 30}, {At: 40, Input: core.SlotsOpen{}}, {Sequence: 3, Input: core.Claimed{}}, {Sequence: 4, At: 60},
	}
	Sort(all)
	var got []int64
	for _, m := range all {
		got = append(got, m.Sequence)
	}
	if want := []int64{3, 0, 1, 2, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if Rest(all).At != 35 || Rest(nil).At != 0 || len(Sequences(all)) != 4 {
		t.Error("the first moment is not that of the worker that is gone, or the numbers are others")
	}
	outside := core.AttemptEnded{Call: 2, Attempt: 1, Outside: true}
	if more := Rest([]Mail{{Input: core.AttemptEnded{Call: 1}, At: 5}, {Input: outside, At: 9}, {At: 7}}); more.At != 5 || len(more.Ends) != 1 || more.Ends[0].Call != 2 {
		t.Errorf("of what waits it says %+v", more)
	}
}

// TestWhatRunsWaitForIsRead: a look for which runs wait reads the boxes that asked, and says
// whose messages they wait for.
func TestWhatRunsWaitForIsRead(t *testing.T) {
	o := NewOffice()
	a, b, gone := o.Open(1), o.Open(2), o.Open(3)
	a.Ask("x")
	gone.Ask("y")
	gone.Close()
	l := b.BeginAsked(5, "", []*Box{a, b, gone})
	if !l.Awaited() || !l.Asks(a) || !l.Asks(b) || l.Asks(gone) || (*Look)(nil).Asks(a) {
		t.Error("not those are asked for that asked")
	}
	if !l.Wants(a, &store.Message{WorkflowID: "x"}) || l.Wants(a, &store.Message{WorkflowID: "z"}) || !l.Wants(b, &store.Message{WorkflowID: "z"}) {
		t.Error("it wants other messages")
	}
	a.Ask("x")
	l.Whole = true
	l.End()
	if !a.Heard(5, "x") || a.Heard(6, "x") {
		t.Error("it heard another time")
	}
	if next := b.BeginAsked(7, "", []*Box{a, b, gone}); next.Asks(a) {
		t.Error("what was heard is asked for again")
	}
}

// TestWhatALookPassesOverIsNotHeard: a location that is being handed over, of which a regular look
// delivers nothing, is read again for its runs.
func TestWhatALookPassesOverIsNotHeard(t *testing.T) {
	o := NewOffice()
	a, b := o.Open(1), o.Open(2)
	a.Ask("x")
	l := o.Begin(5, []*Box{a, b})
	l.PassOver(a)
	(*Look)(nil).PassOver(a)
	l.Whole = true
	l.End()
	if a.HeardSince(0) || a.Heard(0, "x") || !b.HeardSince(5) {
		t.Error("it heard what it passed over, or not what it read")
	}
	next := a.BeginAsked(6, "x", []*Box{a, b})
	next.Whole = true
	if next.End(); !a.HeardSince(6) {
		t.Error("it did not hear what it was asked for")
	}
}

// TestE48_ALookKeepsTheOrder: a look that leaves messages of a page to others, because the node is crowded,
// leaves those of later pages too. Else a run would hear its third message before its first.
func TestE48_ALookKeepsTheOrder(t *testing.T) {
	o := NewOffice()
	b := o.Open(1)
	awaited := b.BeginAsked(1, "id", []*Box{b})
	if awaited.Leaves(false) || !awaited.Leaves(true) || !awaited.Leaves(false) {
		t.Error("it leaves messages when it need not, or goes on with later ones")
	}
	if regular := o.Begin(1, []*Box{b}); regular.Leaves(true) {
		t.Error("a look for which nobody waits ends, and leaves nothing out")
	}
}

// TestALookForSomeAnswersThem: a look that has read only what some runs wait for has answered them,
// each once, and nobody else; one that did not get that far has answered nobody.
func TestALookForSomeAnswersThem(t *testing.T) {
	o := NewOffice()
	b, other := o.Open(1), o.Open(2)
	all := func() []*Box { return []*Box{b, other} }
	b.Ask("x")
	l := b.BeginAsked(5, "y", all())
	if got := l.Awaits(); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("it reads what is for %q", got)
	}
	l.End()
	if b.Heard(5, "x") || b.Heard(5, "y") {
		t.Error("a look that did not reach the end answered somebody")
	}
	b.Ask("x")
	other.Ask("y")
	l = other.BeginAsked(7, "y", all())
	l.Through = true
	l.End()
	if b.HeardSince(1) || b.Heard(7, "y") || b.Heard(8, "x") || !other.Heard(7, "y") {
		t.Error("it answered others, or of another time")
	}
	b.Ask("x")
	l = b.BeginAsked(9, "x", all())
	l.Through = true
	l.End()
	if !b.Heard(9, "x") || b.Heard(9, "x") {
		t.Error("who asked is answered once")
	}
	other.Ask("")
	if l = b.BeginAsked(10, "x", all()); l.Awaits() != nil {
		t.Error("somebody waits for all of a box, and not all is read")
	}
	l.Through = true
	l.End()
	if !other.HeardSince(10) || b.HeardSince(10) {
		t.Error("a box of which all was read is not heard, or one of which something was left is")
	}
}
