package core

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// Mismatch is the first difference between the commands of a run's code and its history.
type Mismatch struct {
	Turn     int64          `json:"turn"`
	Command  int            `json:"command"`            // position among the turn's commands, from 1
	Expected *history.Event `json:"expected,omitempty"` // on record; nil: no further command
	Actual   *history.Event `json:"actual,omitempty"`   // from the code; nil: no further command
}

// Error shows payloads only if kind and name of the two commands are equal. Next to another
// name they explain nothing and push it out of sight in a table.
func (m *Mismatch) Error() string {
	if e, a := m.Expected, m.Actual; e != nil && a != nil && e.Kind == a.Kind && e.Name == a.Name {
		return m.text(describe(e), describe(a))
	}
	return m.text(describe(withoutPayloads(m.Expected)), describe(withoutPayloads(m.Actual)))
}

// Outline is Error without payloads and error texts, for readers who must not see them.
func (m *Mismatch) Outline() string {
	expected, actual := m.Outlines()
	return m.text(expected, actual)
}

// Outlines returns the two commands as Outline shows them.
func (m *Mismatch) Outlines() (expected, actual string) {
	return outline(m.Expected), outline(m.Actual)
}

func (m *Mismatch) text(expected, actual string) string {
	return fmt.Sprintf("the code does not fit the history: turn %d, command %d: history has %s, the code asks for %s%s %s",
		m.Turn, m.Command, expected, actual, m.hint(), see.Misfit)
}

// hint names the one thing that differs between two commands of a kind.
func (m *Mismatch) hint() string {
	e, a := m.Expected, m.Actual
	switch {
	case a != nil && a.Kind == history.VersionMarked && (e == nil || e.Kind != a.Kind):
		return " (the run is older than the mark: its version is 0)"
	case e != nil && e.Kind == history.VersionMarked && (a == nil || a.Kind != e.Kind):
		return " (a version mark must stay where it is as long as there are runs with it)"
	case a == nil && e != nil && e.Kind == history.UpdateAccepted:
		return " (there is no handler for the update)"
	case e == nil || a == nil || e.Kind != a.Kind:
		return ""
	case e.Name != a.Name:
		return " (the name differs)"
	case e.Call != a.Call:
		return " (the call differs)"
	case !e.Input.Equal(a.Input):
		return " (the input differs)"
	case e.ID != a.ID && e.Kind == history.UpdateCompleted:
		return " (the update differs)"
	case e.ID != a.ID:
		return " (the workflow ID differs)"
	case e.Kind == history.VersionMarked:
		return " (the version is not supported)"
	case !e.Result.Equal(a.Result):
		return " (the result differs)"
	}
	return " (the failure differs)"
}

// outline describes a command without payloads and error texts.
func outline(e *history.Event) string {
	bare := withoutPayloads(e)
	if e != nil && e.Failure != nil {
		bare.Failure = &history.Failure{Type: e.Failure.TypeName()}
	}
	return describe(bare)
}

func withoutPayloads(e *history.Event) *history.Event {
	if e == nil {
		return nil
	}
	bare := *e
	bare.Input, bare.Result = history.Payload{}, history.Payload{}
	return &bare
}

func describe(e *history.Event) string {
	if e == nil {
		return "nothing more"
	}
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	switch {
	case e.Kind == history.VersionMarked && e.Note != "":
		b.WriteString(" with " + e.Note)
	case e.Kind == history.VersionMarked:
		fmt.Fprintf(&b, " version %d", e.Version)
	}
	switch e.Kind {
	case history.SignalSent:
		fmt.Fprintf(&b, " to %q", e.ID)
	case history.ChildScheduled, history.DetachedScheduled:
		fmt.Fprintf(&b, " as %q", e.ID)
	}
	if e.Kind == history.TimerCanceled || e.Kind == history.CallCancelRequested {
		fmt.Fprintf(&b, " of call %d", e.Call)
	}
	if !e.Input.Absent() {
		b.WriteString(" with input " + clip(e.Input.String()))
	}
	if e.Initiator != "" {
		b.WriteString(" by " + e.Initiator)
	}
	if e.Kind == history.UpdateAccepted || e.Kind == history.UpdateCompleted {
		fmt.Fprintf(&b, " %q", e.ID)
	}
	if !e.Result.Absent() && (e.Kind == history.RunCompleted || e.Kind == history.UpdateCompleted) {
		b.WriteString(" with result " + clip(e.Result.String()))
	}
	if e.Failure != nil {
		b.WriteString(" with " + e.Failure.TypeName())
	}
	if e.Failure != nil && e.Failure.Message != "" {
		b.WriteString(": " + clip(e.Failure.Message))
	}
	return b.String()
}

func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// same reports whether a command matches the recorded one. Due times, policies and queues
// may differ: the recorded ones stay in force. The failure of an update whose handler
// panicked may differ too: its text may contain an address, and the handler may be fixed by
// now.
func same(recorded, asked *history.Event) bool {
	kind := recorded.Kind
	if kind == history.RunContinued && recorded.Initiator == history.RetryOfRun {
		kind = history.RunFailed // the code failed; the record also holds the decision to retry
	}
	if kind != asked.Kind || recorded.Name != asked.Name || !recorded.Input.Equal(asked.Input) {
		return false
	}
	switch kind {
	case history.CallRefused:
		return recorded.Note == asked.Note
	case history.TimerCanceled, history.CallCancelRequested:
		return recorded.Call == asked.Call
	case history.SignalSent, history.ChildScheduled, history.DetachedScheduled:
		return recorded.ID == asked.ID
	case history.RunCompleted:
		return recorded.Result.Equal(asked.Result)
	case history.UpdateCompleted:
		return recorded.ID == asked.ID &&
			(recorded.Note == handlerPanicked || recorded.Result.Equal(asked.Result) && history.Same(recorded.Failure, asked.Failure))
	case history.RunFailed, history.RunCanceled:
		return recorded.Note == failureReplaced || history.Same(ownFailure(recorded), asked.Failure)
	}
	return true
}

// ownFailure returns the failure with which the code closed its run. A timed-out run has
// none, because its code was not asked.
func ownFailure(e *history.Event) *history.Failure {
	switch retry.Reason(e.Reason) {
	case "", retry.ReasonTerminal, retry.ReasonCanceled:
		return e.Failure
	}
	if e.Kind == history.RunFailed && e.Failure != nil && len(e.Failure.Causes) > 0 {
		return e.Failure.Causes[0]
	}
	return e.Failure
}
