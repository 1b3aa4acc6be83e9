package web

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"

	"github.com/perdure/perdure/access"
)

const (
	// MaxLong is how many requests that take as long as their callers listen are served
	// at a time.
	MaxLong = 512
	// MaxLongEach is how many of these one caller has: nobody alone keeps all others out.
	MaxLongEach = MaxLong / 4
)

// places are those of requests that take as long as their callers listen.
type places struct {
	mu    sync.Mutex
	taken int
	by    map[string]int // by caller
}

// take gives a caller a place until leave is called, or says why not. Callers are told apart by
// their names, which tokens give them, and without one by their addresses.
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
