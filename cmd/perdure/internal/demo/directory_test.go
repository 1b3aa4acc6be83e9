package demo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
)

// opened opens a directory and releases it.
func opened(t *testing.T, d directory, opt Options) *state {
	t.Helper()
	s, release, err := d.open(opt)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return s
}

// refused says that a directory cannot be opened, and why.
func refused(t *testing.T, d directory, opt Options, want string) {
	t.Helper()
	_, release, err := d.open(opt)
	if err == nil {
		release()
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(e.What+" "+e.Hint, want) {
		t.Errorf("got %v; want a refusal with %q", err, want)
	}
}

func TestDirectoryRemembersTheDemo(t *testing.T) {
	d, three := directory(filepath.Join(t.TempDir(), "new", "demo [1]")), Options{Orders: 3}
	s := opened(t, d, three)
	s.Kills, s.Finished = 2, true
	if err := d.save(s); err != nil {
		t.Fatal(err)
	}
	if s := opened(t, d, three); s.Kills != 2 || !s.Finished {
		t.Errorf("it remembers %+v", s)
	}
	refused(t, d, Options{Orders: 2}, "begun with 3 orders. Go on with it (--orders 3), begin again with --fresh")
	server, err := database.Parse("postgres://shop:secret@db/shop")
	if err != nil {
		t.Fatal(err)
	}
	refused(t, d, Options{Orders: 3, Database: server}, "begun in an SQLite file")
	three.Fresh, three.Database = true, server
	if s := opened(t, d, three); s.Finished || s.before.Kills != 2 || !strings.HasPrefix(s.Schema, "perdure_demo_") {
		t.Errorf("a fresh demo: %+v", s)
	}
	refused(t, d, Options{Orders: 3}, "begun in the database postgres://shop@db/shop. Go on with it (--db postgres://shop@db/shop)")
}

func TestFreshDeletesWhatADemoMade(t *testing.T) {
	d := directory(t.TempDir())
	opened(t, d, Options{Orders: 2})
	files := []string{databaseName, databaseName + "-wal", databaseName + ".lock", bookName, "worker.log", "worker-12.log"}
	for _, name := range files {
		if err := os.WriteFile(d.file(name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opened(t, d, Options{Orders: 2, Fresh: true})
	for _, name := range files {
		if _, err := os.Stat(d.file(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", name, err)
		}
	}
}

func TestFreshNeverTouchesFilesOfOthers(t *testing.T) {
	d := directory(t.TempDir())
	if err := os.WriteFile(d.file("thesis.txt"), []byte("years of work"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		refused(t, d, Options{Orders: 1, Fresh: fresh}, "thesis.txt")
	}
	entries, err := os.ReadDir(string(d))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory now holds %v, %v", entries, err)
	}
}

func TestTwoDemosDoNotShareADirectory(t *testing.T) {
	d := directory(t.TempDir())
	_, release, err := d.open(Options{Orders: 1})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, d, Options{Orders: 1, Fresh: true}, "Another perdure demo")
	release()
	opened(t, d, Options{Orders: 1})
}

func TestDamagedStateIsReported(t *testing.T) {
	d := directory(t.TempDir())
	opened(t, d, Options{Orders: 1})
	if err := os.WriteFile(d.file(stateName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, d, Options{Orders: 1}, "--fresh")
	opened(t, d, Options{Orders: 1, Fresh: true})
}

func TestKillsComeAtEvenDistancesWhenMuchIsInFlight(t *testing.T) {
	d := &demo{orders: make([]shop.Order, 100), opt: Options{Kills: 3, Workers: 1}} // 400 steps, 12 slots
	for _, c := range []struct {
		steps, running, kills int
		want                  bool
	}{
		{99, 12, 0, false}, {100, 2, 0, false}, {100, 3, 0, true}, {120, 12, 1, false},
		{200, 3, 1, true}, {399, 0, 2, false}, {399, 3, 2, true}, {400, 12, 3, false},
	} {
		if got := d.killDue(progress{steps: c.steps, inFlight: map[string]int{"worker": c.running}, kills: c.kills}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
