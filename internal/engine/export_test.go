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
