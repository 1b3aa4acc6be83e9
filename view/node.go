package view

import "time"

// Node is a process that serves workflows, or served some recently.
type Node struct {
	ID         string `json:"id"`              // its name and a random part; a process gets a new one each time it joins
	Name       string `json:"name"`            // see perdure.NodeName
	Group      string `json:"group,omitempty"` // of nodes, see perdure.Group; empty is the default group
	State      string `json:"state"`           // see NodeLive
	Partitions int    `json:"partitions"`      // that it owns
	// Worker says that the process serves only queues. Queues are the queues that it
	// serves, and Attempts is how many of their attempts it has claimed that have not
	// ended.
	Worker   bool          `json:"worker,omitempty"`
	Queues   []ServedQueue `json:"queues,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
	Joined   time.Time     `json:"joined"` // when it joined its group
	Seen     time.Time     `json:"seen"`   // when it last renewed its lease
	// Ended is when its process left, or when it was known that it had died; nil if neither is
	// known.
	Ended *time.Time `json:"ended,omitempty"`
	// Expires is when its lease expires and others may take its work over; nil where no
	// lease is needed and after the node has left.
	Expires *time.Time `json:"expires,omitempty"`
	// Build names the code of the process (see perdure.Build); "" for a worker. Workflows and Activities are what it has registered, by name.
	Build      string       `json:"build,omitempty"`
	Workflows  []Definition `json:"workflows,omitempty"`
	Activities []string     `json:"activities,omitempty"`
}

// Definition is a workflow that a node has registered.
type Definition struct {
	Name    string `json:"name"`              // under which runs are started
	Version string `json:"version,omitempty"` // workflow.Version, "" if it declares none
}

// The states of a node.
const (
	NodeLive     = "live"
	NodeDraining = "draining" // finishes what runs, then leaves
	NodeLeft     = "left"
	NodeDied     = "died"    // it did not leave, and another process has its name or its place
	NodeExpired  = "expired" // its lease has expired, or its process is known to be gone
)

// Gone reports whether its process has ended, as far as is known.
func (n *Node) Gone() bool {
	return n.State == NodeLeft || n.State == NodeDied || n.State == NodeExpired
}
