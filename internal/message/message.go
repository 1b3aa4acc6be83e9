package message

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Kinds of messages besides store.KindCreated. The data of most is a Data.
const (
	KindRequest    = "request"     // a core.Control
	KindUpdate     = "update"      // asks for an update
	KindAttempt    = "attempt"     // an attempt was ended from outside
	KindHeartbeat  = "heartbeat"   // of an attempt, from outside
	KindTrialOver  = "trial-over"  // an attempt on a worker leaves the probation lane
	KindToGate     = "to-gate"     // a core.ToGate
	KindFromGate   = "from-gate"   // a core.FromGate
	KindToSchedule = "to-schedule" // a core.ToSchedule
	KindChild      = "child"       // the result of a child
	KindStart      = "start"       // starts a run; its data is the start event
	KindQuery      = "query"
	KindAnswer     = "answer" // to a query or an update
)

// Data is the data of a message.
type Data struct {
	Name   string          `json:"name,omitempty"`   // of a query or an update
	ID     string          `json:"id,omitempty"`     // of a query or an update
	Value  history.Payload `json:"value,omitzero"`   // an input, a result, details of a heartbeat
	Asker  string          `json:"asker,omitempty"`  // token of an update
	Run    string          `json:"run,omitempty"`    // in which the update was accepted
	Turn   int64           `json:"turn,omitempty"`   // in which the update was accepted
	Closed bool            `json:"closed,omitempty"` // the run had ended before the update arrived
	Wait   int64           `json:"wait,omitempty"`   // how long the caller of a query waits, ns

	Child   *core.FromChild  `json:"child,omitempty"`
	Call    int64            `json:"call,omitempty"` // of an attempt
	Attempt int              `json:"attempt,omitempty"`
	Outcome core.Outcome     `json:"outcome,omitempty"`
	Failure *history.Failure `json:"failure,omitempty"`
	After   time.Duration    `json:"after,omitempty"`   // of a question without an answer
	Unbegun bool             `json:"unbegun,omitempty"` // the body of the attempt did not begin
}

// toRun returns a message to a run, or to the latest run of the workflow ID if run is "".
func toRun(g store.Group, workflowID, run, kind, key string, d any) (store.Message, error) {
	data, err := history.Seal(d)
	return store.Message{Partition: entity.Place(g, workflowID), WorkflowID: workflowID, Run: run, Kind: kind, Key: key, Data: data}, err
}

// Read decodes the data of a message.
func Read(m store.Message) (Data, error) { return decode[Data](m) }

func unreadable(m store.Message, err error) error {
	return fmt.Errorf("message %d of workflow %q cannot be read: %w", m.Sequence, m.WorkflowID, err)
}

// Input decodes a message as an input of the core. It returns nil if the message only says
// that the run exists.
func Input(m store.Message) (core.Input, error) {
	switch m.Kind {
	case store.KindCreated:
		return nil, nil
	case KindToGate:
		return input[core.ToGate](m)
	case KindFromGate:
		return input[core.FromGate](m)
	case KindToSchedule:
		return input[core.ToSchedule](m)
	case KindRequest:
		return input[core.Control](m)
	case store.KindClaimed:
		return claimed(m)
	}
	d, err := Read(m)
	if err != nil {
		return nil, err
	}
	switch m.Kind {
	case KindUpdate:
		return core.UpdateArrived{Name: d.Name, ID: d.ID, Asker: d.Asker, Value: d.Value}, nil
	case KindChild:
		if d.Child == nil {
			return nil, fmt.Errorf("message %d of workflow %q tells of no child", m.Sequence, m.WorkflowID)
		}
		return *d.Child, nil
	case KindHeartbeat:
		return core.Heartbeat{Call: d.Call, Attempt: d.Attempt, Details: d.Value, At: m.Posted}, nil
	case KindTrialOver:
		return core.OffProbation{AttemptRef: core.AttemptRef{Call: d.Call, Attempt: d.Attempt}}, nil
	case KindAttempt:
		return core.AttemptEnded{
			Call: d.Call, Attempt: d.Attempt, Outcome: d.Outcome, Result: d.Value, Failure: d.Failure, After: d.After, Unbegun: d.Unbegun, Ended: m.Posted, Outside: true,
		}, nil
	}
	return nil, fmt.Errorf("message %d of workflow %q has the unknown kind %q; was it sent by a newer version?", m.Sequence, m.WorkflowID, m.Kind)
}

// claimed decodes the message that a store writes when a worker claims an attempt.
func claimed(m store.Message) (core.Input, error) {
	var d store.TaskClaimed
	if err := json.Unmarshal(m.Data, &d); err != nil {
		return nil, unreadable(m, err)
	}
	return core.Claimed{AttemptRef: core.AttemptRef{Call: d.Call, Attempt: d.Attempt}, Worker: d.Worker, At: m.Posted}, nil
}

func input[I core.Input](m store.Message) (core.Input, error) { return decode[I](m) }

func decode[D any](m store.Message) (d D, err error) {
	if err := history.Unseal(m.Data, &d); err != nil {
		return d, unreadable(m, err)
	}
	return d, nil
}

// AnswerTo returns the workflow ID under which the reply to a query or an update waits. Token
// identifies the request. No user can choose such an ID (history.Reserved).
func AnswerTo(token string) string { return "#answer/" + token }

// Answer returns the reply to a request, for the inbox of a partition.
func Answer(partition int, token string, d Data) (store.Message, error) {
	data, err := history.Seal(d)
	return store.Message{Partition: partition, WorkflowID: AnswerTo(token), Key: "answer", Kind: KindAnswer, Data: data}, err
}
