package gate

// HasTimer reports whether the gate waits for a time to come.
func (g *Gate) HasTimer() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.timer != nil
}

// Tickets is how many calls are at the gate, in whatever phase.
func (g *Gate) Tickets() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.machine.Tickets())
}
