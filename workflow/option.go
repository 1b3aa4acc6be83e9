package workflow

import (
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// Option is an option of a definition: Version, Pinned or RetryPolicy.
type Option interface{ definitionOption }

// Version names the version of the code. A parked run is tried again when its owner has
// another version than the one with which it was parked; without Version, when its owner
// has another build.
func Version(v string) Option { return seal.With(func(d *seal.WorkflowDeclaration) { d.Version = v }) }

// Pinned keeps each run on the build with which its code began (see perdure.Build), so
// changed code need not fit the histories of open runs. If the node that owns the run has
// another build, the run continues at a live node of its group that has the right one. If
// there is none, the run is held as view.StatusWaitingForCode until such a node starts,
// or until ops.MoveRun assigns another build.
//
// The next run of the chain, after ContinueAsNew or by a RetryPolicy, begins on the build
// of the node that begins it, and so do a child and a run that is reset or forked: the
// code of that build must fit the kept history. Runs that began before their workflow was
// declared Pinned are not pinned. An engine that does not know its build refuses the
// definition.
func Pinned() Option { return seal.With(func(d *seal.WorkflowDeclaration) { d.Pinned = true }) }

// What the options of package internal/seal are called here, where users read.
type (
	definitionOption = seal.Option[seal.WorkflowDeclaration]

	startOption    = seal.ForStart
	runOption      = seal.ForRun
	childOption    = seal.ForChild
	detachedOption = seal.ForDetached
)

// RunOption is an option of a run: perdure.Start, perdure.Run, perdure.StartTx,
// perdure.Schedule, RunChild and StartDetached take it. It applies to all runs of the
// chain.
type RunOption interface{ runOption }

// ChildOption is an option of RunChild: a RunOption, Delay, ChildID, ChildReuse or
// OnParentClose.
type ChildOption interface{ childOption }

// DetachedOption is an option of StartDetached: a RunOption, Delay, ChildID or
// ChildReuse.
type DetachedOption interface{ detachedOption }

// DelayOption is an option of perdure.Start, RunChild and StartDetached.
type DelayOption interface {
	startOption
	detachedOption
}

// Priority orders the activities and steps of the run and of its children among calls
// that wait for a slot of the process (see perdure.Concurrency) or at a gate of
// activity.Through: calls with a higher priority start first, calls of equal priority in
// the order in which they came. It is between -1,000 and 1,000. The default is 0, for
// children that of the parent. activity.Priority sets the priority of a call.
//
// Running calls are not interrupted. Among runs of one Key, and of none, priority is strict:
// while calls of a higher priority wait, no call of a lower one starts; the QueueTimeout of a policy bounds the wait. A
// process that starts learns within a second which calls were waiting, and continues by
// their priority. Calls that were lost in a crash run one at a time whatever their
// priority; among those that were lost equally often, the priority decides.
func Priority(n int) RunOption { return seal.SetRun(func(s *seal.StartSettings) { s.Priority = n }) }

// Key sets the key of the run and of its children, for instance a customer. Where calls or runs
// wait, for a slot of the process or at a gate, keys take turns: one piece of work of each, so
// that no key waits for all the work of somebody else. Within a key the priority decides and
// then the age. A key has at most 200 bytes. Runs without one have the key "", which takes
// turns like any other. The default is "", for children the key of the parent.
//
// gate.WithPerKey bounds what one key takes of a gate. While others wait, a run may keep a slot for
// 16 short calls in a row, at most a second; they are turns of its key.
func Key(name string) RunOption { return WeightedKey(name, 0) }

// WeightedKey is Key with a weight, from 1 to 1,000: the key takes as many turns where one of
// weight 1 takes one. Of several weights of a key the latest holds.
func WeightedKey(name string, weight int) RunOption {
	return seal.SetRun(func(s *seal.StartSettings) { s.Key, s.Weight = name, weight })
}

// RunTimeout limits each run, counted from when its code may begin: Delay and the backoff
// of a RetryPolicy do not count. A run that is still open then is closed as timed out,
// even if it is parked or no node serves it: its code does not run again, its attempts
// are given up, and their results are dropped. The run has failed with a
// *retry.TimeoutError of kind retry.TimeoutRun, and its RetryPolicy decides whether
// another run follows, with its full time. If none follows, the workflow ends as timed
// out, with a *retry.ExhaustedError around the *retry.TimeoutError. After ContinueAsNew
// the next run has its full time. 0 means no limit.
//
// If no node has the code of the run, it is retried only by a policy given at the start.
func RunTimeout(d time.Duration) RunOption {
	return seal.SetRun(func(s *seal.StartSettings) { s.RunTimeout = d })
}

// ChainTimeout limits all runs of the chain together, counted from when the code of the
// first may begin, backoffs included. The run that is open then is closed as by
// RunTimeout, but with the kind retry.TimeoutChain, and no run follows. A failed run is
// not retried if the next one would begin after that time. 0 means no limit; a limit shorter
// than RunTimeout is refused.
//
// The Within of a RetryPolicy differs: it only limits when another attempt may begin, and
// restarts when a run continues as new.
func ChainTimeout(d time.Duration) RunOption {
	return seal.SetRun(func(s *seal.StartSettings) { s.ChainTimeout = d })
}

// Memo attaches a value, at most 16 KiB of JSON, that descriptions of the run show.
// Attaching to a run does not change it.
func Memo(v any) RunOption {
	return seal.SetRun(func(s *seal.StartSettings) {
		var err error
		if s.Memo, err = history.EncodeArgument("value", v); err != nil && s.Fault == nil {
			s.Fault = fmt.Errorf("memo: %w", err)
		}
	})
}

// Attributes sets names and values by which perdure.Engine.List and operations on many
// runs find the runs: {"customer": "ann", "region": "eu"}. There are at most 16; a name
// has at most 64 bytes, a value 256. Only the code of the run changes them, with
// SetAttribute; attaching to a run does not. Children do not inherit them. If the option
// is given several times, the attributes are merged.
func Attributes(all map[string]string) RunOption {
	return seal.SetRun(func(s *seal.StartSettings) {
		if s.Attributes == nil {
			s.Attributes = map[string]string{}
		}
		maps.Copy(s.Attributes, all)
	})
}

// Headers sets headers of the run, which its attempts and children inherit and
// interceptors read: see package intercept. There are at most 32, of at most 4 KiB
// together; a name has at most 64 of the bytes a-z, 0-9, -, _ and . , and "traceparent"
// is that of perdure.TraceParent. A child inherits the headers of its parent; this option
// adds to them, changes values, or removes a header with an empty value. If the option is
// given several times, the headers are merged. Attaching to a run does not change its
// headers.
func Headers(all map[string]string) RunOption {
	return seal.SetRun(func(s *seal.StartSettings) {
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

// Delay makes the code begin after d. The run exists before that: it can receive signals
// and be canceled. Its Created is the time of the start.
func Delay(d time.Duration) DelayOption {
	return seal.SetDelayed(func(s *seal.StartSettings) { s.Delay = d })
}

// ChildID sets the workflow ID of a child, at most 1,000 bytes. ChildReuse says which
// ended runs may have had it. The default is made of this run's workflow ID, the child's
// name, the number of the call and the end of this run's ID, such as
// "order-17/ship/3-5f0c9e8a71b2", so each run of a chain has its own children.
func ChildID(id string) DetachedOption {
	return seal.SetDetached(func(s *seal.StartSettings) { s.ID = &id })
}

// RetryOption is an option of a definition, or of a run.
type RetryOption interface {
	Option
	RunOption
}

type retryOption struct {
	seal.SetRun
	definitionOption
}

// RetryPolicy makes the engine retry a failed run from its beginning, with the same
// input: the failed run is closed as continued, and the next one of its chain begins when
// the backoff ends. The backoff needs no memory. A policy given at a start takes
// precedence over that of the definition, and is recorded; the policy of the definition
// applies as it is when the run fails.
//
// A run that was canceled or terminated is not retried, nor is one that failed with a
// terminal error. When no attempt is left, the chain ends with a *retry.ExhaustedError
// around the last failure; a parent sees only that. Within counts from the start of the
// first attempt. Signals that an attempt has read are gone; unread ones go to the next.
// Calls have their own policies, which apply first.
//
// AttemptTimeout, HeartbeatTimeout, QueueTimeout, CrashLimit and OnExhausted Pause have
// no meaning for runs and are refused.
func RetryPolicy(p retry.Policy) RetryOption {
	return retryOption{
		seal.SetRun(func(s *seal.StartSettings) { s.Retry = &p }),
		seal.With(func(d *seal.WorkflowDeclaration) { d.Retry = &p }),
	}
}
