package policylab

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"pgregory.net/rapid"
)

// readAt is when the ledger is read, in seconds after the first attempt.
const readAt = 100_000

const epoch = 1_000_000 * int64(time.Second)

func at(seconds float64) int64 { return epoch + int64(seconds*float64(time.Second)) }

// onRecord makes a call of words: x failed, o completed, t timed out, l was lost and c was
// canceled, each with the second at which it started and, after a dash, at which it ended;
// "..." at the end says that another attempt is to follow.
func onRecord(t *testing.T, text string) *Call {
	t.Helper()
	words := strings.Fields(text)
	open := words[len(words)-1] == "..."
	if open {
		words = words[:len(words)-1]
	}
	c := &Call{WorkflowID: "order", RunID: "run", Name: "charge", Number: 1}
	for i, word := range words {
		from, to, spans := strings.Cut(word[1:], "-")
		if !spans {
			to = from
		}
		begun, err1 := strconv.ParseFloat(from, 64)
		ended, err2 := strconv.ParseFloat(to, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		a := Attempt{Number: i + 1, Queued: at(begun), Started: at(begun), Ended: at(ended), Reason: retry.ReasonBackoff}
		if i == len(words)-1 && !open {
			a.Reason = retry.ReasonMaxAttempts
		}
		switch word[0] {
		case 'x':
			a.Outcome, a.ErrorType = core.Failed, "Unavailable"
		case 't':
			a.Outcome, a.ErrorType = core.TimedOut, retry.TypeTimeout
		case 'l':
			a.Outcome, a.Reason = core.Lost, retry.ReasonWorkerLost
		case 'o':
			a.Outcome, a.Reason = core.Completed, retry.ReasonSucceeded
		case 'c':
			a.Outcome, a.Reason = core.Canceled, retry.ReasonCanceled
		}
		if a.Outcome == core.Failed || a.Outcome == core.TimedOut {
			a.Failure = core.JudgedBy(a.Outcome, a.ErrorType, a.Reason, 0)
		}
		if i > 0 {
			c.Attempts[i-1].Next = a.Queued
		}
		c.Attempts = append(c.Attempts, a)
	}
	c.First = c.Attempts[0].Queued
	return c
}

func half(string, int64, int) float64 { return 0.5 }

// try replays a call in one mode and says how it ended: how, after how many attempts, when,
// and "~" if an attempt ran at another time than on record.
func try(t *testing.T, policy, call string, m mode) string {
	t.Helper()
	p, err := retry.Parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	p.Jitter = retry.NoJitter
	l := New(p, at(readAt), half)
	r := l.replay(onRecord(t, call), m)
	text := fmt.Sprintf("%s %d %v", r.ending, r.number, time.Duration(r.ended-epoch))
	if r.assumed {
		text += " ~"
	}
	return text
}

// TestF25_ByHand: each row was worked out with pencil and paper. worst and best are the
// bounds where they differ.
func TestF25_ByHand(t *testing.T) {
	for _, row := range []struct{ call, policy, want, worst, best string }{
		// The policy that was in force.
		{"x0 x10 x30 o70", "[retry: 3, backoff: 10s]", "succeeded 4 1m10s", "", ""},
		{"x0 x10 x30", "[retry: 2, backoff: 10s]", "failed 3 30s", "", ""},
		{"x0 x10 ...", "[retry: 9, backoff: 10s]", "unknown 2 10s ~", "failed 10 54m30s ~", "succeeded 3 30s ~"},
		// Fewer attempts: known.
		{"x0 x10 x30 o70", "[retry: 2, backoff: 10s]", "failed 3 30s", "", ""},
		{"x0 x10 x30 o70", "[retry: 0]", "failed 1 0s", "", ""},
		{"x0 x10 x30", "[retry: 1, backoff: 10s]", "failed 2 10s", "", ""},
		{"x0 x10 ...", "[retry: 1, backoff: 10s]", "failed 2 10s", "", ""},
		// Longer waits: an attempt at 30s is after the success on record, certain to succeed.
		{"x0 o10", "[retry: 1, backoff: 30s]", "succeeded 2 30s ~", "", ""},
		// One at 12s of x10 o20 is nearer to the failure, one at 16s to the success.
		{"x0 x10 o20", "[retry: 1, backoff: 12s]", "failed 2 12s ~", "failed 2 12s ~", "succeeded 2 12s ~"},
		{"x0 x10 o20", "[retry: 1, backoff: 16s]", "succeeded 2 16s ~", "failed 2 16s ~", "succeeded 2 16s ~"},
		// Between two failures it fails whatever happens.
		{"x0 x10 x20 x30 x40", "[retry: 2, backoff: 12s]", "failed 3 36s ~", "", ""},
		// Shorter waits use the attempts up before the dependency is back.
		{"x0 x60 o120", "[retry: 3, backoff: 1s]", "failed 4 7s ~", "", ""},
		// The last failure stands for half of the interval before it, and then nothing is known.
		{"x0 x10", "[retry: 1, backoff: 14s]", "failed 2 14s ~", "", ""},
		{"x0 x10", "[retry: 1, backoff: 16s]", "unknown 1 0s ~", "failed 2 16s ~", "succeeded 2 16s ~"},
		{"x0", "[retry: 1, backoff: 1s]", "unknown 1 0s ~", "failed 2 1s ~", "succeeded 2 1s ~"},
		{"x0 x0 x0", "[retry: 9, backoff: 0s]", "unknown 3 0s ~", "failed 10 0s ~", "succeeded 4 0s ~"},
		// What runs keeps running as long as it did.
		{"x0-5 x15-20 o40-43", "[retry: 1, backoff: 50s]", "succeeded 2 58s ~", "", ""},
		// Lost attempts are not charged.
		{"l0-2 x2 o12", "[retry: 1, backoff: 10s]", "succeeded 3 12s", "", ""},
		{"l0-2 x2 o12", "[retry: 0]", "failed 2 2s", "", ""},
		{"l0-2 ...", "[retry: 0]", "unfinished 1 2s", "", ""},
		// Errors that the policy does not retry.
		{"x0 o10", "[Unavailable -> retry: 0] [retry: 5]", "failed 1 0s", "", ""},
		// A timeout: shorter than the attempts ran, and longer.
		{"x0 o10-50", "[retry: 1, backoff: 10s] [timeout: 20s, on-timeout: retry]", "failed 2 30s", "", ""},
		{"t0-30 o40", "[retry: 1, backoff: 10s] [timeout: 1m, on-timeout: retry]", "succeeded 2 1m10s ~", "succeeded 2 1m10s ~", "succeeded 1 30s ~"},
		// Canceled calls end where they did.
		{"x0 c10-11", "[retry: 5, backoff: 10s]", "canceled 2 11s", "", ""},
		// No attempt starts after the end.
		{"x0 x10 o30", "[retry: 5, backoff: 10s, within: 20s]", "failed 2 10s", "", ""},
		// Beyond the reading nothing is replayed.
		{"x0", "[retry: 1, backoff: 48h]", "unfinished 1 0s", "", ""},
	} {
		for m, want := range map[mode]string{nearest: row.want, worst: row.worst, best: row.best} {
			if want == "" {
				want = row.want
			}
			if got := try(t, row.policy, row.call, m); got != want {
				t.Errorf("%s under %s in mode %d: %s, want %s", row.call, row.policy, m, got, want)
			}
		}
	}
}

// TestF25_TheSumsOfASmallLedger: five calls, worked out by hand.
func TestF25_TheSumsOfASmallLedger(t *testing.T) {
	p := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}
	l := New(p, at(readAt), half)
	for _, call := range []string{
		"x0 o10",         // as it was
		"x0 x10 x20 o30", // one attempt less than it needed
		"x0 x10",         // gave up; the third one at 20s is unknown
		"x0 x40 o80",     // at 10s it fails, at 20s it is as near to the second failure as to the first
		"x0 ...",         // still to go on
	} {
		l.Add(onRecord(t, call))
	}
	got := l.Report()
	want := view.TrialNumbers{Succeeded: 1, Failed: 2, Unknown: 2, Attempts: 2 + 3 + 2 + 3 + 1, P50: 10 * time.Second, P99: 10 * time.Second}
	if got.Trial != want {
		t.Errorf("the trial is %+v,\nwant %+v", got.Trial, want)
	}
	want = view.TrialNumbers{Succeeded: 3, Failed: 1, Unfinished: 1, Attempts: 2 + 4 + 2 + 3 + 1, P50: 30 * time.Second, P99: 80 * time.Second}
	if got.Recorded != want {
		t.Errorf("on record is %+v,\nwant %+v", got.Recorded, want)
	}
	if got.Worst != (view.TrialBound{Succeeded: 1, Attempts: 2 + 3 + 3 + 3 + 3}) || got.Best != (view.TrialBound{Succeeded: 3, Attempts: 2 + 3 + 3 + 3 + 2}) {
		t.Errorf("the bounds are %+v and %+v", got.Worst, got.Best)
	}
	// Of the attempts after Unavailable 3 of 7 succeeded: one unknown call has one attempt left, the other two.
	rate := 3.0 / 7
	if estimate := rate + 1 - (1-rate)*(1-rate); got.Estimate == nil || math.Abs(*got.Estimate-estimate) > 0.01 {
		t.Errorf("the estimate is %v, want %.2f", *got.Estimate, estimate)
	}
	calls := 0
	for _, c := range got.Classes {
		calls += c.Calls
	}
	if calls != 5 || len(got.Classes) != 4 {
		t.Errorf("the classes are %+v", got.Classes)
	}
	sum := view.TrialPoint{}
	for _, p := range got.Load.Points {
		sum.Recorded, sum.Trial, sum.Worst = sum.Recorded+p.Recorded, sum.Trial+p.Trial, sum.Worst+p.Worst
	}
	if sum.Recorded != got.Recorded.Attempts || sum.Trial != got.Trial.Attempts || sum.Worst != got.Worst.Attempts {
		t.Errorf("the load adds up to %+v", sum)
	}
}

func TestF25_LoadIsCountedInFewSpans(t *testing.T) {
	l := newLoad()
	for i := range 100_000 {
		l.add(asRecorded, []int64{at(float64(i) * 17)})
		if len(l.counts) > keptSpans {
			t.Fatalf("%d spans are kept", len(l.counts))
		}
	}
	r := l.report()
	sum := 0
	for _, p := range r.Points {
		sum += p.Recorded
	}
	if sum != 100_000 || len(r.Points) > shownSpans {
		t.Errorf("%d attempts in %d spans of %s", sum, len(r.Points), r.Width)
	}
}

// policies draws policies of all forms.
func policies(t *rapid.T) retry.Policy {
	seconds := func(label string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Second
	}
	p := retry.Policy{
		MaxAttempts: rapid.IntRange(1, 8).Draw(t, "attempts"),
		Backoff:     rapid.SampledFrom([]retry.Backoff{{}, retry.None, retry.Fixed(5 * time.Second), retry.Exponential(time.Second, 2, time.Minute)}).Draw(t, "backoff"),
		Jitter:      rapid.SampledFrom([]retry.Jitter{{}, retry.NoJitter, retry.FullJitter, retry.Decorrelated}).Draw(t, "jitter"),
		Within:      rapid.SampledFrom([]time.Duration{0, time.Minute, 10 * time.Second}).Draw(t, "within"),
		OnExhausted: rapid.SampledFrom([]retry.OnExhausted{retry.Fail, retry.Pause}).Draw(t, "exhausted"),
	}
	if rapid.Bool().Draw(t, "rule") {
		p.Rules = []retry.Rule{{Types: []string{"Busy"}, MaxAttempts: 2, Backoff: retry.Fixed(seconds("rule wait", 1, 9))}}
	}
	if rapid.Bool().Draw(t, "stop") {
		p.NonRetryable = []string{"Gone"}
	}
	return p
}

// made is a call that a policy made: how attempts end is drawn, what follows is decided.
func made(t *rapid.T, p *retry.Policy) *Call {
	c := &Call{WorkflowID: "order", RunID: rapid.StringMatching("[a-z]{4}").Draw(t, "run"), Number: 3, First: at(0)}
	now, charged, wait, next := c.First, 0, time.Duration(0), int64(0)
	for number := 1; ; number++ {
		late := int64(rapid.IntRange(0, 2).Draw(t, "late")) * int64(time.Second)
		a := Attempt{Number: number, Queued: max(now, next), Started: max(now, next) + late}
		a.Ended = a.Started + int64(rapid.IntRange(0, 3).Draw(t, "ran"))*int64(time.Second)
		now, next = a.Ended, 0
		end := func() *Call { c.Attempts = append(c.Attempts, a); return c }
		switch rapid.IntRange(0, 6).Draw(t, "outcome") {
		case 0:
			a.Outcome, a.Reason = core.Completed, retry.ReasonSucceeded
			return end()
		case 1:
			a.Outcome, a.Reason = core.Lost, retry.ReasonWorkerLost
			end()
			continue
		case 2:
			a.Outcome, a.Reason = core.Drained, retry.ReasonDrained
			end()
			continue
		}
		charged++
		a.Outcome, a.ErrorType = core.Failed, rapid.SampledFrom([]string{"Busy", "Gone", "Error"}).Draw(t, "error")
		a.Failure = &core.Judged{Types: []string{a.ErrorType}}
		if rapid.IntRange(0, 5).Draw(t, "asks") == 0 {
			a.Failure.Asked, a.Failure.After = true, 7*time.Second
		}
		d := retry.Decide(p, retry.State{Attempt: charged, First: time.Unix(0, c.First), Previous: wait}, a.Failure.Failure(), time.Unix(0, a.Ended), core.Uniform(c.RunID, c.Number, number))
		a.Reason, a.Paused = d.Reason, d.Pause
		if d.Retry {
			wait = d.Delay
			next = d.At.UnixNano()
			a.Next = next
		}
		person := d.Pause && rapid.Bool().Draw(t, "person")
		if person {
			now += int64(rapid.IntRange(0, 100).Draw(t, "thinks")) * int64(time.Second)
		}
		if end(); !d.Retry && !person || d.Retry && rapid.IntRange(0, 9).Draw(t, "reading") == 0 {
			return c
		}
	}
}

// TestF24_ThePolicyInForceGivesBackTheRecord, whatever it was and whatever happened.
func TestF24_ThePolicyInForceGivesBackTheRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policies(t)
		l := New(p, at(readAt), core.Uniform)
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			c := made(t, &p)
			r := l.replay(c, nearest)
			if r.ending != c.ending() || r.number != c.executed() || r.ended != c.Attempts[len(c.Attempts)-1].Ended || r.assumed {
				t.Fatalf("%+v\nis on record as %s after %d, and replayed as %s after %d at %d (assumed: %t)", c, c.ending(), c.executed(), r.ending, r.number, r.ended, r.assumed)
			}
			l.Add(c)
		}
		out := l.Report()
		if out.Trial != out.Recorded || out.Worst != out.Best || out.Worst.Attempts != out.Recorded.Attempts || out.Worst.Succeeded != out.Recorded.Succeeded {
			t.Fatalf("%+v\nbecame %+v,\nbetween %+v and %+v", out.Recorded, out.Trial, out.Worst, out.Best)
		}
		for _, p := range out.Load.Points {
			if p.Trial != p.Recorded || p.Worst != p.Recorded {
				t.Fatalf("the load differs: %+v", p)
			}
		}
	})
}

// TestF25_TheBoundsHold: what is taken to happen lies between the worst and the best.
func TestF25_TheBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inForce, other := policies(t), policies(t)
		l := New(other, at(readAt), core.Uniform)
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			c := made(t, &inForce)
			kept := *c
			kept.Attempts = append([]Attempt(nil), c.Attempts...)
			l.Add(c)
			if !reflect.DeepEqual(*c, kept) {
				t.Fatal("the call was changed")
			}
		}
		out := l.Report()
		n := out.Trial
		if n.Succeeded < out.Worst.Succeeded || n.Succeeded+n.Unknown > out.Best.Succeeded+n.Unknown || out.Best.Succeeded < n.Succeeded ||
			out.Worst.Attempts < n.Attempts || out.Worst.Attempts < out.Best.Attempts {
			t.Fatalf("%+v is not between %+v and %+v", n, out.Worst, out.Best)
		}
		if n.Succeeded+n.Failed+n.Paused+n.Canceled+n.Unfinished+n.Unknown != out.Calls {
			t.Fatalf("%+v are not %d calls", n, out.Calls)
		}
		if out.Estimate != nil && (*out.Estimate < 0 || *out.Estimate > float64(n.Unknown)) {
			t.Fatalf("of %d unknown calls %v succeed", n.Unknown, *out.Estimate)
		}
	})
}
