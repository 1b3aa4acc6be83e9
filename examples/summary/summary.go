package main

import (
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// model is what the service allows: four requests at a time, twenty per second. The
// gate is durable: the limits hold over all workflows, and after a crash.
var model = gate.New("model", 4, gate.WithRate(20, 4), gate.WithMode(gate.Release))

// Ask asks the model. When the service says 429 and when to come back, the next
// attempt is made then; what is refused for good (400, 401) is not tried again.
var Ask = activity.Declare[Prompt, string]("ask", activity.Through(model), activity.Retry(retry.Policy{
	MaxAttempts:    10,
	Backoff:        retry.Exponential(200*time.Millisecond, 2, 30*time.Second),
	AttemptTimeout: time.Minute,
}))

// Prompt is what the model is asked.
type Prompt struct {
	Task string `json:"task"`
	Text string `json:"text"`
}

// Summary makes one summary of many documents.
var Summary = workflow.New("summary", func(wf *workflow.Context, documents []string) (string, error) {
	parts, err := workflow.Map(wf, documents, func(wf *workflow.Context, text string) (string, error) {
		return workflow.Call(wf, Ask, Prompt{"Summarise this in one sentence.", text})
	})
	if err != nil {
		return "", err
	}
	return workflow.Call(wf, Ask, Prompt{"Make one text of these sentences.", strings.Join(parts, "\n")})
})
