package perdure

import (
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
)

// ServeQueue makes this process run attempts of its registered activities that were
// called with this queue (activity.Queue), at most limit at a time; limit is at least 1.
// Give the option once for each queue. Concurrency bounds the attempts of all queues and
// of the process's own runs together.
//
// An engine that serves queues and has no registered workflow is a queue worker: after
// Start it takes attempts, but no runs. Any number of queue workers may share a database,
// an SQLite file included. After a crash its attempts are given to others when its Lease
// expires.
func ServeQueue(name string, limit int) Option {
	return seal.With(func(c *settings.Engine) {
		c.Queues = append(c.Queues, record.Queue{Name: name, Limit: limit})
	})
}
