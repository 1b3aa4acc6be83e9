package message

import (
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// TestI20_KeysAreTheSameInAllVersions: keys are on record, and while a new version is rolled out a
// message may be sent again by the other one. With another key it would count twice.
func TestI20_KeysAreTheSameInAllVersions(t *testing.T) {
	ticket := core.TicketKey{Workflow: "w", Run: "r/1", Call: 2, Ticket: 3}
	request := func(run string, c core.Control) store.Message {
		m, err := Request(group, "w", run, &c)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	sent := func(m store.Message, err error) store.Message {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for want, m := range map[string]store.Message{
		"signal/2:id/4:paid/3:one":              request("", core.Control{Operation: core.SignalTheRun, Signal: "paid", SignalID: "one"}),
		"control/1:r/1:k":                       request("r", core.Control{Operation: core.RetryNow, ID: "k", Call: 4}),
		"cancel/3:run/0:":                       request("", core.Control{Operation: core.CancelTheRun}),
		"terminate/3:run/0:":                    request("", core.Control{Operation: core.TerminateTheRun}),
		"attempt/1:r/1:2/1:3/3:end":             sent(AttemptEnd(group, "w", "r", Data{Call: 2, Attempt: 3})),
		"attempt/1:r/1:2/1:3/5:trial":           sent(TrialOver(group, "w", "r", Data{Call: 2, Attempt: 3})),
		"gate/0:/5:enter/3:r/1/1:2/1:3/1:1/1:0": ToGate(group, &core.ToGate{Gate: "g", Word: core.GateEnter, Ticket: ticket, Attempt: 1}),
		"gate/1:g/0:/3:r/1/1:2/1:3/1:0/1:0":     FromGate(group, &core.FromGate{Gate: "g", Ticket: ticket}),
		"pause/7:request/1:k":                   ControlGate(group, &core.ToGate{Gate: "g", Word: core.GatePause, Request: "k"}),
		"trigger/7:request/1:k":                 ToSchedule(group, "s", &core.ToSchedule{Word: core.ScheduleTrigger, Request: "k"}),
		"update/5:token":                        sent(Update(group, "w", "add", "u", "token", history.Payload{})),
		"child/2:pr/1:5":                        sent(ToParent(group, &history.Parent{WorkflowID: "p", Run: "pr", Call: 5}, core.FromChild{Call: 5, Status: core.ChildStarted, Run: "c"})),
	} {
		if m.Key != want {
			t.Errorf("the key is %q, and was %q", m.Key, want)
		}
	}
}
