package history

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/retry"
)

// Settings are what a chain of runs is started with besides its workflow and input, by a
// client, a run or a schedule. They hold for all of its runs.
type Settings struct {
	// Memo is shown with the runs.
	Memo Payload `json:"memo,omitzero"`
	// Attributes are names and values by which the runs are found.
	Attributes map[string]string `json:"attributes,omitempty"`
	// Headers are texts for interceptors. Attempts and children inherit them.
	Headers map[string]string `json:"headers,omitempty"`
	// Priority orders waiting calls, for a slot or at a gate, unless a call has a priority
	// of its own; higher runs first.
	Priority int `json:"priority,omitempty"`
	// Key is the key of the run: where calls or runs wait, keys take turns. Weight is how many
	// turns it takes where others take one; 0 is 1. Children inherit both.
	Key    string `json:"key,omitempty"`
	Weight int    `json:"weight,omitempty"`
	// Retry is the policy for failed runs, nil for that of the workflow's code.
	Retry *retry.Policy `json:"retry,omitempty"`
	// RunTimeout limits each run, counted from when its code may begin. ChainTimeout limits
	// all of them together. 0 means no limit.
	RunTimeout   time.Duration `json:"run_timeout,omitempty"`
	ChainTimeout time.Duration `json:"chain_timeout,omitempty"`
}

// MaxPriority is the greatest priority of a run; the least is -MaxPriority.
const MaxPriority = 1000

// MaxWeight is the greatest weight of a key; the least is 1.
const MaxWeight = 1000

// Check returns an error if no run can be started with the settings.
func (s *Settings) Check() error {
	switch {
	case s.RunTimeout < 0:
		return &InputError{What: "run timeout", Problem: fmt.Sprintf("is %s; it is positive, or zero for none", s.RunTimeout)}
	case s.ChainTimeout < 0:
		return &InputError{What: "chain timeout", Problem: fmt.Sprintf("is %s; it is positive, or zero for none", s.ChainTimeout)}
	case s.ChainTimeout > 0 && s.RunTimeout > s.ChainTimeout:
		return &InputError{What: "run timeout", Problem: fmt.Sprintf("is %s, which is longer than the chain timeout, %s: it would have no effect", s.RunTimeout, s.ChainTimeout)}
	case s.Priority < -MaxPriority || s.Priority > MaxPriority:
		return &InputError{What: "priority", Problem: fmt.Sprintf("is %d; it is between %d and %d, and 0 is the default", s.Priority, -MaxPriority, MaxPriority)}
	case s.Weight < 0 || s.Weight > MaxWeight:
		return &InputError{What: "weight", Problem: fmt.Sprintf("is %d; it is between 1 and %d, and 0 is 1, the default", s.Weight, MaxWeight)}
	case s.Weight != 0 && s.Key == "":
		return &InputError{What: "weight", Problem: fmt.Sprintf("is %d and the run has no key, to which the weight belongs", s.Weight)}
	case len(s.Memo.Data) > MaxMemo:
		return &InputError{What: "memo", Problem: fmt.Sprintf("is %d bytes long; the limit is %d", len(s.Memo.Data), MaxMemo)}
	}
	if err := cmp.Or(CheckKey(s.Key), CheckAttributes(s.Attributes), CheckHeaders(s.Headers)); err != nil || s.Retry == nil {
		return err
	}
	if err := CheckRunPolicy(*s.Retry); err != nil {
		return fmt.Errorf("the retry policy of the workflow is not usable: %w", err)
	}
	return nil
}

// CheckDelay returns an error if no run can be started with the delay.
func CheckDelay(d time.Duration) error {
	if d < 0 {
		return &InputError{What: "delay", Problem: fmt.Sprintf("is %s; it is zero or more", d)}
	}
	return nil
}

// CheckRunPolicy returns everything that disqualifies a policy for failed runs.
func CheckRunPolicy(p retry.Policy) error {
	var errs []error
	refuse := func(set bool, field, why string) {
		if set {
			errs = append(errs, fmt.Errorf("%s is set: %s", field, why))
		}
	}
	refuse(p.AttemptTimeout != 0, "AttemptTimeout", "a run is not bounded by its retry policy; start it with workflow.RunTimeout, or use workflow.Timeout inside")
	refuse(p.HeartbeatTimeout != 0, "HeartbeatTimeout", "a run has no heartbeats; set it on its activities")
	refuse(p.QueueTimeout != 0, "QueueTimeout", "a run waits in no queue; set it on its activities")
	refuse(p.CrashLimit != 0, "CrashLimit", "a run is not lost in a crash; set it on its activities")
	refuse(p.OnExhausted == retry.Pause, "OnExhausted", "a run that has failed cannot wait for a person; set it on its activities")
	refuse(p.Doubts(), "OnUnknown", "a run is not lost, and has no effect of its own that could be unknown; set it on its activities")
	return errors.Join(append(errs, p.Validate())...)
}
