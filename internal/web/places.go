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
	// KeptForOperators is the number of these that viewers leave free.
	KeptForOperators = MaxLong / 4
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
	most := MaxLong
	if !who.Role.May(access.Operator) {
		most -= KeptForOperators
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.by[caller] >= MaxLongEach:
		busy = TooManyOfYours.Of(fmt.Sprintf("%d requests of %s wait or stream here, and that is the limit for each caller.", MaxLongEach, caller))
	case p.taken >= most:
		busy = TooManyWaiting.Of(fmt.Sprintf("%d requests that wait or stream are served at a time, %d of them only for operators.", MaxLong, KeptForOperators))
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
