package meter

import (
	"runtime/metrics"
	"sync"
	"time"
)

// Peak is the most that the process holds while it is watched.
type Peak struct {
	before, most Memory
	end          func()
}

// Watch begins to watch, from what remains after garbage was collected.
func Watch() (*Peak, error) {
	before, err := Settled()
	if err != nil {
		return nil, err
	}
	p := &Peak{before: before, most: before}
	done, ended := make(chan struct{}), make(chan struct{})
	p.end = sync.OnceFunc(func() { close(done); <-ended })
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			p.look()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return p, nil
}

func (p *Peak) look() {
	resident, err := resident()
	if err != nil {
		return // it could be read a moment ago
	}
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	p.most.Resident = max(p.most.Resident, resident)
	p.most.Go = max(p.most.Go, int64(s[0].Value.Uint64()+s[1].Value.Uint64()))
}

// Stop ends the watch and returns how much more it was at most than before. It can be
// called again.
func (p *Peak) Stop() Memory {
	p.end()
	return Memory{Resident: p.most.Resident - p.before.Resident, Go: p.most.Go - p.before.Go}
}
