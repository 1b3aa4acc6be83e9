package listing

import (
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// Workflows says which runs the list of workflows counts.
type Workflows struct {
	Since param.Moment `json:"since,omitzero" query:"since" help:"count what began and ended since this {time} (default 24h)"`
}

// Lately is how far the list looks back, if nothing is said.
const Lately = 24 * time.Hour

// From returns the time since which runs are counted.
func (w *Workflows) From(now time.Time) time.Time {
	if w.Since.IsZero() {
		return now.Add(-Lately)
	}
	return w.Since.At
}

// Runs selects runs.
type Runs struct {
	Status     []string     `json:"status,omitempty" query:"status" enum:"running,paused,waiting-for-code,parked,completed,failed,canceled,terminated,timed-out,continued" help:"only with this {status}; several with commas: running, paused, waiting-for-code, parked, completed, failed, canceled, terminated, timed-out, continued"`
	Workflow   string       `json:"workflow,omitempty" query:"workflow" flag:"type" help:"only of the workflow with this {name}"`
	Key        string       `json:"key,omitempty" query:"key" help:"only with this {key}, which they got at their start"`
	Prefix     string       `json:"prefix,omitempty" query:"prefix" help:"only with workflow IDs that begin with this {text}"`
	Attributes param.Pairs  `json:"attributes,omitempty" query:"attribute" flag:"attribute" help:"only with this attribute, as {NAME=VALUE}; repeatable"`
	Since      param.Moment `json:"since,omitzero" query:"since" help:"only started since this {time}: how long ago (90m, 24h, 7d), yesterday, 2026-11-21, or a time such as 2026-11-21T15:04:05Z"`
	Until      param.Moment `json:"until,omitzero" query:"until" help:"only started before this {time}"`
}

// ByText selects runs by what they say.
type ByText struct {
	Text string `json:"text,omitempty" query:"text" help:"only those in whose ID, input, memo, result, error or attributes this {text} occurs"`
}

// ByCalls selects runs by their calls.
type ByCalls struct {
	Call      string `json:"call,omitempty" query:"call" flag:"calls" enum:"queued,offered,external,backoff,gated,paused,quarantined,in-doubt" help:"only those with a call in this {state}: queued, offered, external, backoff, gated, paused, quarantined, in-doubt"`
	Retrying  bool   `json:"retrying,omitempty" query:"retrying" help:"only those that wait for another attempt"`
	ErrorType string `json:"error_type,omitempty" query:"error_type" help:"only with a step whose latest attempt ended with this {type} of error"`
}

// Filter returns the filter. Both parts together must not contradict each other.
func (f *Runs) Filter(calls *ByCalls) (view.Filter, error) {
	for _, s := range f.Status {
		if !slices.Contains(wording.Statuses, s) {
			return view.Filter{}, param.Bad("status", "use one of: "+strings.Join(wording.Statuses, ", "), "is %q, which is none", param.Clip(s))
		}
	}
	out := view.Filter{
		Status: f.Status, Workflow: f.Workflow, Key: f.Key, IDPrefix: f.Prefix, Attributes: f.Attributes, Since: f.Since.At, Until: f.Until.At,
		Call: calls.Call, ErrorType: calls.ErrorType,
	}
	switch {
	case calls.Retrying && calls.Call != "":
		return out, param.Bad("call", "leave one of them out", "is given beside retrying, which selects by other states")
	case calls.Retrying:
		out.Call = view.CallRetrying
	case calls.Call != "" && !slices.Contains(wording.FoundStates, calls.Call):
		return out, param.Bad("call", "use one of: "+strings.Join(wording.FoundStates, ", "), "is %q, by which nothing is found", param.Clip(calls.Call))
	}
	return out, nil
}

// Span is a span of time.
type Span struct {
	Since param.Moment `json:"since,omitzero" query:"since" help:"only since this {time}: how long ago (90m, 24h, 7d), yesterday, 2026-11-21, or a time such as 2026-11-21T15:04:05Z"`
	Until param.Moment `json:"until,omitzero" query:"until" help:"only before this {time}"`
}

// Check returns an error for a span that ends before it begins.
func (s *Span) Check() error {
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.At.Before(s.Until.At) {
		return param.Bad("since", "exchange them, or leave one out", "is %s, which is not before until, %s", s.Since, s.Until)
	}
	return nil
}

// Attempts selects attempts on record.
type Attempts struct {
	Activity  string `json:"activity,omitempty" query:"activity" help:"only of the activity or step with this {name}"`
	ErrorType string `json:"error_type,omitempty" query:"error_type" help:"only those that ended with this {type} of error, such as Timeout"`
	Outcome   string `json:"outcome,omitempty" query:"outcome" enum:"completed,failed,timed-out,lost,drained,canceled,refused,found,absent,unknown" help:"only those that ended in this {way}: completed, failed, timed-out, lost, drained, canceled, refused, found, absent, unknown"`
	Reason    string `json:"reason,omitempty" query:"reason" flag:"reason" help:"only those with this {reason} for what followed, such as max_attempts"`
	Workflow  string `json:"workflow,omitempty" query:"workflow" flag:"type" help:"only of the workflow with this {name}"`
	Span
}

// Filter returns the filter.
func (f *Attempts) Filter() (view.AttemptFilter, error) {
	if f.Outcome != "" && !slices.Contains(wording.Outcomes, f.Outcome) {
		return view.AttemptFilter{}, param.Bad("outcome", "use one of: "+strings.Join(wording.Outcomes, ", "), "is %q, which is none", param.Clip(f.Outcome))
	}
	return view.AttemptFilter{
		Workflow: f.Workflow, Activity: f.Activity, ErrorType: f.ErrorType, Outcome: f.Outcome, Reason: f.Reason, Since: f.Since.At, Until: f.Until.At,
	}, f.Check()
}

// Hours selects what is counted by the hour.
type Hours struct {
	Workflow string `json:"workflow,omitempty" query:"workflow" flag:"type" help:"only of the workflow with this {name}"`
	Activity string `json:"activity,omitempty" query:"activity" help:"count the calls of the activity or step with this {name}; else runs are counted"`
	Span
}

// Filter returns the filter; without a beginning, it begins a day before its end.
func (f *Hours) Filter(now time.Time) (view.HourFilter, error) {
	out := view.HourFilter{Workflow: f.Workflow, Activity: f.Activity, Since: f.Since.At, Until: f.Until.At}
	if out.Until.IsZero() {
		out.Until = now
	}
	if out.Since.IsZero() {
		out.Since = out.Until.Add(-Lately + time.Hour) // the hour that is not over is one of them
	}
	return out, f.Check()
}
