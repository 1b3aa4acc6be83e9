package tracing

import (
	"maps"
	"sync"
	"sync/atomic"
)

// named is what the name of a span is made of.
type named struct {
	what string // it is a span of
	name string
}

// maxNames bounds how many names of spans are kept. Those of workflows and activities are few;
// what callers invent is not kept beyond that.
const maxNames = 1000

// names are the names of spans, which are made once.
type names struct {
	all atomic.Pointer[map[named]string]
	mu  sync.Mutex // held to add one
}

// of is the name of a span of something that may have a name.
func (n *names) of(what, name string) string {
	known := n.all.Load()
	if known != nil {
		if span, is := (*known)[named{what, name}]; is {
			return span
		}
	}
	span := "perdure." + what
	if name != "" {
		span += " " + name
	}
	if known == nil || len(*known) < maxNames {
		n.add(named{what, name}, span)
	}
	return span
}

func (n *names) add(of named, span string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[named]string{}
	if known := n.all.Load(); known != nil {
		all = maps.Clone(*known)
	}
	all[of] = span
	n.all.Store(&all)
}
