package workflow

import (
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/option"
	"github.com/perdure/perdure/retry"
)

// Option is a setting of a definition: Version, Pinned or RetryPolicy.
type Option interface{ define(*options) }

type options struct {
	version string
	pinned  bool
	retry   *retry.Policy
}

type setting func(*options)

func (f setting) define(o *options) { f(o) }

// Version names the version of the code. A parked run is tried again when the version of
// the owner's code is not the one with which it was parked; without a declared version,
// whenever the program is another build.
func Version(v string) Option { return setting(func(o *options) { o.version = v }) }

// Pinned keeps each run on the build with which its code began (see perdure.Build): code
// that changes needs not fit the histories of runs in flight. Where a node of another build
// would continue the run, it goes on at a live node of its group that has the build; if
// there is none, it is held as view.StatusWaitingForCode until one comes back, or until
// ops.MoveRun gives it another build.
//
// The next run of the chain, after ContinueAsNew or by a RetryPolicy, begins on the build of
// the node that begins it, and so do a child and a run that is reset or forked: the code of
// that build must fit what is kept. Runs that began before their workflow was declared so
// stay on none. An engine that does not know its build refuses the definition.
func Pinned() Option { return setting(func(o *options) { o.pinned = true }) }

// What the options of package internal/option are called here, where users read.
type (
	startOption    = option.ForStart
	runOption      = option.ForRun
	childOption    = option.ForChild
	detachedOption = option.ForDetached
)

// RunOption is a setting of a run, in whatever way it is started: perdure.Start, perdure.Run,
// perdure.StartTx, perdure.Schedule, RunChild and StartDetached take it. It holds for all
// runs of the chain.
type RunOption interface{ runOption }

// ChildOption is a setting of RunChild: a RunOption, Delay, ChildID or OnParentClose.
type ChildOption interface{ childOption }

// DetachedOption is a setting of StartDetached: a RunOption, Delay or ChildID.
type DetachedOption interface{ detachedOption }

// DelayOption is a setting of perdure.Start, RunChild and StartDetached.
type DelayOption interface {
	startOption
	detachedOption
}

// Priority orders the activities and steps of the runs and of their children among calls
// that wait for a slot of the process (see perdure.Concurrency) or at a gate of
// activity.Through: calls with a higher priority start first, those of one priority in
// the order in which they came. It is between -1,000 and 1,000; runs without one have 0,
// children that of their parent. activity.Priority gives a call its own.
//
// Calls that run are not interrupted. Priority is strict: while calls of a higher one
// wait, none of a lower one starts; a QueueTimeout of a policy bounds a wait. A process
// that starts knows within a second which calls had waited, and continues by their
// priority. Calls that were lost in a crash run one at a time whatever their priority;
// among those that were lost equally often, it decides.
func Priority(n int) RunOption { return option.Run(func(s *option.Settings) { s.Priority = n }) }

// RunTimeout limits each run from when its code may begin: Delay and the backoff of a
// RetryPolicy do not count. A run that is open then is closed as timed out, even if it is
// parked or no node serves it: its code is not asked, its attempts are given up, and what
// they still return is dropped. It has then failed with a *retry.TimeoutError of kind
// retry.TimeoutRun, and its RetryPolicy decides whether another run follows, with all its
// time. If none follows, the workflow ends as timed out, with a *retry.ExhaustedError
// around the *retry.TimeoutError. A run that continues as new is followed by one with all
// its time. 0 is no limit.
//
// A run whose code no node has is retried only by a policy given at the start.
func RunTimeout(d time.Duration) RunOption {
	return option.Run(func(s *option.Settings) { s.RunTimeout = d })
}

// ChainTimeout limits all runs of the chain together, from when the code of the first may
// begin, backoffs included. The run that is open then is closed as by RunTimeout, but
// with the kind retry.TimeoutChain, and no run follows. A failed run is not retried if the
// next one could only begin later. 0 is no limit; a limit shorter than RunTimeout is
// refused.
//
// The Within of a RetryPolicy differs: it only limits when another attempt may begin, and
// starts again when a run continues as new.
func ChainTimeout(d time.Duration) RunOption {
	return option.Run(func(s *option.Settings) { s.ChainTimeout = d })
}

// Memo attaches a value, at most 16 KiB of JSON, that descriptions of the runs show.
// Attaching to a run does not change it.
func Memo(v any) RunOption {
	return option.Run(func(s *option.Settings) {
		var err error
		if s.Memo, err = history.Encode(v); err != nil && s.Fault == nil {
			s.Fault = fmt.Errorf("memo: %w", err)
		}
	})
}

// Attributes gives the runs names and values by which perdure.Engine.List and operations
// on many runs find them: {"customer": "ann", "region": "eu"}. There are at most 16; a
// name has at most 64 bytes, a value 256. Only the code of the runs changes them, with
// SetAttribute; attaching to a run does not, and children have none of their parent's.
// Several of this option add up.
func Attributes(all map[string]string) RunOption {
	return option.Run(func(s *option.Settings) {
		if s.Attributes == nil {
			s.Attributes = map[string]string{}
		}
		maps.Copy(s.Attributes, all)
	})
}

// Headers gives the runs texts that their attempts and children have too, and that
// interceptors read: see package intercept. There are at most 32, of at most 4 KiB
// together; a name has at most 64 of the bytes a-z, 0-9, -, _ and . , and "traceparent" is
// that of perdure.TraceParent. A child has those of its parent, which this option adds to
// or, with another value, changes; an empty value takes one away. Several of this option
// add up. Attaching to a run does not change its headers.
func Headers(all map[string]string) RunOption {
	return option.Run(func(s *option.Settings) {
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		for name, value := range all {
			if name == history.HeaderTrace {
				s.Trace = value
			} else {
				s.Headers[name] = value
			}
		}
	})
}

// Delay lets the code begin only after d. The run exists before: it can be sent signals
// and be canceled. Its Created is the time of the start.
func Delay(d time.Duration) DelayOption {
	return option.Delayed(func(s *option.Settings) { s.Delay = d })
}

// ChildID gives a child a workflow ID, at most 1,000 bytes, which no other run may have.
// Without it the ID is made of this run's workflow ID, the child's name, the number of the
// call and the end of this run's ID, such as "order-17/ship/3-5f0c9e8a71b2": each run of a
// chain has children of its own.
func ChildID(id string) DetachedOption {
	return option.Detached(func(s *option.Settings) { s.ID = &id })
}

// RetryOption is a setting of a definition, or of a run.
type RetryOption interface {
	Option
	RunOption
}

type retryOption struct {
	option.Run
	setting
}

// RetryPolicy lets the engine try a run that failed again, from its beginning and with
// the same input: the run is closed as continued, and the next one of its chain begins
// when the backoff ends, during which nothing is in memory. A policy given at a start
// is preferred to that of the definition, and recorded; that of the definition is applied
// as it is when the run fails.
//
// A run that was canceled or terminated is not retried, nor is one that failed with a
// terminal error. A run that failed because no attempt is left ends with a
// *retry.ExhaustedError around the last failure; a parent sees only that. Within counts
// from the start of the first attempt. Signals that an attempt has read are gone; others
// wait for the next one. Calls have policies of their own, which come first.
//
// AttemptTimeout, HeartbeatTimeout, QueueTimeout, CrashLimit and OnExhausted Pause have
// no meaning for runs and are refused.
func RetryPolicy(p retry.Policy) RetryOption {
	return retryOption{
		option.Run(func(s *option.Settings) { s.Retry = &p }),
		func(o *options) { o.retry = &p },
	}
}
