package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/view"
)

// keyCounts counts calls by run key.
type keyCounts map[string]*view.KeyWait

func (c keyCounts) of(key string) *view.KeyWait {
	if c[key] == nil {
		c[key] = &view.KeyWait{Key: key}
	}
	return c[key]
}

// waits counts a call that waits since a time, nil if that is not known.
func (c keyCounts) waits(key string, since *time.Time) {
	k := c.of(key)
	k.Waiting++
	if since != nil && (k.Oldest == nil || since.Before(*k.Oldest)) {
		k.Oldest = since
	}
}

// tripped reports whether a key has a breaker of its own, which is not closed.
func tripped(k *view.KeyWait) bool {
	return k.Breaker == string(spec.Open) || k.Breaker == string(spec.HalfOpen)
}

// beyond counts the waiting calls of keys that are not listed.
func (c keyCounts) beyond(listed []view.KeyWait) (n int) {
	for _, k := range c {
		n += k.Waiting
	}
	for i := range listed {
		n -= listed[i].Waiting
	}
	return n
}

// most returns the keys whose breaker is not closed, and those of which most calls wait; nil if no run
// has a key, and there is no such breaker.
func (c keyCounts) most() (keys []view.KeyWait) {
	if len(c) == 0 || len(c) == 1 && c[""] != nil && !tripped(c[""]) {
		return nil
	}
	for _, k := range c {
		keys = append(keys, *k)
	}
	rank := func(k *view.KeyWait) int {
		if tripped(k) {
			return 1
		}
		return 0
	}
	slices.SortFunc(keys, func(a, b view.KeyWait) int {
		return cmp.Or(-cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Key, b.Key))
	})
	return keys[:min(len(keys), view.MaxKeys)]
}
