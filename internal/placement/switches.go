package placement

import (
	"sync"

	"github.com/perdure/perdure/store"
)

// Switches are the switches of the whole group, as far as this node has read them. The zero
// value has read none; it is safe for concurrent use.
type Switches struct {
	mu     sync.Mutex
	read   int64                  // number of the last entry read
	latest map[thing]store.Switch // the last entry of each thing
}

type thing struct{ kind, name string }

// Read returns the number of the last entry that was read.
func (s *Switches) Read() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

// Add applies entries of the log. It returns those that are new, and reports whether something
// was switched on again.
func (s *Switches) Add(log []store.Switch) (fresh []store.Switch, released bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == nil {
		s.latest = map[thing]store.Switch{}
	}
	for _, w := range log {
		if w.Number <= s.read {
			continue
		}
		s.read = w.Number
		key := thing{w.Kind, w.Name}
		released = released || s.latest[key].Off && !w.Off
		s.latest[key] = w
		fresh = append(fresh, w)
	}
	return fresh, released
}

// Paused returns the switches that pause activities at a time, by name of the activity, and when the
// first of the pauses ends by itself, 0 if none does.
func (s *Switches) Paused(now int64) (paused map[string]store.Switch, ends int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	paused = map[string]store.Switch{}
	for key, w := range s.latest {
		if key.kind != store.SwitchActivity || !w.IsOff(now) {
			continue
		}
		paused[key.name] = w
		if at := w.Ends(); at != 0 && (ends == 0 || at < ends) {
			ends = at
		}
	}
	return paused, ends
}

// Canary returns the switch that is in force, nil if none is.
func (s *Switches) Canary() *store.Switch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last store.Switch
	for key, w := range s.latest {
		if key.kind == store.SwitchCanary && w.Number > last.Number {
			last = w
		}
	}
	if !last.Off {
		return nil
	}
	return &last
}
