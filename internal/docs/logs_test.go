package docs

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/logs"
)

// TestE63_TheTableOfEvents: the page lists every event with its level and its keys.
func TestE63_TheTableOfEvents(t *testing.T) {
	var rows [][]string
	for _, e := range logs.Events() {
		keys := make([]string, len(e.Keys))
		for i, key := range e.Keys {
			keys[i] = code(key)
		}
		rows = append(rows, []string{code(e.Name), strings.ToLower(e.Level.String()), e.Message, strings.Join(keys, ", ")})
	}
	Section(t, *update, "logs.md", "events", table([]string{"event", "level", "what it says", "keys"}, rows))
}
