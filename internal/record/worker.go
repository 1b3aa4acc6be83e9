package record

import (
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/store"
)

// Queue is a queue that a worker serves, and how many of its attempts run there at a time.
type Queue struct {
	Name  string `json:"queue"`
	Limit int    `json:"limit"`
}

// Serves is what a worker says of itself.
type Serves struct {
	Queues     []Queue  `json:"queues"`
	Activities []string `json:"activities"`
	Alone      bool     `json:"alone,omitempty"` // it has no runs
	Build      string   `json:"build,omitempty"` // its code
}

// Can reports whether the worker can run an activity of a queue.
func (s *Serves) Can(queue, activity string) bool {
	return slices.ContainsFunc(s.Queues, func(q Queue) bool { return q.Name == queue }) && slices.Contains(s.Activities, activity)
}

// WhatServes returns what a worker says of itself. Of a newer version it may be nothing.
func WhatServes(w *store.Worker) (s Serves) {
	_ = json.Unmarshal(w.Serves, &s)
	return s
}
