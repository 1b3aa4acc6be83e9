package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

func messageEndpoints() []endpoint {
	return []endpoint{
		define("POST /api/runs/{id}/signals/{name}", "signalRun", "Send a signal to a run. When the answer comes, the signal is in the database.", "signal", signalRun).
			writes().also(access.Starter, workflowOfRun).withKey().values(),
		define("POST /api/runs/{id}/queries/{name}", "queryRun", "Ask the code of a run. Nothing is recorded. An engine must serve the run.", "query", queryRun).
			values().waits(),
		define("POST /api/runs/{id}/updates/{name}", "updateRun", "Ask the code of a run for a change, and wait for its result. 202: it is in the database and has no result yet; ask again with the same key.",
			"update", updateRun).writes().withNeededKey("with it the result of an update can be asked for again").values().waits(),
	}
}

type signalBody struct {
	Value json.RawMessage `json:"value,omitempty" doc:"of the signal; without one it is null"`
}

// sent is what is in the database.
type sent struct{ command.Sent }

func (sent) status() int { return http.StatusAccepted }

func signalRun(c *call, _ none, b signalBody) (sent, error) {
	id, name := c.PathValue("id"), c.PathValue("name")
	err := workflow.NewSignal[json.RawMessage](name).SendOnce(c.Context(), c.e.Workflow(id), c.key, command.OrNull(b.Value))
	return sent{command.Sent{WorkflowID: id, Sent: "signal", Name: name, Key: c.key}}, err
}

type askBody struct {
	Input json.RawMessage `json:"input,omitempty" doc:"of the query or update; without one it is null"`
	Wait  *span           `json:"wait,omitempty" doc:"how long to wait, up to 1m; default 20s"`
}

type asked struct {
	WorkflowID string          `json:"workflow_id" doc:"as in the path"`
	Name       string          `json:"name" doc:"of the query, as in the path"`
	Result     json.RawMessage `json:"result" doc:"what the handler returned"`
}

func queryRun(c *call, _ none, b askBody) (asked, error) {
	ctx, cancel, err := c.within(b.Wait)
	if err != nil {
		return asked{}, err
	}
	defer cancel()
	id, name := c.PathValue("id"), c.PathValue("name")
	result, err := c.e.Workflow(id).Query(ctx, name, command.OrNull(b.Input))
	return asked{id, name, command.OrNull(result)}, handlerError(c, err)
}

type updated struct {
	WorkflowID string          `json:"workflow_id" doc:"as in the path"`
	Name       string          `json:"name" doc:"of the update, as in the path"`
	Done       bool            `json:"done" doc:"whether the handler has returned"`
	Result     json.RawMessage `json:"result,omitempty" doc:"what the handler returned, once it is done"`
	Key        string          `json:"key,omitempty" doc:"the Idempotency-Key, with which the result can be asked for again"`
}

func (u updated) status() int { return statusOf(u.Done, http.StatusAccepted) }

func updateRun(c *call, _ none, b askBody) (updated, error) {
	ctx, cancel, err := c.within(b.Wait)
	if err != nil {
		return updated{}, err
	}
	defer cancel()
	u := updated{WorkflowID: c.PathValue("id"), Name: c.PathValue("name"), Key: c.key}
	result, err := workflow.NewUpdate[json.RawMessage, json.RawMessage](u.Name).CallOnce(ctx, c.e.Workflow(u.WorkflowID), c.key, command.OrNull(b.Input))
	if errors.Is(err, perdure.ErrNoAnswer) {
		return u, nil
	}
	u.Done, u.Result = true, command.OrNull(result)
	return u, handlerError(c, err)
}

// handlerError tells the error of a handler, which may be any error, from errors of the
// request.
func handlerError(c *call, err error) error {
	if err == nil || kindOf(c.Context(), err).Code != internalError.Code {
		return err
	}
	p := handlerFailed.Of(human.Sentence(err.Error()))
	p.Next = "The error is of the type " + retry.TypeName(err) + "."
	return p
}

func tokenEndpoints() []endpoint {
	return []endpoint{
		define("POST /api/attempts/heartbeat", "heartbeatAttempt", "Say that an external attempt is alive.",
			"-a heartbeat comes from the program that works on the attempt, which has this or the library", heartbeatAttempt).writes().also(access.Worker, queueOfToken).values(),
	}
}

type heartbeatBody struct {
	command.Attempt
	Details json.RawMessage `json:"details,omitempty" doc:"for the next attempt; without them earlier ones are kept"`
}

func heartbeatAttempt(c *call, _ none, b heartbeatBody) (sent, error) {
	var details any
	if b.Details != nil {
		details = b.Details
	}
	return sent{command.Sent{Sent: "heartbeat"}}, c.e.HeartbeatAttempt(c.Context(), b.Token, details)
}
