package inspect

import (
	"fmt"
)

// Limits are the limits of a run.
type Limits struct {
	Events       int // on record
	PendingCalls int
	Signals      int // not read by the code
}

// Near returns the number from which a run is close to a limit: four fifths of it.
func Near(limit int) int { return limit - limit/5 }

// warnings names the limits that a run comes close to.
func (l Limits) warnings(events, pending, unread int) (all []string) {
	if events >= Near(l.Events) {
		all = append(all, fmt.Sprintf("its history has %d events; it fails at %d unless it continues as new", events, l.Events))
	}
	if pending >= Near(l.PendingCalls) {
		all = append(all, fmt.Sprintf("it has %d pending calls; at %d, further ones are refused", pending, l.PendingCalls))
	}
	if unread >= Near(l.Signals) {
		all = append(all, fmt.Sprintf("it has %d unread signals; with %d, it takes only those that it waits for, until its code has read some", unread, l.Signals))
	}
	return all
}
