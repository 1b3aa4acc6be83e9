package demo

import (
	"encoding/json"
	"io"
	"sync"
)

// report is a line that a child writes to the parent.
type report struct {
	Event   event  `json:"event"`
	URL     string `json:"url,omitempty"`     // of a service that is ready
	Running int    `json:"running,omitempty"` // attempts that run
	Steps   int    `json:"steps,omitempty"`   // done by this process
	Order   string `json:"order,omitempty"`
	Status  string `json:"status,omitempty"` // of the order
	Message string `json:"message,omitempty"`
}

// event is what a report is about.
type event string

const (
	eventReady    event = "ready"
	eventProgress event = "progress"
	eventOrder    event = "order" // an order is done
	eventFinished event = "finished"
	eventFailed   event = "failed"
)

// reporter writes reports, one a line. That nobody reads them any more is no
// concern of it: then the process ends anyway.
type reporter struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newReporter(w io.Writer) *reporter { return &reporter{enc: json.NewEncoder(w)} }

func (r *reporter) send(message report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.enc.Encode(message)
}
