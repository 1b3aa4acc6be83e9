package perdure

import (
	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/internal/engine"
)

// ServeQueue lets this process run attempts of the activities that it has registered and
// that were called with this queue (activity.Queue), at most limit at a time, which is at
// least 1. Given several times it serves several queues. Concurrency bounds them all,
// together with the attempts of the process's own runs.
//
// An engine that serves queues and has no workflow registered is a worker: after Start it
// takes no runs, only attempts. Any number of workers may share a database, an SQLite file
// included. Lease is how long the attempts of one that died stay its own.
func ServeQueue(name string, limit int) Option {
	return bridge.Set(func(s *bridge.Settings) {
		s.Config.Queues = append(s.Config.Queues, engine.Queue{Name: name, Limit: limit})
	})
}
