package store

// Counts has the numbers of runs and of calls of workflows by state.
type Counts struct {
	Runs  map[Status]int
	Calls map[CallState]int

	// Away is how many runs are in wards: another node serves them than the owner of their
	// partition.
	Away int

	// NextRetry is the earliest Due of a call in backoff, 0 if there is none.
	NextRetry int64
}

// Bound lowers numbers to most, which then mean "at least", and leaves them as they are if most
// is 0. Completed runs, which stores count as all that are nothing else, are omitted if another
// number of runs has reached most.
func (c *Counts) Bound(most int) {
	if most == 0 {
		return
	}
	reached := false
	for status, n := range c.Runs {
		reached = reached || n >= most && status != Completed
		c.Runs[status] = min(n, most)
	}
	if reached {
		delete(c.Runs, Completed)
	}
	for state, n := range c.Calls {
		c.Calls[state] = min(n, most)
	}
	c.Away = min(c.Away, most)
}
