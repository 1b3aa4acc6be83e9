package message

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// Signal returns a signal to the latest run of a workflow ID. Of signals with one
// name and one ID the first is kept; without an ID all are.
func Signal(g store.Group, workflowID, name, id string, value history.Payload) (store.Message, error) {
	k := key(KindSignal, "id", name, id)
	if id == "" {
		k = key(KindSignal, "once", ident.NewToken())
	}
	return toRun(g, workflowID, "", KindSignal, k, Data{Name: name, ID: id, Value: value})
}

// Repeatable reports whether posting a message again changes nothing, although its first
// copy may have been read: its reader knows it, or one is as good as many.
func Repeatable(m store.Message) bool {
	switch m.Kind {
	case KindSignal:
		d, err := Read(m)
		return err == nil && d.ID != ""
	case KindToGate, KindToSchedule:
		return false
	}
	return true
}

// Command returns a request to cancel or terminate a run, or the latest of the workflow
// ID if run is empty. One is as good as many.
func Command(g store.Group, workflowID, run, kind string, d Data) (store.Message, error) {
	return toRun(g, workflowID, run, kind, key(kind, "run", run), d)
}

// Control returns a request for an operation on a run, or on the latest of the workflow
// ID if run is empty. Of requests with one ID to one run the first is kept.
func Control(g store.Group, workflowID, run string, c *core.Control) (store.Message, error) {
	return toRun(g, workflowID, run, KindControl, key(KindControl, run, c.ID), Data{Control: c})
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
