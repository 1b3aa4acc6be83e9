package witness

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Charged is the phase of an entry that is a payment: the book is the provider, which takes no
// idempotency keys, and loses answers. Each call of pay must be charged once.
const Charged = "charged"

var (
	errAnswerLost = errors.New("the answer of the provider was lost")
	errBooksBusy  = errors.New("the provider does not say")
)

// pay is charged in the middle of its body. Some of its answers are lost, and some come after
// its time.
var pay = activity.New("pay", func(ctx context.Context, e Effect) (int, error) {
	l := line(ctx, e)
	ink.must(l)
	time.Sleep(rand.N(20 * time.Millisecond)) // so that deaths come before the payment as well
	if err := ctx.Err(); err != nil {
		return 0, retry.NotDone(err)
	}
	l.Phase = Charged
	ink.must(l)
	time.Sleep(rand.N(4 * time.Millisecond))
	chance := rand.N(10)
	if l.Phase = Done; chance < 3 {
		l.Phase = Failed // the answer is lost, or comes too late
	}
	ink.must(l)
	switch chance {
	case 0, 1:
		return 0, retry.Unknown(errAnswerLost)
	case 2:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return Grow(e.Value), nil
}, activity.Retry(retry.Policy{MaxAttempts: 1000, Backoff: retry.Fixed(5 * time.Millisecond), AttemptTimeout: 300 * time.Millisecond, CrashLimit: bystander}),
	activity.Verify(find), activity.SettleAfter(200*time.Millisecond),
	activity.VerifyRetry(retry.Policy{MaxAttempts: 1000, Backoff: retry.Fixed(10 * time.Millisecond), AttemptTimeout: 10 * time.Second}))

// find asks the provider whether it was paid.
func find(ctx context.Context, e Effect, _ activity.Doubt) (activity.Found[int], error) {
	l := line(ctx, e)
	ink.must(l)
	time.Sleep(rand.N(4 * time.Millisecond))
	switch rand.N(8) {
	case 0:
		return activity.Found[int]{}, errBooksBusy
	case 1:
		return retry.AskAgain[int](20 * time.Millisecond), nil
	}
	if ink.charges(l.Key) > 0 {
		return retry.Done(Grow(e.Value)), nil
	}
	return retry.Absent[int](), nil
}

// paid makes three payments.
var paid = workflow.New("paid", func(wf *workflow.Context, v int) (int, error) {
	return inRow(wf, 3, pay, Effect{Step: "m", Value: v})
})

// Charges returns how often a call was charged.
func (d *desk) Charges(key string, n *int) error {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	*n = d.book.charged[key]
	return nil
}

// charges asks the provider how often a call was charged.
func (p *Pen) charges(key string) (n int) {
	if err := p.book.Call("Book.Charges", key, &n); err != nil {
		p.lost(err)
	}
	return n
}

// payments are what the provider has on record.
type payments struct {
	by   map[string]bool // attempts
	paid map[string]int  // how often, by the keys of calls
	late map[string]int  // of these, after the next execution of the call had begun
}

func paymentsIn(entries []Entry) payments {
	p := payments{map[string]bool{}, map[string]int{}, map[string]int{}}
	next := map[string]int{} // number of the latest execution, by the keys of calls
	for _, e := range entries {
		switch e.Phase {
		case Begin:
			next[e.Key] = max(next[e.Key], e.Number)
		case Charged:
			p.by[e.Attempt] = true
			if p.paid[e.Key]++; e.Number < next[e.Key] {
				p.late[e.Key]++
			}
		}
	}
	return p
}

// judgePayments looks for calls that were charged twice. A process that others took for dead, and
// that continued, may have charged what nobody could prevent.
func (j *judge) judgePayments() {
	for key, n := range j.payments.paid {
		if j.Zombies {
			n -= j.payments.late[key]
		}
		if n > 1 {
			j.find(Doubled, "call %s was charged %d times", key, n)
		}
	}
}

// judgePayment looks for an attempt that follows one that may have charged, without a question
// that found that it had not, and for a call that is on record as done and was not charged.
func (j *judge) judgePayment(call string, a, before *view.Attempt) {
	if a.Name != pay.Name() {
		return
	}
	if done := a.Outcome == view.OutcomeCompleted || a.Outcome == view.OutcomeFound; done && j.payments.paid[call] == 0 {
		j.find(Lost, "call %s is on record as %s and was not charged", call, a.Outcome)
	}
	if a.Question == 0 && (before.Outcome == view.OutcomeUnknown || before.Question == 0 && j.payments.by[before.ID]) {
		j.find(Doubled, "attempt %s follows %s, which may have charged, and nobody asked", a.ID, before.ID)
	}
}
