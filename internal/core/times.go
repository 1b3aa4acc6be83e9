package core

import (
	"math"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// addTime adds a duration to a time, both in ns, without overflow.
func addTime(t int64, d time.Duration) int64 {
	if d > 0 && t > math.MaxInt64-1-int64(d) {
		return math.MaxInt64 - 1
	}
	return t + max(int64(d), 0)
}

// withinEnd returns the last moment at which an attempt may start after a failure.
func withinEnd(first int64, within time.Duration) int64 {
	if within <= 0 || within == retry.Forever {
		return Never
	}
	return addTime(first, within)
}

// RunDeadline returns when the time of one run ends, or Never. The time begins when the
// code may begin, so a delay or backoff is not part of it.
func RunDeadline(s *history.Start) int64 {
	if s.RunTimeout <= 0 {
		return Never
	}
	return addTime(max(s.Created, s.FirstTurn), s.RunTimeout)
}

// CanWait reports whether a run with this start event may stand in line to begin. A run
// that begins later or has a timeout may not: its row has to hold that time.
func CanWait(s *history.Start) bool {
	return s.FirstTurn == 0 && s.RunTimeout <= 0 && s.ChainDeadline == 0 && s.Base == nil
}

// deadline returns when a run with this start event times out, and as what. If the times of
// the run and of its chain end together, the chain's counts, so that no run follows.
func deadline(s *history.Start) (at int64, kind retry.TimeoutKind, limit time.Duration) {
	at = RunDeadline(s)
	if s.ChainDeadline != 0 && s.ChainDeadline <= at {
		return s.ChainDeadline, retry.TimeoutChain, s.ChainTimeout
	}
	return at, retry.TimeoutRun, s.RunTimeout
}

func crashLimit(p *retry.Policy) int {
	return p.WithDefaults().CrashLimit
}

// bounded reports whether the policy limits how long an attempt may stay open.
func bounded(p *retry.Policy) bool { return p.AttemptTimeout > 0 || p.HeartbeatTimeout > 0 }

// nextOf returns when the next attempt is due, 0 for none.
func nextOf(d retry.Decision) int64 {
	if !d.Retry {
		return 0
	}
	return d.At.UnixNano()
}
