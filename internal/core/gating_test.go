package core

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// oneCall is code that makes one call and waits for it.
type oneCall struct {
	run   *Run
	start StartCall
	call  *Call
}

func (p *oneCall) Advance() error {
	if p.call == nil {
		p.call = p.run.StartCall(p.start)
	} else if p.call.Done {
		p.run.Complete(history.Payload{})
	}
	return nil
}
func (p *oneCall) CancelComes(string) {}
func (p *oneCall) Canceled(string)    {}
func (p *oneCall) Halt()              {}
func (p *oneCall) Unread() []*Call    { return nil }

func (p *oneCall) Validate(string, history.Payload) error      { return nil }
func (p *oneCall) Accept(string, string, history.Payload) bool { return false }

// passing is a run whose call has passed its gates and is in its first attempt.
func passing(t *testing.T, policy retry.Policy, gates ...spec.Spec) (*Run, *oneCall) {
	t.Helper()
	r := New(Config{}, history.Start{WorkflowID: "w", Run: "r"})
	p := &oneCall{run: r, start: StartCall{Kind: history.ActivityScheduled, Name: "work", Policy: &policy}}
	for _, g := range gates {
		p.start.Gates = append(p.start.Gates, history.GateSpec(g))
	}
	r.Bind(p)
	asks := stepped(t, r, 1).Gates
	for range gates {
		if len(asks) != 1 || asks[0].Word != GateEnter {
			t.Fatalf("it asks %+v", asks)
		}
		asks = stepped(t, r, 1, FromGate{Gate: asks[0].Gate, Word: GateGranted, Ticket: asks[0].Ticket, Attempt: 1}).Gates
	}
	return r, p
}

func stepped(t *testing.T, r *Run, now int64, inputs ...Input) *Turn {
	t.Helper()
	out, err := r.Step(now, inputs, func(*Call) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestR46_AVerdictTwiceIsOne: a gate's message may arrive twice. The second one of
// the first budget is not taken for that of the second.
func TestR46_AVerdictTwiceIsOne(t *testing.T) {
	a, b := aGate(1, spec.Rejoin), aGate(1, spec.Rejoin)
	a.Name, b.Name = "a", "b"
	a.Budget, b.Budget = spec.Budget{Tokens: 1}, spec.Budget{Tokens: 1}
	r, p := passing(t, retry.Policy{}, a, b)
	out := stepped(t, r, 2, AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(errors.New("down")), Ended: 2})
	if len(out.Gates) != 2 || !out.Gates[0].Judge || !out.Gates[1].Judge {
		t.Fatalf("it says %+v", out.Gates)
	}
	allowed := FromGate{Gate: "a", Word: GateAllowed, Ticket: out.Gates[0].Ticket, Attempt: 1}
	if out := stepped(t, r, 3, allowed, allowed); len(out.Attempts) != 0 {
		t.Fatalf("the attempt is decided: %+v", out.Attempts)
	}
	out = stepped(t, r, 4, FromGate{Gate: "b", Word: GateRefused, Ticket: out.Gates[1].Ticket, Attempt: 1, Reason: retry.ReasonBudget})
	if !p.call.Done || p.call.Failure == nil || len(out.Attempts) != 1 || out.Attempts[0].Reason != string(retry.ReasonBudget) {
		t.Errorf("the call has failed: %v; the attempts are %+v", p.call.Failure, out.Attempts)
	}
}

// TestE22_AnAttemptThatIsUndecidedIsCounted, even if the run ends before a budget
// has said whether another one may follow.
func TestE22_AnAttemptThatIsUndecidedIsCounted(t *testing.T) {
	thrifty := aGate(1, spec.Rejoin)
	thrifty.Budget = spec.Budget{Tokens: 1}
	for name, end := range map[string]Input{
		"terminated": Control{Operation: TerminateTheRun},
		"skipped":    Control{ID: "1", Operation: Skip, Result: history.Payload{}},
		"failed":     Control{ID: "1", Operation: FailNow, Failure: history.FromError(errors.New("enough"))},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := passing(t, retry.Policy{}, thrifty)
			stepped(t, r, 2, AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(errors.New("down")), Ended: 2})
			out := stepped(t, r, 3, end)
			if len(out.Attempts) != 1 || len(out.Tallies) != 1 || out.Tallies[0].Attempts != 1 {
				t.Errorf("the attempts are %+v, and counted as %+v", out.Attempts, out.Tallies)
			}
		})
	}
}

// TestR46_AFailureIsToldOnce: the gates learn that an attempt failed when it ends. A
// call that is skipped while a budget decides leaves them without telling it again,
// which a breaker would count twice, and which a machine made from the records, that
// has only the row of the call, would not.
func TestR46_AFailureIsToldOnce(t *testing.T) {
	thrifty := aGate(1, spec.Rejoin)
	thrifty.Budget = spec.Budget{Tokens: 1}
	r, _ := passing(t, retry.Policy{}, thrifty)
	out := stepped(t, r, 2, AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(errors.New("down")), Ended: 2})
	if len(out.Gates) != 1 || out.Gates[0].Outcome != gates.Failure {
		t.Fatalf("when the attempt ends, the gates are told %+v", out.Gates)
	}
	out = stepped(t, r, 3, Control{ID: "1", Operation: Skip, Result: history.Payload{}})
	if len(out.Gates) != 1 || out.Gates[0].Word != GateDone || out.Gates[0].Outcome != gates.Neutral {
		t.Errorf("when the call is skipped, the gates are told %+v; want a neutral end", out.Gates)
	}
}
