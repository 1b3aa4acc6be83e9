package core

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Judged is a failure as a policy sees it, so that another policy can judge it later. The
// ledger's columns hold only the outermost error.
type Judged struct {
	Types    []string          `json:"types,omitempty"` // of the error and all that it wraps
	Canceled bool              `json:"canceled,omitempty"`
	Terminal bool              `json:"terminal,omitempty"`
	Timeout  retry.TimeoutKind `json:"timeout,omitempty"`
	Limit    time.Duration     `json:"limit,omitempty"`   // the limit that was exceeded, ns
	Asked    bool              `json:"asked,omitempty"`   // the error asks for its own delay
	After    time.Duration     `json:"after,omitempty"`   // ns
	At       int64             `json:"at,omitempty"`      // ns since 1970, 0 for After
	Unknown  bool              `json:"unknown,omitempty"` // it may have had its effect
}

// Failure returns the failure for retry.Decide.
func (j *Judged) Failure() retry.Failure {
	f := retry.Failure{Types: j.Types, Canceled: j.Canceled, Terminal: j.Terminal, Timeout: j.Timeout, Asked: j.Asked, After: j.After, Unknown: j.Unknown}
	if j.At != 0 {
		f.At = time.Unix(0, j.At)
	}
	return f
}

// newJudged returns nil if the columns of the record say everything about the failure.
func newJudged(outcome Outcome, f *history.Failure, d retry.Decision) *Judged {
	err := f.Err()
	c := retry.Classify(err)
	j := &Judged{Types: c.Types, Canceled: c.Canceled, Terminal: c.Terminal, Timeout: c.Timeout, Asked: c.Asked, After: c.After, Unknown: c.Unknown}
	if timeout, ok := errors.AsType[*retry.TimeoutError](err); ok {
		j.Limit = timeout.Limit
	}
	if !c.At.IsZero() {
		j.At = c.At.UnixNano()
	}
	told := JudgedBy(outcome, f.TypeName(), d.Reason, d.Delay)
	if j.Limit == 0 && j.At == 0 && j.same(told) {
		return nil
	}
	return j
}

// JudgedBy returns the failure as far as the columns of its record tell: the outermost
// type, and the decision of the policy that was in force.
func JudgedBy(outcome Outcome, errorType string, reason retry.Reason, delay time.Duration) *Judged {
	j := &Judged{Types: []string{errorType}, Canceled: errorType == retry.TypeCanceled, Terminal: reason == retry.ReasonTerminal}
	if reason == retry.ReasonServerDelay {
		j.Asked, j.After = true, delay
	}
	if outcome == TimedOut {
		for _, kind := range []retry.TimeoutKind{retry.TimeoutAttempt, retry.TimeoutHeartbeat, retry.TimeoutQueue} {
			if kind.TypeName() == errorType {
				j.Timeout, j.Unknown = kind, kind != retry.TimeoutQueue
			}
		}
	}
	return j
}

func (j *Judged) same(other *Judged) bool {
	return slices.Equal(j.Types, other.Types) && j.Canceled == other.Canceled && j.Terminal == other.Terminal &&
		j.Timeout == other.Timeout && j.Asked == other.Asked && j.After == other.After && j.Unknown == other.Unknown
}
