package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
)

// shift is the work of one attempt.
type shift struct {
	*entry
	node *node
	dice dice
}

// begin begins the attempt of a call with a number.
func begin(ctx context.Context, n int) *shift {
	node, info := nodeOf(ctx), infoOf(ctx)
	return &shift{entry: node.book.begin(node, info), node: node, dice: node.world.dice.of("body", n, info.Attempt)}
}

func infoOf(ctx context.Context) activity.Info {
	info, ok := activity.FromContext(ctx)
	if !ok {
		panic("a body runs in no attempt")
	}
	return info
}

// take takes its time, mostly a little; some bodies do not listen when they are told to end.
func (s *shift) take(ctx context.Context) error {
	d := time.Duration(s.dice.of("length").below(300_000)) * time.Microsecond
	switch s.dice.of("slow").below(24) {
	case 0:
		d *= 40
	case 1, 2, 3:
		d *= 8
	}
	if s.dice.of("deaf").oneIn(8) {
		ctx = context.Background()
	}
	if err := pause(ctx, d); err != nil {
		return err
	}
	return s.node.whileFrozen(ctx)
}

// end says how the attempt ends: the first attempts of some calls fail.
func (s *shift) end(n, attempt int) error {
	luck := s.node.world.dice.of("luck", n)
	unlucky := luck.oneIn(2) && attempt <= luck.of("times").below(3)
	s.node.book.end(s.entry, !unlucky)
	if unlucky {
		return errUnlucky
	}
	return nil
}

// plainBody takes its time and has an effect.
func plainBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	return n, s.end(n, s.number)
}

// deadlyBody kills its process, some times. Somebody starts it again.
func deadlyBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	if w := s.node.world; s.number <= w.dice.of("deadly", n).below(3) {
		s.node.die()
		w.again(s.node)
		return 0, errCrashed
	}
	return n, s.end(n, 1000)
}

// failingBody never has an effect.
func failingBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	s.node.book.end(s.entry, false)
	return 0, errUnlucky
}

// writtenBody has its effect in the transaction that records its result.
func writtenBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	if err := s.end(n, s.number); err != nil {
		return 0, err
	}
	return n, activity.OnCommit(ctx, func(context.Context, any) error {
		s.node.book.write(s.call)
		return nil
	})
}

// beats is how often a beating body beats.
const beats = 4

// beatingBody continues from where an earlier attempt was.
func beatingBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	at, known, err := activity.Details[int](ctx)
	if err != nil || known && s.number == 1 || at > beats {
		s.node.world.complain("attempt %d of a beating call is told %d, %v, %v", s.number, at, known, err)
	}
	for ; at < beats; at++ {
		if err := activity.Heartbeat(ctx, at+1); err != nil {
			return 0, err
		}
		if err := pause(ctx, time.Duration(s.dice.of("beat", at).below(700))*time.Millisecond); err != nil {
			return 0, err
		}
		if err := s.node.whileFrozen(ctx); err != nil {
			return 0, err
		}
	}
	return n, s.end(n, s.number)
}

// outsideBody leaves its attempt to a clerk.
func outsideBody(ctx context.Context, n int) (int, error) {
	s := begin(ctx, n)
	if err := s.take(ctx); err != nil {
		return 0, err
	}
	token := activity.Token(ctx)
	s.node.world.errands.Go(func() { s.answer(token, n) })
	return 0, activity.ErrPending
}

// answer completes an attempt from outside, at once or after a while, with and without signs of
// life. What was answered once is so, and who is told that the attempt is over is told the truth.
func (s *shift) answer(token string, n int) {
	w, d := s.node.world, s.node.world.dice.of("answer", n, s.number)
	if d.oneIn(8) {
		return // nobody answers: the attempt times out
	}
	as, say := view.OutcomeCompleted, func(ctx context.Context) error {
		result, _ := history.Encode(n)
		return w.desk().CompleteAttempt(ctx, token, result)
	}
	if luck := w.dice.of("luck", n); luck.oneIn(2) && s.number <= luck.of("times").below(3) {
		as, say = view.OutcomeFailed, func(ctx context.Context) error {
			return w.desk().FailAttempt(ctx, token, history.FromError(errUnlucky))
		}
	}
	prompt, alive := d.of("prompt").oneIn(3), d.of("alive").oneIn(2)
	for range 20 {
		if !prompt {
			time.Sleep(time.Duration(d.of("late").below(2500)) * time.Millisecond)
		}
		prompt = false
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if alive {
			_ = w.desk().HeartbeatAttempt(ctx, token, history.Payload{})
		}
		err := say(ctx)
		at := time.Now()
		cancel()
		switch {
		case err == nil:
			s.node.book.answer(s.entry, as, at)
			return
		case errors.Is(err, request.ErrStaleToken):
			s.node.book.answer(s.entry, turnedAway, at)
			return
		}
		w.tolerate(err, "an answer for %d", n)
	}
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d > 0 && !clock.Pause(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// nodeKey is the key of the node in the contexts of bodies.
type nodeKey struct{}

func nodeOf(ctx context.Context) *node {
	n, ok := ctx.Value(nodeKey{}).(*node)
	if !ok {
		panic(fmt.Sprintf("the context of a body names no node: %v", ctx))
	}
	return n
}
