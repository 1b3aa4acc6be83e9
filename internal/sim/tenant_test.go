package sim

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// perKey is how many runs of a key run at a time in the world; 0 for no limit.
func (w *world) perKey() int {
	return []int{0, 1, 1, 2}[w.dice.of("per key").below(4)]
}

// countedAs is the key under which a run counts, "" for none. What continues another run counts as
// that one; what another run started, and what begins with a history, does not count.
func (m *model) countedAs(run *store.Run, closing string) string {
	if closing != "" {
		return m.runs[closing].key
	}
	start, _ := record.Start(run)
	if run.Base != nil || start.Parent != nil && start.Scheduled == nil {
		return ""
	}
	return run.Key
}

// crowd notes that the code of a run has run in a turn, or that the run has closed.
func (m *model) crowd(r *life, t *store.Turn) {
	if m.perKey == 0 || r.key == "" {
		return
	}
	if r.closed {
		delete(m.begun, t.Run)
		return
	}
	if t.Number == 0 {
		return
	}
	events, err := new(history.Words).OpenTurn(t.Run, t.Number, t.Time, t.Events)
	if err != nil || slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.CodeDeferred }) {
		return
	}
	m.begun[t.Run] = r.key
	n := 0
	for _, key := range m.begun {
		if key == r.key {
			n++
		}
	}
	if n > m.perKey {
		m.wrong("T3: %d runs of %s have begun, of which %d may run: %v", n, r.key, m.perKey, m.begun)
	}
}
