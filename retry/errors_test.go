package retry_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/mark"
	"github.com/perdure/perdure/retry"
)

func TestR14_Texts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&retry.ExhaustedError{Name: "charge", Attempts: 5, Max: 5, Reason: retry.ReasonMaxAttempts}, "charge: gave up after 5 attempts (max attempts)"},
		{&retry.ExhaustedError{Attempts: 1, Max: 1, Reason: retry.ReasonMaxAttempts}, "gave up after 1 attempt (max attempts)"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonWithin, Within: 5 * time.Minute}, "charge: gave up after 2 attempts (within 5m)"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonBudget}, "charge: gave up after 2 attempts (the retry budget is used up)"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonTimeout}, "charge: gave up after 2 attempts (timeouts are not retried)"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonStopRule, Err: io.EOF}, "charge: gave up after 2 attempts (a rule stops on EOF): EOF"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonNonRetryable, Err: io.EOF}, "charge: gave up after 2 attempts (EOF is not retried): EOF"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonNotRetryable, Err: io.EOF}, "charge: gave up after 2 attempts (EOF is not among what is retried): EOF"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 3, Reason: retry.ReasonCrashLimit}, "charge: gave up after 3 attempts (crash limit)"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 3, Reason: "odd"}, "charge: gave up after 3 attempts (odd)"},
		{&retry.AbortedError{Name: "charge", Attempt: 2, Phase: retry.PhaseBackoff, Cause: context.Canceled}, "charge was canceled in attempt 2 (backoff): context canceled"},
		{&retry.AbortedError{Attempt: 1, Phase: retry.PhaseExecution}, "the call was canceled in attempt 1 (execution): canceled"},
		{&retry.AbortedError{Name: "charge", Attempt: 2, Phase: retry.PhaseBackoff, Cause: context.Canceled, Last: io.EOF}, "charge was canceled in attempt 2 (backoff): context canceled; its last failure: EOF"},
		{&retry.AbortedError{Name: "charge", Attempt: 2, Phase: retry.PhaseExecution, Cause: context.Canceled, Last: context.Canceled}, "charge was canceled in attempt 2 (execution): context canceled"},
		{&retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: 2 * time.Second}, "timeout: the attempt ran longer than 2s"},
		{&retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: time.Hour}, "timeout: the attempt gave no sign of life for 1h"},
		{&retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: 90 * time.Second}, "timeout: the attempt did not start within 1m30s"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 1, Reason: retry.ReasonBreaker}, "charge: gave up after 1 attempt (the circuit breaker is open)"},
		{&retry.ExhaustedError{Name: "charge", Attempts: 2, Max: 1, Reason: retry.ReasonMaxAttempts, Err: io.EOF}, "charge: gave up after 2 attempts (max attempts 1): EOF"},
		{
			&retry.ExhaustedError{Name: "charge", Attempts: 1, Reason: retry.ReasonBreaker, Err: &retry.RefusedError{Gate: "payments", Reason: retry.ReasonBreaker, Last: io.EOF}},
			"charge: gave up after 1 attempt: the circuit breaker of gate payments is open: EOF",
		},
		{&retry.RefusedError{Gate: "payments", Reason: retry.ReasonBreaker}, "the circuit breaker of gate payments is open"},
		{&retry.RefusedError{Gate: "payments", Reason: retry.ReasonBudget}, "the retry budget of gate payments is used up"},
		{&retry.WorkerLostError{Worker: "n1", Attempt: 4, Losses: 2, Limit: 3}, "the worker n1 was lost while attempt 4 ran (loss 2 of at most 3)"},
		{&retry.WorkerLostError{Attempt: 1, Losses: 1, Limit: 3}, "the worker was lost while attempt 1 ran (loss 1 of at most 3)"},
		{&retry.ConfigError{Name: "charge", Err: errors.New("broken")}, "charge is misconfigured: broken"},
		{&retry.PanicError{Value: "boom"}, "panic: boom"},
		{&mark.Terminal{}, "terminal error"},
		{&mark.After{}, "retry later"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestR12_TerminalIsTheSameError(t *testing.T) {
	inner := &quotaError{Limit: 3}
	err := retry.Terminal(errors.Join(io.EOF, inner))
	if err.Error() != errors.Join(io.EOF, inner).Error() {
		t.Errorf("the text is %q", err)
	}
	as, ok := errors.AsType[*quotaError](err)
	if !ok || as != inner || !errors.Is(err, io.EOF) || !retry.IsTerminal(err) || retry.IsTerminal(inner) {
		t.Errorf("%v hides what it marks", err)
	}
	if retry.Terminal(nil) != nil || retry.After(nil, 1) != nil || retry.AfterTime(nil, time.Now()) != nil {
		t.Error("a mark makes an error of nil")
	}
}

func TestR14_UnwrapIsTheLastError(t *testing.T) {
	err := &retry.ExhaustedError{Err: io.EOF}
	if errors.Unwrap(err) != io.EOF {
		t.Errorf("got %v", errors.Unwrap(err))
	}
	aborted := &retry.AbortedError{Cause: context.Canceled, Last: io.EOF}
	if !errors.Is(aborted, context.Canceled) || !errors.Is(aborted, io.EOF) {
		t.Errorf("%v hides its causes", aborted)
	}
	if n := len((&retry.AbortedError{}).Unwrap()); n != 0 {
		t.Errorf("it wraps %d errors", n)
	}
	var timeout interface{ Timeout() bool }
	if !errors.As(&retry.TimeoutError{}, &timeout) || !timeout.Timeout() {
		t.Error("a timeout does not say that it is one")
	}
}

func TestR34_PanicErrors(t *testing.T) {
	e := retry.NewPanicError(io.EOF)
	if e.Value != "EOF" || !errors.Is(e, io.EOF) || !strings.Contains(e.Stack, "TestR34_PanicErrors") {
		t.Errorf("got %+v", e)
	}
	if e := retry.NewPanicError(7); e.Value != "7" || e.Err != nil {
		t.Errorf("got %+v", e)
	}
	if e := retry.NewPanicError(&hostileError{}); e.Value == "" {
		t.Errorf("got %+v", e)
	}
	var deep func(int) *retry.PanicError
	deep = func(n int) *retry.PanicError {
		if n == 0 {
			return retry.NewPanicError("deep")
		}
		return deep(n - 1)
	}
	if n := len(deep(1000).Stack); n > 16<<10 {
		t.Errorf("a stack of %d bytes", n)
	}
}
