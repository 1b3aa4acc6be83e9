package message

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// Request returns a request for an operation on a run, or on the latest of the workflow
// ID if run is empty. Of requests with one ID to one run the first is kept, and of signals
// with one name and one ID, if they have one; one request to end that is not answered is
// as good as many.
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

// Repeatable reports whether posting a message again changes nothing, although its first
// copy may have been read: its reader knows it, or one is as good as many.
func Repeatable(m store.Message) bool {
	switch m.Kind {
	case KindRequest:
		c, err := decode[core.Control](m)
		return err == nil && !(c.Operation == core.SignalTheRun && c.Unanswered() && c.SignalID == "")
	case KindToGate:
		in, err := decode[core.ToGate](m)
		return err == nil && in.Request != ""
	case KindToSchedule:
		in, err := decode[core.ToSchedule](m)
		return err == nil && in.Request != ""
	}
	return true
}

// Ends reports whether a message asks a run to end and is not answered.
func Ends(m store.Message) bool {
	if m.Kind != KindRequest {
		return false
	}
	c, err := decode[core.Control](m)
	return err == nil && c.Unanswered() && c.Operation != core.SignalTheRun
}

// Word is what a message with this input is called in logs.
func Word(m store.Message, in core.Input) string {
	if c, is := in.(core.Control); is {
		return string(c.Operation)
	}
	return m.Kind
}

// Update returns a request for an update, whose answer waits under the token.
func Update(g store.Group, workflowID, name, id, token string, input history.Payload) (store.Message, error) {
	return toRun(g, workflowID, "", KindUpdate, key(KindUpdate, token), Data{Name: name, ID: id, Asker: token, Value: input})
}

// Query returns a query of a run, whose answer waits under the token. Its caller waits
// for so long.
func Query(g store.Group, workflowID, run, name, token string, input history.Payload, wait time.Duration) (store.Message, error) {
	m, err := toRun(g, workflowID, run, KindQuery, key(KindQuery, token), Data{Name: name, ID: token, Value: input, Wait: int64(wait)})
	m.ForOwner = true
	return m, err
}

// AttemptEnd returns the end of an attempt, told from outside. Of several the first is
// kept.
func AttemptEnd(g store.Group, workflowID, run string, d Data) (store.Message, error) {
	return toRun(g, workflowID, run, KindAttempt, key(KindAttempt, run, d.Call, d.Attempt, "end"), d)
}

// TrialOver returns the word that an attempt on a worker has run for so long that it
// leaves the probation lane.
func TrialOver(g store.Group, workflowID, run string, d Data) (store.Message, error) {
	return toRun(g, workflowID, run, KindTrialOver, key(KindAttempt, run, d.Call, d.Attempt, "trial"), d)
}

// Heartbeat returns a sign of life of an attempt, told from outside. A later one replaces
// one that waits, so that they do not pile up while nothing reads them. One without
// details leaves the details of earlier ones.
func Heartbeat(g store.Group, workflowID, run string, d Data) (store.Message, error) {
	says := "details"
	if d.Value.Absent() {
		says = "alive"
	}
	m, err := toRun(g, workflowID, run, KindHeartbeat, key(KindAttempt, run, d.Call, d.Attempt, says), d)
	m.Replace = true
	return m, err
}
