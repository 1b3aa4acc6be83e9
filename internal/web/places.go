package web

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"

	"github.com/perdure/perdure/access"
)

const (
	// MaxLong is the maximum number of concurrent long requests, which last as long as
	// their callers listen.
	MaxLong = 512
	// MaxLongEach is the maximum of these per caller, so that a single caller cannot block
	// all others.
	MaxLongEach = MaxLong / 4
)

// places counts the long requests in progress.
type places struct {
	mu    sync.Mutex
	taken int
	by    map[string]int // by caller
}

// take gives a caller a place until leave is called, or returns why not. Callers are
// distinguished by the names that their tokens give them, or without one by their
// addresses.
func (p *places) take(r *http.Request, who access.Identity) (leave func(), busy *Problem) {
	caller := cmp.Or(who.Name, hostname(r.RemoteAddr))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.by[caller] >= MaxLongEach:
		busy = TooManyOfYours.Of(fmt.Sprintf("%d requests of %s wait or stream here, and that is the limit for each caller.", MaxLongEach, caller))
	case p.taken >= MaxLong:
		busy = TooManyWaiting.Of(fmt.Sprintf("%d requests that wait or stream are served at a time.", MaxLong))
	default:
		p.taken++
		p.by[caller]++
		return func() { p.leave(caller) }, nil
	}
	busy.RetryAfter = 5
	return nil, busy
}

func (p *places) leave(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.by[caller]--; p.by[caller] == 0 {
		delete(p.by, caller)
	}
}
