package post

// Route says which run gets messages for the latest run of a workflow ID. It exists while the
// database does not say so yet, or while a look at the inbox may still rely on an older row.
// Routes keep such messages in order. No message waits in a route.
type Route struct {
	Box   *Box
	Run   string
	Stage Stage
}

// Stage is how far the run of a route has come.
type Stage int

const (
	// Starting: the run has no row yet.
	Starting Stage = iota
	// Continuing: a turn of the run that creates the next run is in flight.
	Continuing
	// Continued: the run has followed another one, and the look at the inbox began before that.
	Continued
)

// Direct makes a run get the messages for the latest run of a workflow ID.
func (o *Office) Direct(workflowID string, to Route) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.routes[workflowID] = to
}

// Receiver returns the run that gets messages for the latest run of a workflow ID at a location,
// "" if the database says which.
func (b *Box) Receiver(workflowID string) string {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	if to, ok := b.office.routes[workflowID]; ok && to.Box == b {
		return to.Run
	}
	return ""
}

// Start makes a run that is about to start get the messages for the latest run of its workflow
// ID. If another run is about to get the ID, Start returns false, and the start message waits
// until that is decided. Again reports whether messages are to be routed again, at the next
// look.
func (b *Box) Start(workflowID, run string, sequence int64) (again, ok bool) {
	o := b.office
	o.mu.Lock()
	defer o.mu.Unlock()
	if first, taken := o.routes[workflowID]; taken && first.Stage == Starting && first.Run != run {
		b.awaitStart(workflowID, run, []Mail{{Sequence: sequence}})
		return false, false
	}
	return b.started(workflowID, run), true
}

// Decided ends the route of a run whose start is decided. From then on the database decides
// about messages for the workflow ID, other starts included. It reports whether messages are to
// be routed again, at the next look.
func (b *Box) Decided(workflowID, run string) (again bool) {
	o := b.office
	o.mu.Lock()
	defer o.mu.Unlock()
	if to := o.routes[workflowID]; to.Stage != Starting || to.Run != run {
		return false
	}
	delete(o.routes, workflowID)
	return b.routeAgain(workflowID)
}

// Undirect ends the route of a workflow ID if it leads to a run. If stage is not nil, it must be
// of that stage.
func (o *Office) Undirect(workflowID, run string, stage ...Stage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if to, ok := o.routes[workflowID]; ok && to.Run == run && (len(stage) == 0 || to.Stage == stage[0]) {
		delete(o.routes, workflowID)
	}
}

// OpenRoutes returns how many routes lead to runs that have not continued yet.
func (o *Office) OpenRoutes() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, to := range o.routes {
		if to.Stage != Continued {
			n++
		}
	}
	return n
}
