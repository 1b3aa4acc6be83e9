package engine

import (
	"slices"
	"sync"

	"github.com/perdure/perdure/internal/logs"
)

// outages are the reasons why the database cannot be used right now.
type outages struct {
	log *logs.Log
	mu  sync.Mutex
	by  [2]error // by side, nil if that works
}

// side is what is asked of the database: a full disk can still be read.
type side int

const (
	reading side = iota
	writing
)

// unanswered notes that the database is away, and logs the beginning of an outage.
func (o *outages) unanswered(by side, what string, err error) {
	o.mu.Lock()
	first := o.by[by] == nil
	o.by[by] = err
	o.mu.Unlock()
	if first {
		o.log.DatabaseAway(what, err)
	}
}

// answered notes that the database is back.
func (o *outages) answered(by side) {
	o.mu.Lock()
	was := o.by[by]
	o.by[by] = nil
	o.mu.Unlock()
	if was != nil {
		o.log.DatabaseBack(was)
	}
}

func (o *outages) current() []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.by[:])
}

// oneSide is what commit.Health and member.Health ask for.
type oneSide struct {
	*outages
	side
}

func (o oneSide) Away(while string, err error) { o.unanswered(o.side, while, err) }
func (o oneSide) Back()                        { o.answered(o.side) }
