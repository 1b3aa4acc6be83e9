package wording

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Event is the part of an event's record that a line shows.
type Event struct {
	Kind      string        `json:"kind"`
	Input     view.Payload  `json:"input"`
	Result    view.Payload  `json:"result"`
	Failure   *view.Failure `json:"failure"`
	Policy    *retry.Policy `json:"policy"`
	Due       int64         `json:"due"`
	Attempt   int           `json:"attempt"`
	Node      string        `json:"node"`
	ID        string        `json:"id"` // of a child, a signal or an update
	Initiator string        `json:"initiator"`
	Previous  string        `json:"previous"`
	FirstTurn int64         `json:"first_turn"`
	Reason    string        `json:"reason"`
	Version   int           `json:"version"`
	Operation string        `json:"operation"`
	By        string        `json:"by"`
	Outcome   string        `json:"outcome"`
	Note      string        `json:"note"`
	Child     *struct {
		Run           string `json:"run"`
		Status        string `json:"status"`
		OnParentClose string `json:"on_parent_close"`
	} `json:"child"`
	Parent *struct {
		WorkflowID string `json:"workflow_id"`
		Call       int64  `json:"call"`
		Detached   bool   `json:"detached"`
	} `json:"parent"`
	ErrorType string `json:"error_type"`
	Retry     *struct {
		Attempts      int    `json:"total_attempts"`
		MS            int64  `json:"total_duration_ms"`
		LastError     string `json:"last_error"`
		LastErrorType string `json:"last_error_type"`
	} `json:"retry"`
}

// EventOf reads an event. One of a newer version may have other fields: with the error comes what
// can be read.
func EventOf(ev *view.Event) (e Event, err error) {
	if err = json.Unmarshal(ev.Record, &e); err != nil {
		err = fmt.Errorf("the event of turn %d cannot be read: %w", ev.Turn, err)
	}
	return e, err
}

// String describes an event in a line.
func (e *Event) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	named := func(name, text string) {
		if text != "" {
			add("%s", strings.TrimSpace(name+" "+text))
		}
	}
	named("", e.Operation)
	named("", e.Outcome)
	named("", e.Note)
	named("by", e.By)
	if !e.Input.Absent() {
		add("input %s", e.Input)
	}
	if !e.Result.Absent() {
		add("result %s", e.Result)
	}
	if e.Failure != nil {
		add("%s", Typed(e.ErrorType, e.Failure.Message))
	}
	if e.Policy != nil {
		add("policy %s", *e.Policy)
	}
	if e.Version > 0 {
		add("version %d", e.Version)
	}
	if e.Due > 0 {
		add("due %s", human.Time(time.Unix(0, e.Due)))
	}
	if e.Attempt > 0 && e.Node != "" {
		add("attempt %d on %s", e.Attempt, e.Node)
	}
	named("after run", e.Previous)
	named("by", e.Initiator)
	if e.FirstTurn > 0 {
		add("begins %s", human.Time(time.Unix(0, e.FirstTurn)))
	}
	if e.Kind == "RunContinued" {
		add("as attempt %d of run %s", e.Attempt, e.ID)
	} else {
		named("id", e.ID)
	}
	if c := e.Child; c != nil {
		named("child", c.Status)
		add("run %s", c.Run)
		named("on parent close:", c.OnParentClose)
	}
	if p := e.Parent; p != nil {
		add("started by %s", Parent(p.WorkflowID, p.Call, p.Detached))
	}
	named("reason", e.Reason)
	e.tellAttempts(add)
	return strings.Join(parts, ", ")
}

// tellAttempts says how many attempts a call had, and how the last failed one failed,
// unless the event's failure says it.
func (e *Event) tellAttempts(add func(format string, args ...any)) {
	s := e.Retry
	if s == nil {
		return
	}
	if s.Attempts > 1 {
		add("%d attempts in %s", s.Attempts, human.Duration(time.Duration(s.MS)*time.Millisecond))
	}
	switch {
	case s.LastError == "":
	case e.Failure == nil:
		add("last error %s", Typed(s.LastErrorType, s.LastError))
	case s.LastErrorType != e.ErrorType && s.LastErrorType != retry.TypeError:
		add("the last error is %s", s.LastErrorType)
	}
}

// Parent says which call started a workflow.
func Parent(id string, call int64, detached bool) string {
	if detached {
		return fmt.Sprintf("%s (call %d, detached)", id, call)
	}
	return fmt.Sprintf("%s (call %d)", id, call)
}
