package engine

import "time"

// CopyIdentity makes an engine that has not started the same node as another.
func CopyIdentity(to, from *Engine) {
	from.mu.Lock()
	m := from.member
	from.mu.Unlock()
	m.staying = map[int]time.Time{}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.member = m
}

// LoseAll makes an engine lose its partitions, as if another node had taken them.
func LoseAll(e *Engine) {
	e.mu.Lock()
	all := e.served()
	e.mu.Unlock()
	e.lose(all...)
}
