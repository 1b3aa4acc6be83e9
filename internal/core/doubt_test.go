package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// inDoubt is a run whose call was started at 1 and can be asked about 100 after an attempt.
func inDoubt(t *testing.T, policy retry.Policy, start StartCall) (*Run, *oneCall) {
	t.Helper()
	r := New(Config{Node: "n", Near: int64(time.Hour)}, history.Start{WorkflowID: "w", Run: "r"})
	start.Kind, start.Name, start.Policy = history.ActivityScheduled, "charge", &policy
	if start.Verify == nil {
		start.Verify = &history.Verify{SettleAfter: 100, Retry: &retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(50), Jitter: retry.NoJitter}}
	}
	one := &oneCall{run: r, start: start}
	r.Bind(one)
	stepped(t, r, 1)
	return r, one
}

// records says in words what a turn adds to the ledger.
func records(out *Turn) string {
	var words []string
	for _, a := range out.Attempts {
		words = append(words, fmt.Sprintf("%d %s %s", a.Attempt, a.Outcome, a.Reason))
	}
	return strings.Join(words, ", ")
}

func ended(attempt int, outcome Outcome, err error, at int64) AttemptEnded {
	return AttemptEnded{Call: 1, Attempt: attempt, Outcome: outcome, Failure: history.FromError(err), Ended: at}
}

var (
	broken  = retry.Unknown(errors.New("connection reset"))
	tooLate = &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: 5}
)

// TestU2_WhatMayBeDoneIsAskedAbout: each way in which an attempt may have had its effect leads
// to a question, after the time in which its request may be under way, and the answer decides.
func TestU2_WhatMayBeDoneIsAskedAbout(t *testing.T) {
	fixed := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(1000), Jitter: retry.NoJitter}
	once := retry.Policy{MaxAttempts: 1, OnTimeout: retry.StopOnTimeout}
	for name, c := range map[string]struct {
		policy  retry.Policy
		end     Input
		record  string
		outcome Outcome
		ended   int64  // as the question is told, 0 for not known
		absent  string // what is on record if it was not done
		next    int64  // when the next attempt starts then, 0 for none
	}{
		"it says so":         {fixed, ended(1, Failed, broken, 10), "1 failed verify", Failed, 10, "2 absent backoff", 1200},
		"it timed out":       {fixed, ended(1, TimedOut, tooLate, 10), "1 timed-out verify", TimedOut, 10, "2 absent backoff", 1200},
		"it was lost":        {fixed, TakenOver{}, "1 lost worker_lost", Lost, 0, "2 absent absent", 200},
		"its lease was lost": {fixed, TakenOver{Survivors: []string{"n"}}, "1 lost lease_lost", Lost, 0, "2 absent absent", 200},
		"it was given back":  {fixed, ended(1, Drained, errors.New("stopped"), 10), "1 drained drained", Drained, 10, "2 absent absent", 200},
		"at the last":        {once, ended(1, Failed, broken, 10), "1 failed verify", Failed, 10, "2 absent max_attempts", 0},
		"timeouts stop":      {retry.Policy{OnTimeout: retry.StopOnTimeout, Backoff: retry.None}, ended(1, TimedOut, tooLate, 10), "1 timed-out verify", TimedOut, 10, "2 absent immediate", 200},
		"a first crash":      {retry.Policy{CrashLimit: 1}, TakenOver{}, "1 lost crash_limit", Lost, 0, "2 absent crash_limit", 0},
	} {
		for _, answer := range []Outcome{Found, Absent} {
			t.Run(name+", "+string(answer), func(t *testing.T) {
				r, one := inDoubt(t, c.policy, StartCall{})
				out := stepped(t, r, 10, c.end)
				if records(out) != c.record || len(out.Dispatch) != 0 || r.NextDue() != 110 {
					t.Fatalf("first %s; %+v starts, and it is looked at at %d", records(out), out.Dispatch, r.NextDue())
				}
				out = stepped(t, r, 110)
				if len(out.Dispatch) != 1 || out.Dispatch[0].Doubt == nil || out.Dispatch[0].AttemptTimeout != retry.DefaultVerifyTimeout {
					t.Fatalf("asked is %+v", out.Dispatch)
				}
				if d := out.Dispatch[0].Doubt; d.Attempt != 1 || d.Question != 1 || d.Outcome != c.outcome || d.Ended != c.ended || d.Node != "n" {
					t.Errorf("the question is about %+v", d)
				}
				if answer == Found {
					in := ended(2, Completed, nil, 200)
					in.Result, _ = history.Encode("receipt")
					out = stepped(t, r, 200, in)
					if records(out) != "2 found found" || !one.call.Done || one.call.Failure != nil || len(out.Dispatch) != 0 {
						t.Errorf("%s, and the call is %+v", records(out), one.call)
					}
					if s := one.call.Retry; s.TotalAttempts != 1 || s.Questions != 1 {
						t.Errorf("its summary is %+v", s)
					}
					return
				}
				out = stepped(t, r, 200, ended(2, Absent, nil, 200))
				if records(out) != c.absent {
					t.Errorf("%s, not %s", records(out), c.absent)
				}
				if c.next > 200 {
					out = stepped(t, r, c.next)
				}
				if c.next != 0 && (len(out.Dispatch) != 1 || out.Dispatch[0].Doubt != nil || out.Dispatch[0].Attempt != 3 || out.Dispatch[0].Started != c.next) {
					t.Errorf("%+v starts", out.Dispatch)
				}
				if c.next == 0 && len(out.Dispatch) != 0 {
					t.Errorf("%+v starts", out.Dispatch)
				}
			})
		}
	}
}

// TestU1_WhatIsKnownIsNotAskedAbout.
func TestU1_WhatIsKnownIsNotAskedAbout(t *testing.T) {
	policy := retry.Policy{Backoff: retry.None}
	for name, end := range map[string]Input{
		"a failure":            ended(1, Failed, errors.New("declined"), 10),
		"not done":             ended(1, Failed, retry.NotDone(broken), 10),
		"timed out unsent":     ended(1, TimedOut, &retry.TimeoutError{Kind: retry.TimeoutAttempt, Err: retry.NotDone(broken)}, 10),
		"given back unsent":    ended(1, Drained, retry.NotDone(broken), 10),
		"it never began":       AttemptEnded{Call: 1, Attempt: 1, Outcome: Drained, Unbegun: true, Ended: 10},
		"a late end of no one": ended(7, Failed, broken, 10),
	} {
		r, _ := inDoubt(t, policy, StartCall{})
		out := stepped(t, r, 10, end)
		if strings.Contains(records(out), "verify") || len(out.Dispatch) == 1 && out.Dispatch[0].Doubt != nil || r.NextDue() == 110 {
			t.Errorf("%s is asked about: %s, %+v", name, records(out), out.Dispatch)
		}
	}
	// A policy that repeats asks nobody.
	r, _ := inDoubt(t, retry.Policy{OnUnknown: retry.RepeatUnknown, Backoff: retry.None}, StartCall{})
	if out := stepped(t, r, 10, ended(1, Failed, broken, 10)); len(out.Dispatch) != 1 || out.Dispatch[0].Doubt != nil {
		t.Errorf("%+v starts", out.Dispatch)
	}
}

// TestU5_QuestionsThatFindNothing are asked again by their own policy, and count for nothing.
// When that gives up, a person decides.
func TestU5_QuestionsThatFindNothing(t *testing.T) {
	r, _ := inDoubt(t, retry.Policy{MaxAttempts: 2, Within: 90}, StartCall{})
	stepped(t, r, 10, ended(1, Failed, broken, 10))
	stepped(t, r, 110)
	again := ended(2, Unknown, nil, 120)
	again.After = 500
	if out := stepped(t, r, 120, again); records(out) != "2 unknown verify" || r.NextDue() != 620 {
		t.Fatalf("%s, and it is looked at at %d", records(out), r.NextDue())
	}
	at, question := int64(620), 3
	for _, in := range []Input{
		ended(3, Failed, errors.New("closed"), 630), ended(4, TimedOut, tooLate, 690), ended(5, Drained, nil, 750), TakenOver{}, ended(7, Failed, errors.New("closed"), 760),
	} {
		out := stepped(t, r, at)
		if len(out.Dispatch) == 1 && (out.Dispatch[0].Attempt != question || out.Dispatch[0].Doubt == nil || out.Dispatch[0].Doubt.Question != question-1) {
			t.Fatalf("at %d question %d is %+v", at, question, out.Dispatch[0])
		}
		at += 10
		out = stepped(t, r, at, in)
		if last := question == 7; last {
			if records(out) != "7 unknown unknown_outcome" || len(out.Rows) != 1 || out.Rows[0].State != InDoubt {
				t.Fatalf("at last %s, %+v", records(out), out.Rows)
			}
			break
		}
		if !strings.HasPrefix(records(out), fmt.Sprintf("%d unknown", question)) {
			t.Fatalf("%s", records(out))
		}
		question++
		at = max(at, min(r.NextDue(), at+100))
	}
	if r.NextDue() != Never {
		t.Errorf("it is looked at at %d", r.NextDue())
	}
}

// TestU5_APersonDecides about a call in doubt, and what cannot be is refused.
func TestU5_APersonDecides(t *testing.T) {
	result, _ := history.Encode("by hand")
	for operation, want := range map[Operation]string{
		RetryNow: "3 starts", Ask: "question 2 starts", Skip: "done", FailNow: "failed", ResumeCall: "refused", PauseCall: "unchanged",
	} {
		for _, verify := range []bool{true, false} {
			start, policy := StartCall{}, retry.Policy{OnUnknown: retry.PauseUnknown}
			if verify {
				policy, start.Verify = retry.Policy{}, &history.Verify{Retry: &retry.Policy{MaxAttempts: 1}}
			}
			r, one := inDoubt(t, policy, start)
			if !verify {
				one.call.Verify = nil
			}
			stepped(t, r, 10, ended(1, Failed, broken, 10))
			if verify {
				stepped(t, r, 20, ended(2, Failed, errors.New("closed"), 20))
			}
			if s := one.call.state; s != InDoubt {
				t.Fatalf("it is %s", s)
			}
			out := stepped(t, r, 1000, Control{ID: "x", Operation: operation, Result: result, Failure: history.FromError(errors.New("no"))})
			got := ""
			i := slices.IndexFunc(out.Events, func(e history.Event) bool { return e.Kind == history.CallControlled })
			switch {
			case out.Events[i].Outcome != Applied:
				got = out.Events[i].Outcome
			case len(out.Dispatch) == 1 && out.Dispatch[0].Doubt != nil:
				got = fmt.Sprintf("question %d starts", out.Dispatch[0].Doubt.Question)
			case len(out.Dispatch) == 1:
				got = fmt.Sprintf("%d starts", out.Dispatch[0].Attempt)
			case one.call.Done && one.call.Failure != nil:
				got = "failed"
			case one.call.Done:
				got = "done"
			}
			expected := want
			if !verify {
				expected = strings.NewReplacer("3 starts", "2 starts", "question 2 starts", "refused").Replace(want)
				if operation == Ask {
					expected = Refused
				}
			}
			if got != expected {
				t.Errorf("%s with a question %t: %s, not %s: %+v", operation, verify, got, expected, out.Events)
			}
		}
	}
}

// TestU5_NobodyAsksTooEarly: who is in a hurry gets the next question at once, and the first one
// when no request of the attempt can be under way any more, also out of a pause.
func TestU5_NobodyAsksTooEarly(t *testing.T) {
	for _, hurry := range []Operation{RetryNow, Ask} {
		for _, paused := range []bool{false, true} {
			r, one := inDoubt(t, retry.Policy{}, StartCall{})
			stepped(t, r, 10, ended(1, Failed, broken, 10))
			want := Unchanged
			if paused {
				stepped(t, r, 15, Control{ID: "p", Operation: PauseCall})
				want = Applied
			}
			out := stepped(t, r, 20, Control{ID: "early", Operation: hurry})
			if len(out.Dispatch) != 0 || out.Events[0].Outcome != want || one.call.state != Backoff || r.NextDue() != 110 {
				t.Fatalf("%s, paused %t: %+v, %+v starts; it is %s until %d", hurry, paused, out.Events, out.Dispatch, one.call.state, r.NextDue())
			}
			if out = stepped(t, r, 110); len(out.Dispatch) != 1 || out.Dispatch[0].Doubt == nil {
				t.Fatalf("%s, paused %t: %+v starts", hurry, paused, out.Dispatch)
			}
			stepped(t, r, 120, ended(2, Failed, errors.New("closed"), 120))
			out = stepped(t, r, 121, Control{ID: "now", Operation: hurry})
			if len(out.Dispatch) != 1 || out.Dispatch[0].Doubt == nil || out.Dispatch[0].Doubt.Question != 2 {
				t.Errorf("%s, paused %t: %+v starts", hurry, paused, out.Dispatch)
			}
		}
	}
}

// TestU6_FailTellsTheCode, with the attempt in the error.
func TestU6_FailTellsTheCode(t *testing.T) {
	for name, end := range map[string]Input{"failed": ended(1, Failed, broken, 10), "lost": TakenOver{}} {
		r, one := inDoubt(t, retry.Policy{OnUnknown: retry.FailUnknown, CrashLimit: 1}, StartCall{})
		out := stepped(t, r, 10, end)
		unknown, is := errors.AsType[*retry.UnknownError](one.call.Failure.Err())
		if !is || unknown.Attempt != 1 || unknown.ID != AttemptID("r", 1, 1) || unknown.Node != "n" || unknown.Start.UnixNano() != 1 || unknown.End.IsZero() != (name == "lost") {
			t.Errorf("%s: %#v, %s", name, one.call.Failure.Err(), records(out))
		}
	}
}

// TestU5_AQuestionPassesNoGate, and its gate is free meanwhile; the attempt after it enters.
func TestU5_AQuestionPassesNoGate(t *testing.T) {
	g := aGate(1, spec.Hold)
	r, p := passing(t, retry.Policy{Backoff: retry.None}, g)
	p.call.Verify = &history.Verify{}
	p.call.Policy = p.call.Verify.InForce(p.call.Policy)
	out := stepped(t, r, 2, AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(broken), Ended: 2})
	if len(out.Gates) != 1 || out.Gates[0].Word != GateDone || len(out.Dispatch) != 1 || out.Dispatch[0].Doubt == nil {
		t.Fatalf("it says %+v and starts %+v", out.Gates, out.Dispatch)
	}
	out = stepped(t, r, 3, AttemptEnded{Call: 1, Attempt: 2, Outcome: Absent, Ended: 3})
	if len(out.Gates) != 1 || out.Gates[0].Word != GateEnter || len(out.Dispatch) != 0 {
		t.Errorf("then it says %+v and starts %+v", out.Gates, out.Dispatch)
	}
}

// TestU5_R46_ARetryAfterAQuestionCostsTokens, as any retry after a failure, and one after a loss
// does not. If the gate refuses it the call ends as if it had been refused without a question.
func TestU5_R46_ARetryAfterAQuestionCostsTokens(t *testing.T) {
	for _, lost := range []bool{false, true} {
		g := aGate(1, spec.Hold)
		g.Budget = spec.Budget{Tokens: 1}
		r, p := passing(t, retry.Policy{Backoff: retry.None}, g)
		p.call.Verify = &history.Verify{}
		p.call.Policy = p.call.Verify.InForce(p.call.Policy)
		var end Input = AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(retry.Unknown(broken)), Ended: 2}
		if lost {
			end = TakenOver{}
		}
		if out := stepped(t, r, 2, end); len(out.Dispatch) != 1 || out.Dispatch[0].Doubt == nil {
			t.Fatalf("it starts %+v", out.Dispatch)
		}
		out := stepped(t, r, 3, AttemptEnded{Call: 1, Attempt: 2, Outcome: Absent, Ended: 3})
		if len(out.Gates) != 1 || out.Gates[0].Word != GateEnter || out.Gates[0].Retry == lost {
			t.Fatalf("lost %t: it says %+v", lost, out.Gates)
		}
		if lost {
			continue
		}
		out = stepped(t, r, 4, FromGate{Gate: "door", Word: GateRefused, Ticket: out.Gates[0].Ticket, Attempt: 3, Reason: retry.ReasonBudget})
		exhausted, is := p.call.Failure.Err().(*retry.ExhaustedError)
		if !p.call.Done || !is || exhausted.Reason != retry.ReasonBudget || exhausted.Attempts != 1 || len(out.Dispatch) != 0 || len(out.Attempts) != 0 {
			t.Errorf("it ends with %+v, the ledger has %+v", p.call.Failure, out.Attempts)
		}
	}
}

// TestU5_AQuestionThatKills its process is held as an attempt is.
func TestU5_AQuestionThatKills(t *testing.T) {
	r, one := inDoubt(t, retry.Policy{}, StartCall{Verify: &history.Verify{}})
	stepped(t, r, 10, TakenOver{})
	at := int64(10)
	for n := range 10 {
		at += 10
		if one.call.state == Quarantined {
			if n < 4 || one.call.Doubt == nil || one.call.Losses != 1 {
				t.Errorf("after %d deaths it is %+v", n, one.call.Progress)
			}
			return
		}
		if one.call.state == Queued {
			stepped(t, r, at, Granted{Call: 1, Group: 1})
		}
		stepped(t, r, at, TakenOver{})
	}
	t.Errorf("it goes on: %+v", one.call.Progress)
}

// TestU1_WhatNeverBeganIsNotAskedAbout, also if it has a gate, or was claimed by a worker that
// could not run it.
func TestU1_WhatNeverBeganIsNotAskedAbout(t *testing.T) {
	r, p := passing(t, retry.Policy{Backoff: retry.None}, aGate(1, spec.Hold))
	p.call.Verify = &history.Verify{}
	p.call.Policy = p.call.Verify.InForce(p.call.Policy)
	stepped(t, r, 2, AttemptEnded{Call: 1, Attempt: 1, Outcome: Drained, Unbegun: true, Ended: 2})
	if p.call.Doubt != nil {
		t.Errorf("at a gate: %+v", p.call.Doubt)
	}
	r, one := inDoubt(t, retry.Policy{}, StartCall{Queue: "q"})
	stepped(t, r, 2, Claimed{AttemptRef: AttemptRef{Call: 1, Attempt: 1}, Worker: "w", At: 2})
	stepped(t, r, 3, AttemptEnded{Call: 1, Attempt: 1, Outcome: Drained, Unbegun: true, Ended: 3, Outside: true})
	if one.call.Doubt != nil {
		t.Errorf("in a queue: %+v", one.call.Doubt)
	}
}

// TestU2_TheClockOfADeadNodeProvesNothing: an attempt that was to begin later than now, by the clock
// of its node, may have begun: that clock may have been ahead. Found by the simulator.
func TestU2_TheClockOfADeadNodeProvesNothing(t *testing.T) {
	r, one := inDoubt(t, retry.Policy{}, StartCall{})
	one.call.StartedAt = 50
	if out := stepped(t, r, 10, TakenOver{}); one.call.Doubt == nil || records(out) != "1 lost worker_lost" {
		t.Errorf("it is repeated without a question: %s, %+v", records(out), one.call.Progress)
	}
}
