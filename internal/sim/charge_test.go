package sim

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// A provider outside of the world takes charges. It has no idempotency keys, takes a while until
// a request arrives, does what it was asked for whatever became of the sender, and loses
// answers. Calls that may have been done are asked about; each is charged once, unless the
// provider has lied: it does so once about some payments. What is charged twice or not at all then
// must be explained by a lie that is on record as the answer.

var errBroken = errors.New("connection reset")

// flight is the longest time for which a request is under way.
const flight = 2 * time.Second

// verified are the options of a call that must not be made twice.
func verified(more ...activity.Option) []activity.Option {
	return append([]activity.Option{
		persistent(retry.Policy{AttemptTimeout: 3 * time.Second}), activity.Verify(findCharge), activity.SettleAfter(flight),
		activity.VerifyRetry(retry.Policy{MaxAttempts: 1000, Backoff: retry.Fixed(300 * time.Millisecond), AttemptTimeout: 4 * time.Second}),
	}, more...)
}

// Their names are constants because the judge has them, whom bodies can reach.
const chargeName, farChargeName = "charge", "far-charge"

var chargeCall, farChargeCall activity.Activity[int, int]

func init() {
	chargeCall = activity.New(chargeName, chargeBody, verified()...)
	farChargeCall = activity.New(farChargeName, chargeBody, verified(activity.Queue(queueName))...)
}

// payment names a call at the provider: a call that is made again after a reset is another.
func payment(info activity.Info) string {
	return info.AttemptID[:strings.LastIndexByte(info.AttemptID, '.')]
}

// chargeBody sends a request, unless it is told to end before.
func chargeBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	before := time.Duration(s.dice.of("before").below(400)) * time.Millisecond
	if err := errors.Join(pause(ctx, before), s.node.whileFrozen(ctx), ctx.Err()); err != nil || s.node.isDead() {
		return 0, retry.NotDone(errors.Join(errUnlucky, err))
	}
	w, id := s.node.world, payment(infoOf(ctx))
	w.book.send(s.entry)
	arrived := make(chan struct{})
	w.errands.Go(func() {
		time.Sleep(time.Duration(s.dice.of("flight").below(int(flight))))
		w.book.charge(id)
		close(arrived)
	})
	late := s.dice.of("late").oneIn(6)
	select {
	case <-arrived:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if late {
		<-ctx.Done() // the answer does not come: it times out
		return 0, context.Cause(ctx)
	}
	if err := s.node.whileFrozen(ctx); err != nil {
		return 0, err
	}
	s.node.book.end(s.entry, true)
	if s.dice.of("lost").oneIn(3) {
		return 0, retry.Unknown(errBroken)
	}
	return n, nil
}

// findCharge asks the provider. Questions are slow, fail, find no answer, kill their process, and
// are lied to.
func findCharge(ctx context.Context, n int, d activity.Doubt) (activity.Found[int], error) {
	s := begin(ctx, n)
	s.question = true
	if s.dice.of("kills").oneIn(16) {
		s.node.die()
		s.node.world.again(s.node)
		return activity.Found[int]{}, errCrashed
	}
	if err := s.take(ctx); err != nil {
		return activity.Found[int]{}, err
	}
	switch s.dice.of("answer").below(6) {
	case 0:
		return activity.Found[int]{}, errUnlucky
	case 1:
		return retry.AskAgain[int](time.Duration(s.dice.of("again").below(1000)) * time.Millisecond), nil
	}
	info := infoOf(ctx)
	if d.Question != info.Question || d.Attempt >= info.Attempt || !strings.HasPrefix(d.ID, payment(info)) {
		s.node.world.complain("question %d of %s is told %+v", info.Question, info.AttemptID, d)
	}
	if s.node.world.book.ask(s.entry, payment(info), s.dice.of("lie").oneIn(6)) {
		return retry.Done(n), nil
	}
	return retry.Absent[int](), nil
}

func isCharge(activity string) bool { return activity == chargeName || activity == farChargeName }

// send notes that an attempt sends its request.
func (b *book) send(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.sent = true
}

// mayHave reports whether an attempt may have had its effect.
func (b *book) mayHave(a *view.Attempt) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.attempts[a.ID]
	return e != nil && e.sent
}

// charge takes a charge at the provider.
func (b *book) charge(payment string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.charged[payment]++
}

// ask returns whether a payment was taken. It may lie once about each.
func (b *book) ask(e *entry, payment string, lies bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.charged[payment] > 0
	if lies && !b.lied[payment] {
		b.lied[payment], e.lie = true, true
		return !taken
	}
	return taken
}

// believed reports whether a question was answered by a lie that is on record.
func (b *book) believed(a *view.Attempt) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.attempts[a.ID]
	return e != nil && e.lie && (a.Outcome == view.OutcomeFound || a.Outcome == view.OutcomeAbsent)
}

func (b *book) charges(payment string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charged[payment]
}

// judgeCharges makes sure that no attempt that may have been done was repeated without being
// asked about, and that what was charged is what the run believes. When clocks step, a request
// may be under way for longer than they say.
func (w *world) judgeCharges(run string, ledger []view.Attempt) {
	most := 1 // charges of the call, so far as its record explains them
	for i := range ledger {
		a := &ledger[i]
		if !isCharge(a.Name) {
			continue
		}
		if i == 0 || ledger[i-1].Call != a.Call {
			most = 1
		}
		least := 0
		switch {
		case w.book.believed(a) && a.Outcome == view.OutcomeAbsent:
			most++ // it was charged, and is again
		case w.book.believed(a):
			most-- // it was not, and the call ends
		case a.Outcome == view.OutcomeCompleted || a.Outcome == view.OutcomeFound:
			least = 1
		}
		last := i == len(ledger)-1 || ledger[i+1].Call != a.Call
		if paid := w.book.charges(core.CallID(run, a.Call)); last && w.steady() && a.RunID == "" && (paid > most || paid < least) {
			w.complain("U9: call %d of %s was charged %d times, from %d to %d are explained; it ended %s", a.Call, run, paid, least, most, a.Outcome)
		}
		if i == 0 || ledger[i-1].Call != a.Call || a.Question > 0 || a.RunID != "" {
			continue
		}
		before := &ledger[i-1]
		if before.Outcome == view.OutcomeUnknown || before.Question == 0 && w.book.mayHave(before) {
			w.complain("U2: attempt %d of call %d of %s follows one that %s (%s)", a.Number, a.Call, run, before.Outcome, before.Reason)
		}
	}
}
