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

func someOrders(t *testing.T, n int) input {
	t.Helper()
	in, err := readInput("")
	if err != nil {
		t.Fatal(err)
	}
	in.orders = in.orders[:n]
	return in
}

// prepared prepares a directory and releases it at once.
func prepared(t *testing.T, d directory, in input, fresh bool) *state {
	t.Helper()
	s, l, err := d.prepare(in, database.Name{}, fresh)
	if err != nil {
		t.Fatal(err)
	}
	l.release()
	return s
}

func refusal(t *testing.T, d directory, in input, fresh bool) *DirectoryError {
	t.Helper()
	_, l, err := d.prepare(in, database.Name{}, fresh)
	if err == nil {
		l.release()
	}
	refused, ok := errors.AsType[*DirectoryError](err)
	if !ok {
		t.Fatalf("got %v; want a refusal", err)
	}
	return refused
}

func TestDirectoryRemembersTheDemo(t *testing.T) {
	d := directory(filepath.Join(t.TempDir(), "new", "demo"))
	in := someOrders(t, 3)
	s := prepared(t, d, in, false)
	orders, err := d.orders()
	if err != nil || len(orders) != 3 || orders[2] != in.orders[2] {
		t.Errorf("the orders read back are %v, %v", orders, err)
	}
	s.Kills, s.Finished = 2, true
	if err := d.save(s); err != nil {
		t.Fatal(err)
	}
	if s := prepared(t, d, in, false); s.Kills != 2 || !s.Finished {
		t.Errorf("it remembers %+v", s)
	}
	if r := refusal(t, d, someOrders(t, 2), false); !strings.Contains(r.Hint, "--fresh") {
		t.Errorf("other orders: %v, %s", r, r.Hint)
	}
}

func TestFreshForgetsTheDemo(t *testing.T) {
	d := directory(t.TempDir())
	in := someOrders(t, 2)
	s := prepared(t, d, in, false)
	s.Finished = true
	if err := d.save(s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{databaseName, databaseName + "-wal", databaseName + ".lock", bookName, "worker.log", "worker-12.log"} {
		if err := os.WriteFile(d.file(name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s := prepared(t, d, in, true); s.Finished {
		t.Error("--fresh remembers")
	}
	for _, name := range []string{databaseName, databaseName + "-wal", databaseName + ".lock", bookName, "worker.log", "worker-12.log"} {
		if _, err := os.Stat(d.file(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", name, err)
		}
	}
}

func TestFreshNeverTouchesFilesOfOthers(t *testing.T) {
	d := directory(t.TempDir())
	mine := d.file("thesis.txt")
	if err := os.WriteFile(mine, []byte("years of work"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		if r := refusal(t, d, someOrders(t, 1), fresh); !strings.Contains(r.What, "thesis.txt") {
			t.Errorf("the refusal does not name the file: %v", r)
		}
	}
	entries, err := os.ReadDir(string(d))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory now holds %v, %v", entries, err)
	}
}

func TestTwoDemosDoNotShareADirectory(t *testing.T) {
	d := directory(t.TempDir())
	_, l, err := d.prepare(someOrders(t, 1), database.Name{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if r := refusal(t, d, someOrders(t, 1), true); !strings.Contains(r.What, "Another perdure demo") {
		t.Error(r)
	}
	l.release()
	prepared(t, d, someOrders(t, 1), false)
}

func TestDamagedStateIsSaid(t *testing.T) {
	d := directory(t.TempDir())
	prepared(t, d, someOrders(t, 1), false)
	if err := os.WriteFile(d.file(stateName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := refusal(t, d, someOrders(t, 1), false); !strings.Contains(r.Hint, "--fresh") {
		t.Errorf("%v, %s", r, r.Hint)
	}
	prepared(t, d, someOrders(t, 1), true)
}

func TestOrderFilesThatCannotBeUsedAreRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	head := strings.Join(shop.Columns, ",") + "\n"
	for name, c := range map[string]struct{ path, want string }{
		"missing":  {filepath.Join(dir, "nothing.csv"), "There is no order file"},
		"empty":    {write("empty.csv", ""), "is empty"},
		"heads":    {write("heads.csv", head), "no order that can be used"},
		"all bad":  {write("bad.csv", head+"x,y\n"), "The first fault is in line 2"},
		"no table": {write("text.csv", "hello\n"), "cannot be used"},
	} {
		_, err := readInput(c.path)
		if _, ok := errors.AsType[*InputError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error that says %q", name, err, c.want)
		}
	}
}
