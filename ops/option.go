package ops

import (
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
)

// Option records who makes a request and why: By and Why. All verbs that change something
// take it.
type Option func(*settings)

// ControlOption is an Option, RequestID, DryRun, Force, Chosen or Selected. Verbs whose requests
// have an ID take it.
type ControlOption interface{ set(*settings) }

// settings are what the options of a request say.
type settings struct {
	by, why, request string
	selection        *string
	chosen           []string // nil: a filter says what is meant
	lasts            time.Duration
	dry, force       bool
	fault            error // of an option
}

var errNilOption = errors.New("an option is nil; leave it out")

func (o Option) set(s *settings) {
	if o == nil {
		s.fault = errNilOption
		return
	}
	o(s)
}

type controlOption func(*settings)

func (o controlOption) set(s *settings) { o(s) }

// By records who makes a request, in at most 1,000 bytes. The default is the name of the
// node.
func By(who string) Option { return func(s *settings) { s.by = who } }

// Why records why a request is made, in at most 10,000 bytes.
func Why(reason string) Option { return func(s *settings) { s.why = reason } }

// RequestID sets the idempotency key of a request: a repeated request does nothing twice
// and returns the same outcome, as long as the run is kept. A run that is continued or
// retried passes all IDs of the last hour to the next run, and older ones up to the
// latest 10,000. A gate or schedule remembers those of its latest 100 requests.
func RequestID(id string) ControlOption { return controlOption(func(s *settings) { s.request = id }) }

// DryRun changes nothing: the verb returns what is selected now.
func DryRun() ControlOption { return controlOption(func(s *settings) { s.dry = true }) }

// Force makes RetryNow apply to quarantined calls that are refused without it: those that
// crashed their process on every build that a live node has.
func Force() ControlOption { return controlOption(func(s *settings) { s.force = true }) }

// For ends a pause of PauseActivity by itself after a time, counted from the moment at which it was
// recorded. Zero, and without it, somebody has to end it.
func For(d time.Duration) ControlOption { return controlOption(func(s *settings) { s.lasts = d }) }

// Selected replaces the filters of ControlAll and ControlRuns: it selects what a dry run
// selected (view.BulkResult.Selection), except for what has changed since, and nothing
// new. Gone of the result counts what has changed.
func Selected(selection string) ControlOption {
	return controlOption(func(s *settings) { s.selection = &selection })
}

// Chosen replaces the filter of runs of ControlAll and ControlRuns: it selects the latest
// runs of these workflow IDs, at most 1,000. Runs that do not exist, and closed runs
// unless the operation is ResetRun, are counted as ended.
func Chosen(ids ...string) ControlOption {
	return controlOption(func(s *settings) { s.chosen = append(append([]string{}, s.chosen...), ids...) })
}

// unselected are the settings of a verb that has nothing to select from.
func unselected(options []ControlOption) settings {
	s := settingsOf(options)
	switch {
	case s.fault != nil:
	case s.chosen != nil:
		s.fault = errors.New("ops.Chosen is for ops.ControlAll and ops.ControlRuns; leave it out")
	case s.selection != nil:
		s.fault = errors.New("ops.Selected is for ops.ControlAll and ops.ControlRuns; leave it out")
	}
	return s
}

// endless refuses a time for a verb that pauses no activity.
func (s *settings) endless() {
	if s.lasts != 0 && s.fault == nil {
		s.fault = errors.New("ops.For is for ops.PauseActivity; leave it out")
	}
}

// undryable says who asks a verb, and why, that has no dry run either.
func undryable(options []ControlOption, verb string) request.By {
	s := unselected(options)
	if s.dry && s.fault == nil {
		s.fault = errors.New(verb + " has no dry run; leave ops.DryRun out")
	}
	return s.whom()
}

func settingsOf[O ControlOption](options []O) (s settings) {
	for _, o := range options {
		if any(o) == nil {
			s.fault = errNilOption
			continue
		}
		o.set(&s)
	}
	return s
}

// control is an operation with what the settings say of it.
func (s *settings) control(c core.Control) core.Control {
	s.endless()
	c.ID, c.By, c.Reason, c.Fault, c.Force = s.request, s.by, s.why, s.fault, s.force
	return c
}

// whom is who asks and why.
func (s *settings) whom() request.By {
	s.endless()
	return request.By{Who: s.by, Why: s.why, Request: s.request, Fault: s.fault}
}

// inside is the engine that carries the verbs out.
func inside(e *perdure.Engine) *engine.Engine {
	if e == nil {
		return engine.None
	}
	return engine.Of(e)
}
