package message

import (
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

var group = store.Group{First: 8, Partitions: 8}

// TestMessagesArriveAsTheyWereSent sends what runs, gates and people say.
func TestMessagesArriveAsTheyWereSent(t *testing.T) {
	value := history.Payload{Encoding: history.EncodingJSON, Data: []byte("1")}
	ticket := core.TicketKey{Workflow: "w", Run: "r", Call: 2, Ticket: 3}
	for _, in := range []core.Input{
		core.Control{Operation: core.SignalTheRun, Signal: "paid", SignalID: "one", Value: value},
		core.Control{Operation: core.CancelTheRun, Reason: "late", Chain: "c"},
		core.Control{Operation: core.TerminateTheRun, Reason: "late", Chain: "c"},
		core.FromChild{Call: 4, Status: core.ChildStarted, Run: "child"},
	} {
		m, err := FromRun(group, &core.Message{WorkflowID: "w", Run: "r", Input: in})
		arrives(t, m, err, in)
	}
	toGate := core.ToGate{Gate: "g", Word: core.GateResume, Ticket: ticket}
	arrives(t, ToGate(group, &toGate), nil, toGate)
	fromGate := core.FromGate{Gate: "g", Ticket: ticket}
	arrives(t, FromGate(group, &fromGate), nil, fromGate)
	toSchedule := core.ToSchedule{Word: core.ScheduleDelete, By: "ann"}
	arrives(t, ToSchedule(group, "s", &toSchedule), nil, toSchedule)
}

func arrives(t *testing.T, m store.Message, err error, want core.Input) {
	t.Helper()
	if err != nil {
		t.Errorf("%T: %v", want, err)
		return
	}
	if m.Key == "" || m.Partition != entity.Place(group, m.WorkflowID) {
		t.Errorf("%T is a message with the key %q to partition %d", want, m.Key, m.Partition)
	}
	got, err := Input(m)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v arrives as %+v, %v", want, got, err)
	}
}

func TestKeysSayWhichMessagesCount(t *testing.T) {
	same := func(what string, a, b store.Message, want bool) {
		t.Helper()
		if got := a.Key == b.Key; got != want {
			t.Errorf("%s: the keys are %q and %q", what, a.Key, b.Key)
		}
	}
	signal := func(id string) store.Message {
		m, _ := Request(group, "w", "", &core.Control{Operation: core.SignalTheRun, Signal: "paid", SignalID: id})
		return m
	}
	same("signals with one ID", signal("one"), signal("one"), true)
	same("signals without an ID", signal(""), signal(""), false)
	alike, _ := Request(group, "w", "", &core.Control{Operation: core.SignalTheRun, Signal: "a/id/b", SignalID: "c"})
	other, _ := Request(group, "w", "", &core.Control{Operation: core.SignalTheRun, Signal: "a", SignalID: "b/id/c"})
	same("signals that look alike", alike, other, false)
	m := core.ToGate{Gate: "g", Word: core.GateResume}
	same("what a run says to a gate twice", ToGate(group, &m), ToGate(group, &m), true)
	same("what a person says to a gate twice", ControlGate(group, &m), ControlGate(group, &m), false)
	once := core.ToGate{Gate: m.Gate, Word: m.Word, Request: "k"}
	same("what a person says to a gate twice under one key", ControlGate(group, &once), ControlGate(group, &once), true)
}

func TestMessagesThatCannotBeReadSayWhich(t *testing.T) {
	for problem, m := range map[string]store.Message{
		`message 3 of workflow "w" has the unknown kind "letter"`: {Kind: "letter", Data: []byte("{}")},
		`message 3 of workflow "w" cannot be read`:                {Kind: KindRequest, Data: []byte("{")},
		`message 3 of workflow "w" tells of no child`:             {Kind: KindChild, Data: []byte("{}")},
		`message 3 of workflow "w" cannot be read: it has no`:     {Kind: KindRequest, Data: []byte(`{"operation":"cancel"}`)},
	} {
		m.Sequence, m.WorkflowID = 3, "w"
		if in, err := Input(m); err == nil || !strings.HasPrefix(err.Error(), problem) {
			t.Errorf("%q is read as %v, %v", m.Kind, in, err)
		}
	}
	if in, err := Input(store.Message{Kind: store.KindCreated}); in != nil || err != nil {
		t.Errorf("the creation of a run is read as %v, %v", in, err)
	}
}
