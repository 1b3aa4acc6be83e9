package record

import (
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/store"
)

// Queue is a queue that a worker serves, with the limit of attempts at a time.
type Queue struct {
	Name  string `json:"queue"`
	Limit int    `json:"limit"`
}

// Serves is what the row of a worker says about it.
type Serves struct {
	Queues     []Queue  `json:"queues"`
	Activities []string `json:"activities"`
	Alone      bool     `json:"alone,omitempty"` // it serves no runs
	Build      string   `json:"build,omitempty"` // of its program
}

// Can reports whether the worker serves the queue and can run the activity.
func (s *Serves) Can(queue, activity string) bool {
	return slices.ContainsFunc(s.Queues, func(q Queue) bool { return q.Name == queue }) && slices.Contains(s.Activities, activity)
}

// WhatServes decodes what the row of a worker says. If a newer version wrote it, it may be
// empty.
func WhatServes(w *store.Worker) (s Serves) {
	_ = json.Unmarshal(w.Serves, &s)
	return s
}
