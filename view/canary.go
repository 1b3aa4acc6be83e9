package view

import "time"

// Canary says which share of the runs that begin goes to nodes of one build, and who said
// so.
type Canary struct {
	Group string `json:"group,omitempty"` // of nodes, see perdure.Group; empty is the default group
	Build string `json:"build"`           // that gets the share, see Node.Build
	// Percent is the share, from 0 to 100. The others begin at nodes of other builds.
	Percent float64 `json:"percent"`
	// Ended says that new runs begin where their workflow IDs put them, at nodes of
	// whatever build.
	Ended   bool      `json:"ended,omitempty"`
	Request string    `json:"request,omitempty"` // idempotency key of the request
	By      string    `json:"by,omitempty"`      // who set or ended it
	Why     string    `json:"why,omitempty"`     // reason that was given; empty if none was
	Time    time.Time `json:"time,omitzero"`     // when it was set or ended; zero in a dry run
}
