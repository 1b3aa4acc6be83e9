package request

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// outside is code that makes one call that is completed from outside.
func outside(w *roomtest.Work) (any, error) {
	call := w.Start("approve", roomtest.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, AttemptTimeout: 24 * time.Hour}))
	err := w.Wait(call)
	return string(call.Result.Data), err
}

// outsider starts a run of outside and returns the token of its attempt.
func (a *asker) outsider(id string) string {
	a.Helper()
	a.Define("outside", outside)
	run := a.start("outside", id)
	a.Latest(id).End(1, core.Pending, history.Payload{}, nil)
	return a.Token(Attempt{a.place(id), run, 1, 1})
}

// TestE29_ATokenCompletesItsAttempt: once; saying the same again is no error, and something else is.
func TestE29_ATokenCompletesItsAttempt(t *testing.T) {
	both(t, func(a *asker) {
		token := a.outsider("o")
		for range 3 {
			a.Must(a.CompleteAttempt(a.ctx, token, roomtest.Payload("yes")))
			a.settle()
		}
		if d := a.detail("o"); string(d.Result.Data) != `"\"yes\""` {
			a.Errorf("the result is %s", d.Result.Data)
		}
		if err := a.FailAttempt(a.ctx, token, history.FromError(errors.New("no"))); !errors.Is(err, ErrStaleToken) || !strings.Contains(err.Error(), "it has the outcome completed") {
			a.Errorf("to fail what has succeeded: %v", err)
		}
		if err := a.HeartbeatAttempt(a.ctx, token, roomtest.Payload(1)); !errors.Is(err, ErrStaleToken) {
			a.Errorf("a heartbeat of what has ended: %v", err)
		}
	})
}

// TestE29_AFailureFromOutsideIsJudgedByThePolicy: the next attempt has another token.
func TestE29_AFailureFromOutsideIsJudgedByThePolicy(t *testing.T) {
	both(t, func(a *asker) {
		token := a.outsider("o")
		a.Must(a.HeartbeatAttempt(a.ctx, token, roomtest.Payload("half")))
		a.settle()
		d, err := a.read.Describe(a.ctx, "o", "")
		if err != nil || d.Pending[0].Heartbeat == nil || d.Pending[0].Heartbeat.String() != `"half"` {
			a.Errorf("it is %+v, %v", d, err)
		}
		a.Must(a.FailAttempt(a.ctx, token, history.FromError(&roomtest.Error{Kind: "Declined", Text: "no"})))
		a.settle()
		a.Must(a.FailAttempt(a.ctx, token, history.FromError(errors.New("no")))) // it has failed
		a.Pass(2 * time.Second)
		if err := a.CompleteAttempt(a.ctx, token, roomtest.Payload(1)); !errors.Is(err, ErrStaleToken) {
			a.Errorf("the token of the first attempt: %v", err)
		}
		a.Latest("o").End(1, core.Pending, history.Payload{}, nil)
		a.Must(a.CompleteAttempt(a.ctx, a.Token(Attempt{a.place("o"), a.state("o").ID, 1, 2}), roomtest.Payload(1)))
		a.settle()
		attempts, err := a.read.Attempts(a.ctx, "o", "", view.AttemptRange{})
		if err != nil || len(attempts) != 2 || attempts[0].ErrorType != "Declined" || attempts[1].Outcome != view.OutcomeCompleted {
			a.Errorf("the attempts are %+v, %v", attempts, err)
		}
	})
}

// TestE29_TokensOfOthersAreRefused: of another database, another run, a run that has ended or is
// gone.
func TestE29_TokensOfOthersAreRefused(t *testing.T) {
	both(t, func(a *asker) {
		token := a.outsider("o")
		forgeries := []string{"", "x", token + "A", token[1:], token[:len(token)-1], " " + token, token + "=", "AQ", "\x00\xff"}
		for i := range token {
			forged := []byte(token)
			forged[i] = 'A' + (forged[i]-'A'+1)%26
			forgeries = append(forgeries, string(forged))
		}
		for _, forged := range forgeries {
			for _, err := range []error{a.CompleteAttempt(a.ctx, forged, history.Payload{}), a.FailAttempt(a.ctx, forged, nil), a.HeartbeatAttempt(a.ctx, forged, history.Payload{})} {
				if !errors.Is(err, ErrInvalidToken) {
					a.Errorf("%q: %v", forged, err)
				}
			}
		}
		if err := a.CompleteAttempt(a.ctx, sign([]byte("another secret"), Attempt{0, "r", 1, 1}), history.Payload{}); !errors.Is(err, ErrInvalidToken) {
			a.Errorf("of another database: %v", err)
		}
		if err := a.CompleteAttempt(a.ctx, a.Token(Attempt{0, "nobody", 1, 1}), history.Payload{}); !errors.Is(err, store.ErrNotFound) {
			a.Errorf("of no run: %v", err)
		}
		for _, wrong := range []Attempt{{a.place("o"), a.state("o").ID, 2, 1}, {a.place("o"), a.state("o").ID, 1, 2}} {
			if err := a.CompleteAttempt(a.ctx, a.Token(wrong), history.Payload{}); !errors.Is(err, ErrStaleToken) {
				a.Errorf("of %+v: %v", wrong, err)
			}
		}
		a.Must(a.Terminate(a.ctx, "o", "", By{}))
		a.settle()
		if err := a.CompleteAttempt(a.ctx, token, history.Payload{}); !errors.Is(err, ErrStaleToken) {
			a.Errorf("of a run that has ended: %v", err)
		}
	})
}

// counter is code with a query and updates.
func counter(w *roomtest.Work) (any, error) {
	sum, done := 0, false
	w.TakeUpdates()
	w.Ask = func(name string, _ history.Payload) (any, error) {
		if name != "sum" {
			return nil, errors.New("there is no query " + name)
		}
		return sum, nil
	}
	w.Judge = func(name string, _ history.Payload) error {
		if name == "bad" {
			return errors.New("it is bad")
		}
		return nil
	}
	w.Answer = func(name string, _ history.Payload) (any, error) {
		switch name {
		case "slow":
			return nil, roomtest.ErrLater
		case "fails":
			return nil, errors.New("it failed")
		case "close":
			done = true
		}
		sum++
		return sum, nil
	}
	w.Until(func() bool { return done || w.Canceled })
	return sum, nil
}

// TestE40_QueriesAreAnsweredByTheCode: and leave nothing behind.
func TestE40_QueriesAreAnsweredByTheCode(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("counter", counter)
		a.start("counter", "c")
		if answer, err := a.Query(a.ctx, "c", "", "sum", history.Payload{}); err != nil || string(answer.Data) != "0" {
			a.Errorf("the answer is %s, %v", answer.Data, err)
		}
		if _, err := a.Query(a.ctx, "c", "", "other", history.Payload{}); err == nil || !strings.Contains(err.Error(), "there is no query other") {
			a.Errorf("a question that the code does not know: %v", err)
		}
		if _, err := a.Query(a.ctx, "nobody", "", "sum", history.Payload{}); !errors.Is(err, store.ErrNotFound) {
			a.Errorf("a question to nobody: %v", err)
		}
		if messages, err := a.DB.Inbox(a.ctx, a.group.All(), store.InboxRead{}); len(messages) != 0 || err != nil {
			a.Errorf("left are %+v, %v", messages, err)
		}
	})
}

// TestE40_AQueryThatNobodyAnswersEnds: with the time of its caller, or after QueryTime.
func TestE40_AQueryThatNobodyAnswersEnds(t *testing.T) {
	elsewhere(t, func(a *asker) {
		a.Define("counter", counter)
		a.start("counter", "c")
		row := a.state("c")
		row.WorkflowID = "c"
		a.Must(a.DB.Leave(a.ctx, roomtest.Node))
		time.Sleep(100 * time.Millisecond)
		ctx, cancel := context.WithTimeout(a.ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := a.Query(ctx, "c", "", "sum", history.Payload{}); !errors.Is(err, ErrUnanswered) || !errors.Is(err, context.DeadlineExceeded) {
			a.Errorf("in time: %v", err)
		}
	})
}

// TestE40_UpdatesAreAnsweredByTheCode: once for each ID, also after the run has ended; what the
// validator rejects is not on record.
func TestE40_UpdatesAreAnsweredByTheCode(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("counter", counter)
		a.start("counter", "c")
		update := func(name, id string) (string, error) {
			p, err := a.Update(a.ctx, "c", name, id, roomtest.Payload(1))
			return string(p.Data), err
		}
		for range 2 {
			if got, err := update("add", "one"); got != "1" || err != nil {
				a.Errorf("the answer is %s, %v", got, err)
			}
		}
		if got, err := update("add", ""); got != "2" || err != nil {
			a.Errorf("the answer is %s, %v", got, err)
		}
		if _, err := update("bad", "b"); err == nil || !strings.Contains(err.Error(), "it is bad") {
			a.Errorf("what is rejected: %v", err)
		}
		for range 2 {
			if _, err := update("fails", "f"); err == nil || !strings.Contains(err.Error(), "it failed") {
				a.Errorf("what fails: %v", err)
			}
		}
		if _, err := update("other", "one"); !asInput(err, `belongs to update "add" with the input 1; use another ID`) {
			a.Errorf("another update with the ID: %v", err)
		}
		if got, err := update("close", "end"); got != "3" || err != nil {
			a.Errorf("the last answer is %s, %v", got, err)
		}
		for id, want := range map[string]string{"one": "1", "end": "3"} { // the run has ended
			name := map[string]string{"one": "add", "end": "close"}[id]
			if got, err := update(name, id); got != want || err != nil {
				a.Errorf("again: %s, %v", got, err)
			}
		}
		if _, err := update("add", "new"); !errors.Is(err, store.ErrClosed) {
			a.Errorf("after the end: %v", err)
		}
	})
}

func asInput(err error, problem string) bool {
	var input *history.InputError
	return errors.As(err, &input) && strings.Contains(input.Problem, problem)
}

// TestE40_AnUpdateThatIsNotAnsweredSaysSo: that it is on record, or that the run ended before.
func TestE40_AnUpdateThatIsNotAnsweredSaysSo(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("counter", counter)
		a.start("counter", "c")
		ctx, cancel := context.WithTimeout(a.ctx, time.Minute)
		defer cancel()
		if _, err := a.Update(ctx, "c", "slow", "s", roomtest.Payload(1)); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
			a.Errorf("in time: %v", err)
		}
		ended := make(chan error)
		go func() { _, err := a.Update(a.ctx, "c", "slow", "s", roomtest.Payload(1)); ended <- err }()
		time.Sleep(10 * time.Second)
		a.Must(a.Terminate(a.ctx, "c", "", By{}))
		if err := <-ended; !errors.Is(err, ErrUpdateUnfinished) {
			a.Errorf("at the end of the run: %v", err)
		}
	})
}
