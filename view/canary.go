package view

import "time"

// Canary says which share of the runs that begin goes to nodes of one build, and who said
// so.
type Canary struct {
	Group string `json:"group,omitempty"`
	Build string `json:"build"`
	// Percent is the share, from 0 to 100. The others begin at nodes of other builds.
	Percent float64 `json:"percent"`
	// Ended says that new runs begin where their workflow IDs put them, at nodes of
	// whatever build.
	Ended   bool      `json:"ended,omitempty"`
	Request string    `json:"request,omitempty"`
	By      string    `json:"by,omitempty"`
	Why     string    `json:"why,omitempty"`
	Time    time.Time `json:"time"`
}
