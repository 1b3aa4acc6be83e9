package view

import "time"

// ServedQueue is a queue that a process serves.
type ServedQueue struct {
	Queue string `json:"queue"` // its name
	Limit int    `json:"limit"` // attempts at a time, at least 1
}

// Queue is a queue in which attempts of activities are offered.
type Queue struct {
	Queue   string `json:"queue"`   // its name
	Waiting int    `json:"waiting"` // attempts that no worker has claimed
	Running int    `json:"running"` // attempts that run in processes that serve the queue
	// Oldest is when the oldest waiting attempt was offered; nil if none waits.
	Oldest *time.Time `json:"oldest,omitempty"`
	// Workers is how many live processes serve the queue, and Limit how many attempts
	// they run at a time in total.
	Workers int `json:"workers"`
	Limit   int `json:"limit"`
	// Unserved are activities with waiting attempts that no live process serving the
	// queue has registered.
	Unserved []string `json:"unserved,omitempty"`
}
