package view

import (
	"time"

	"github.com/perdure/perdure/retry"
)

// PolicyExplanation describes the effects of a retry policy: see retry.Explain. Durations
// are as Go prints them; nil means no bound.
type PolicyExplanation struct {
	Policy     string           `json:"policy"`
	Attempts   *int             `json:"attempts"` // that one call can make, in all layers
	Layers     int              `json:"layers"`
	Waits      *string          `json:"waits"`
	Worst      *string          `json:"worst_case"`
	Errors     []PolicyVerdict  `json:"errors"`
	Schedules  []PolicySchedule `json:"schedules"`
	Warnings   []PolicyWarning  `json:"warnings"`
	Definition retry.Policy     `json:"definition"`
}

// PolicyVerdict says how a policy judges certain errors.
type PolicyVerdict struct {
	Errors   string   `json:"errors"`
	Types    []string `json:"types,omitempty"`
	Retried  bool     `json:"retried"`
	Attempts *int     `json:"attempts"`
	Reason   string   `json:"reason"`
	Rule     int      `json:"rule,omitempty"` // from 1; 0 for what no rule decides
}

// PolicySchedule says when the attempts of a call start if it always fails with certain
// errors.
type PolicySchedule struct {
	Errors   string          `json:"errors"`
	Rule     int             `json:"rule,omitempty"`
	Delays   []string        `json:"delays"` // nominal, between the attempts
	Attempts []PolicyAttempt `json:"attempts"`
	Complete bool            `json:"complete"` // false if there are more than those
}

// PolicyAttempt is one attempt of a PolicySchedule. Start, Earliest and Latest count from
// the start of the first one.
type PolicyAttempt struct {
	Attempt  int    `json:"attempt"`
	Delay    string `json:"delay"`
	Start    string `json:"start"`
	Earliest string `json:"earliest"`
	Latest   string `json:"latest"`
	Sure     bool   `json:"sure"` // false if the jitter decides whether it takes place
}

// PolicyWarning is a possible mistake in a policy.
type PolicyWarning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
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
				schedule.Delays = append(schedule.Delays, p.Delay.String())
			}
			schedule.Attempts = append(schedule.Attempts, PolicyAttempt{
				p.Number, p.Delay.String(), p.Start.String(), nearly(p.Earliest), nearly(p.Latest), i < s.Sure,
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
	return d.String()
}
