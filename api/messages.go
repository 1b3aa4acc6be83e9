package api

import (
	"encoding/json"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/workflow"
)

// messageEndpoints are the addresses of what is only sent. Other messages are commands of the table.
func messageEndpoints() []endpoint {
	return []endpoint{
		define("POST /api/runs/{id}/signals/{name}", "signalRun", "Send a signal to a run. When the answer comes, the signal is in the database.", "signal", signalRun).
			writes().also(access.Starter, workflowOfRun).withKey().values(),
	}
}

type signalBody struct {
	Value json.RawMessage `json:"value,omitempty" doc:"of the signal; without one it is null"`
}

func signalRun(c *call, _ none, b signalBody) (command.Sent, error) {
	id, name := c.PathValue("id"), c.PathValue("name")
	err := workflow.NewSignal[json.RawMessage](name).SendOnce(c.Context(), c.e.Workflow(id), c.key, command.OrNull(b.Value))
	return command.Sent{WorkflowID: id, Sent: "signal", Name: name, Key: c.key}, err
}
