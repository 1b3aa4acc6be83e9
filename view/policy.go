package view

import (
	"time"

	"github.com/perdure/perdure/retry"
)

// PolicyExplanation describes the effects of a retry policy: see retry.Explain. Durations
// are as Go prints them, the longest is forever; nil means no bound.
type PolicyExplanation struct {
	Policy     string           `json:"policy"`     // in text notation
	Attempts   *int             `json:"attempts"`   // that one call can make, in all layers
	Layers     int              `json:"layers"`     // that retry by it, one inside the other, at least 1
	Waits      *string          `json:"waits"`      // longest time that one call can spend waiting between attempts, such as 1h30m0s
	Worst      *string          `json:"worst_case"` // longest time from the schedule of a call to its end, if each attempt takes its whole timeout
	Errors     []PolicyVerdict  `json:"errors"`     // how the policy judges each kind of error
	Schedules  []PolicySchedule `json:"schedules"`  // one for each rule that retries, and one for the policy itself if it does
	Warnings   []PolicyWarning  `json:"warnings"`   // what may be a mistake; empty if nothing is
	Definition retry.Policy     `json:"definition"` // the policy as an object
}

// PolicyVerdict says how a policy judges certain errors.
type PolicyVerdict struct {
	Errors   string   `json:"errors"`          // which errors, in words
	Types    []string `json:"types,omitempty"` // of these errors, see retry.TypeName; empty for errors that the policy does not name
	Retried  bool     `json:"retried"`         // whether another attempt follows the first failure
	Attempts *int     `json:"attempts"`        // that are allowed if all fail this way, nil without a limit
	Reason   string   `json:"reason"`          // why another attempt follows, or none: see retry.Reason
	Rule     int      `json:"rule,omitempty"`  // from 1; 0 for what no rule decides
}

// PolicySchedule says when the attempts of a call start if it always fails with certain
// errors.
type PolicySchedule struct {
	Errors   string          `json:"errors"`         // with which the call fails, in words
	Rule     int             `json:"rule,omitempty"` // that decides, from 1; 0: the policy itself
	Delays   []string        `json:"delays"`         // nominal, between the attempts
	Attempts []PolicyAttempt `json:"attempts"`       // that are possible, at most the first 1,000
	Complete bool            `json:"complete"`       // false if there are more than those
}

// PolicyAttempt is one attempt of a PolicySchedule. Start, Earliest and Latest count from
// the start of the first one.
type PolicyAttempt struct {
	Attempt  int    `json:"attempt"`  // from 1
	Delay    string `json:"delay"`    // nominal, after the attempt before; 0s for the first
	Start    string `json:"start"`    // sum of the nominal delays up to it
	Earliest string `json:"earliest"` // when it starts with the shortest delays that jitter allows
	Latest   string `json:"latest"`   // when it starts with the longest delays that jitter allows
	Sure     bool   `json:"sure"`     // false if the jitter decides whether it takes place
}

// PolicyWarning is a possible mistake in a policy.
type PolicyWarning struct {
	Kind string `json:"kind"` // a word for programs that stays the same
	Text string `json:"text"` // what may be wrong, in sentences
}

// ExplainPolicy returns an explanation as plain data. The result does not share memory
// with e.
func ExplainPolicy(e *retry.Explanation) PolicyExplanation {
	d := PolicyExplanation{
		Policy: e.Policy.String(), Attempts: limited(e.Executions), Layers: e.Layers, Waits: bound(e.Waits), Worst: bound(e.Worst),
		Errors: []PolicyVerdict{}, Schedules: []PolicySchedule{}, Warnings: []PolicyWarning{}, Definition: e.Policy,
	}
	for _, v := range e.Verdicts {
		d.Errors = append(d.Errors, PolicyVerdict{v.Errors, v.Types, v.Retried, limited(v.Attempts), string(v.Reason), v.Rule + 1})
	}
	for _, s := range e.Schedules {
		schedule := PolicySchedule{Errors: s.Errors, Rule: s.Rule + 1, Delays: []string{}, Complete: s.Complete}
		for i, p := range s.Attempts {
			if i > 0 {
				schedule.Delays = append(schedule.Delays, exactly(p.Delay))
			}
			schedule.Attempts = append(schedule.Attempts, PolicyAttempt{
				p.Number, exactly(p.Delay), exactly(p.Start), nearly(p.Earliest), nearly(p.Latest), i < s.Sure,
			})
		}
		d.Schedules = append(d.Schedules, schedule)
	}
	for _, w := range e.Warnings {
		d.Warnings = append(d.Warnings, PolicyWarning{w.Kind, w.Text})
	}
	return d
}

// limited is nil for what has no limit.
func limited(n int) *int {
	if n >= retry.Unlimited {
		return nil
	}
	return &n
}

// bound is nil for what has no end.
func bound(d time.Duration) *string {
	if d == retry.Forever {
		return nil
	}
	return new(nearly(d))
}

// nearly is a time that jitter moved, to the microsecond: its largest draw is a hair below
// the end of the range, and 65.999999999 seconds say nothing more than 66.
func nearly(d time.Duration) string {
	if d > time.Millisecond {
		d = d.Round(time.Microsecond)
	}
	return exactly(d)
}

// exactly is a duration as policies are written.
func exactly(d time.Duration) string {
	if d == retry.Forever {
		return "forever"
	}
	return d.String()
}
