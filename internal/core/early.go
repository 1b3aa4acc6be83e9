package core

// awaitBackoff makes sure that a call in backoff is looked at when that ends.
func (r *callTable) awaitBackoff(c *Call) {
	c.early = r.config.Unslotted != nil && len(c.Gates) == 0 && (c.Queue == "" || c.Step()) && !c.OnProbation
	r.watch(c)
}

// mayGoOn reports whether the attempt that ends a backoff may be put on record now. It
// may not without a slot if others wait long for theirs: then it is looked at later.
func (r *callTable) mayGoOn(c *Call) bool {
	c.unslotted = c.early && r.config.Unslotted(c)
	if c.early && !c.unslotted {
		c.early = false
		r.watch(c)
		return false
	}
	return true
}

// backOff waits again for the time of an attempt that was put on record ahead
// of it.
func (r *execution) backOff(c *Call) {
	at := c.StartedAt
	c.StartedAt, c.Node = 0, ""
	r.backOffUntil(c, at)
}

// neverBegan lets an attempt wait for a slot that was put on record without one, and for
// which there was none when its time had come.
func (r *execution) neverBegan(c *Call) {
	c.StartedAt, c.Node = 0, ""
	if c.Pause != nil {
		r.suspend(c, Paused)
		return
	}
	r.wantSlotSince(c, c.QueuedAt)
}
