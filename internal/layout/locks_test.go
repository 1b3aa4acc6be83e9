package layout

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/extent"
)

// maxLocks is how many locks one activity result takes from the return of its body to the begin
// of the next one, and maxOfEngine how many of these are the engine's own.
const maxLocks, maxOfEngine = 15, 3

// TestLocksOfAResult counts them in a program whose rooms were compiled with mutexes that count.
// The functions that take one are listed with -v.
func TestLocksOfAResult(t *testing.T) {
	extent.NotInShort(t, "it compiles the engine again")
	h, err := loadHouse()
	if err != nil {
		t.Fatal(err)
	}
	const counting = "internal/layout/testdata/locks"
	dir, replaced := t.TempDir(), map[string]string{}
	for _, room := range rooms {
		p := h.packages[room]
		for _, file := range p.GoFiles {
			path := filepath.Join(p.Dir, file)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(source)
			if !strings.Contains(text, "sync.Mutex") {
				continue
			}
			text = strings.ReplaceAll(text, "sync.Mutex", "lockcount.Mutex")
			text = strings.Replace(text, "\nimport ", "\nimport \""+h.module+"/"+counting+"/lockcount\"\nimport ", 1) + "\nvar _ sync.Locker\n"
			replaced[path] = filepath.Join(dir, strings.ReplaceAll(room, "/", "-")+"-"+file)
			if err := os.WriteFile(replaced[path], []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "-overlay", file, h.module+"/"+counting).Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	var all []map[string]int
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	// What other goroutines do meanwhile is not part of it, so the least of many results counts.
	least := all[0]
	for _, counts := range all {
		for of := range least {
			least[of] = min(least[of], counts[of])
		}
	}
	total, engine := 0, 0
	for _, of := range slices.Sorted(maps.Keys(least)) {
		if least[of] == 0 {
			continue
		}
		t.Log(least[of], strings.TrimPrefix(of, h.module+"/"))
		if total += least[of]; strings.Contains(of, "/internal/engine.") {
			engine += least[of]
		}
	}
	if total > maxLocks || engine > maxOfEngine || engine == 0 {
		t.Errorf("an activity result takes %d locks, %d of them in the engine; at most %d and %d are allowed (go test -v lists them)", total, engine, maxLocks, maxOfEngine)
	}
}
