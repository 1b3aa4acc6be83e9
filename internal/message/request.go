package message

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// Request returns a request for an operation on a run, or on the latest run of the workflow ID
// if run is "". The store keeps the first of several requests with one ID to one run, and of
// several signals with the same name and ID, if they have an ID. All requests to end a run
// that need no reply count as one.
func Request(g store.Group, workflowID, run string, c *core.Control) (store.Message, error) {
	var k string
	switch op := string(c.Operation); {
	case !c.Unanswered():
		k = key("control", run, c.ID)
	case c.Operation != core.SignalTheRun && c.Chain != "":
		k = key(op, "chain", c.Chain)
	case c.Operation != core.SignalTheRun:
		k = key(op, "run", run)
	case c.SignalID == "":
		k = key(op, "once", ident.NewToken())
	default:
		k = key(op, "id", c.Signal, c.SignalID)
	}
	return toRun(g, workflowID, run, KindRequest, k, c)
}

// Repeatable reports whether a message may be posted again although its first copy may have
// been read: its reader recognizes it, or repeating it has no further effect.
func Repeatable(m store.Message) bool {
	switch m.Kind {
	case KindRequest:
		c, is := asked(m)
		return is && !(c.Operation == core.SignalTheRun && c.Unanswered() && c.SignalID == "")
	case KindToGate:
		in, err := decode[core.ToGate](m)
		return err == nil && in.Request != ""
	case KindToSchedule:
		in, err := decode[core.ToSchedule](m)
		return err == nil && in.Request != ""
	}
	return true
}

// Terminates reports whether a message asks a run to be terminated.
func Terminates(m store.Message) bool {
	c, is := asked(m)
	return is && c.Operation == core.TerminateTheRun
}

// Ends reports whether a message asks a run to end and needs no reply.
func Ends(m store.Message) bool {
	c, is := asked(m)
	return is && c.Unanswered() && c.Operation != core.SignalTheRun
}

// asked returns the request that a message to a run is, if it is one that can be read.
func asked(m store.Message) (c core.Control, is bool) {
	if m.Kind != KindRequest {
		return c, false
	}
	c, err := decode[core.Control](m)
	return c, err == nil
}

// Word returns the word for a message with this input in logs.
func Word(m store.Message, in core.Input) string {
	if c, is := in.(core.Control); is {
		return string(c.Operation)
	}
	return m.Kind
}

// Update returns a request for an update. Its reply waits under the token.
func Update(g store.Group, workflowID, name, id, token string, input history.Payload) (store.Message, error) {
	return toRun(g, workflowID, "", KindUpdate, key(KindUpdate, token), Data{Name: name, ID: id, Asker: token, Value: input})
}

// Query returns a query of a run. Its reply waits under the token. Wait is how long its caller
// waits.
func Query(g store.Group, workflowID, run, name, token string, input history.Payload, wait time.Duration) (store.Message, error) {
	m, err := toRun(g, workflowID, run, KindQuery, key(KindQuery, token), Data{Name: name, ID: token, Value: input, Wait: int64(wait)})
	m.ForOwner = true
	return m, err
}

// AttemptEnd returns the end of an attempt, reported from outside. The store keeps the first
// of several. That the body of a worker returned and left the end to others is no end: the end
// may come while that message waits.
func AttemptEnd(g store.Group, workflowID, run string, d Data) (store.Message, error) {
	says := "end"
	if d.Outcome == core.Pending {
		says = "pending"
	}
	return toRun(g, workflowID, run, KindAttempt, key(KindAttempt, run, d.Call, d.Attempt, says), d)
}

// TrialOver returns the message that an attempt on a worker has run long enough to leave the
// probation lane.
func TrialOver(g store.Group, workflowID, run string, d Data) (store.Message, error) {
	return toRun(g, workflowID, run, KindTrialOver, key(KindAttempt, run, d.Call, d.Attempt, "trial"), d)
}

// Heartbeat returns a heartbeat of an attempt, reported from outside. It replaces one that
// waits, so heartbeats do not pile up while they are not read. A heartbeat without details
// leaves the details of earlier ones.
func Heartbeat(g store.Group, workflowID, run string, d Data) (store.Message, error) {
	says := "details"
	if d.Value.Absent() {
		says = "alive"
	}
	m, err := toRun(g, workflowID, run, KindHeartbeat, key(KindAttempt, run, d.Call, d.Attempt, says), d)
	m.Replace = true
	return m, err
}
