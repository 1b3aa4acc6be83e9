package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/perdure/perdure/store"
)

// Thresholds of Examine.
const (
	clockSlack = int64(5 * time.Second)  // how far the clock may have gone back
	stuckAfter = int64(10 * time.Minute) // how long a message may wait for a live owner
	freePages  = 25_000                  // unused pages of a file in which they are the majority
	longLog    = 512 << 20               // bytes of a write-ahead log that a reader keeps from being reset
	mostFaults = 10
)

// examination is one examination of a file.
type examination struct {
	c     *conn
	ctx   context.Context
	path  string
	found []store.Symptom
}

func (x *examination) find(kind, subject, problem, do string) {
	x.found = append(x.found, store.Symptom{Kind: kind, Subject: subject, Problem: problem, Do: do})
}

// Examine finds problems that the store contract does not show.
func (h *handle) Examine(ctx context.Context) ([]store.Symptom, error) {
	var found []store.Symptom
	err := h.snapshot(ctx, "Examine", func(c *conn) error {
		x := &examination{c: c, ctx: ctx, path: h.path}
		for _, look := range []func() error{x.structure, x.orphans, x.space, func() error { return x.clocks(h.clock()) }, func() error { return x.stuck(h.clock()) }} {
			if err := look(); err != nil {
				return err
			}
		}
		found = x.found
		return nil
	})
	return found, err
}

// structure makes SQLite check its own pages and indexes.
func (x *examination) structure() error {
	return x.c.query(x.ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", mostFaults), func(r row) error {
		if said := r.text(0); said != "ok" {
			x.find(store.SymptomDamage, "file "+x.path, "SQLite finds the file damaged: "+said, "restore it from a backup; to save what can be read: sqlite3 FILE .recover")
		}
		return nil
	})
}

// orphans finds rows of runs that do not exist. Foreign keys keep this store from creating
// any, but not other programs.
func (x *examination) orphans() error {
	counts := map[string]int{}
	err := x.c.query(x.ctx, "PRAGMA foreign_key_check", func(r row) error {
		counts[r.text(0)]++
		return nil
	})
	if err != nil {
		return err
	}
	for _, table := range []string{"turns", "calls", "attempts", "attributes"} {
		if counts[table] > 0 {
			x.find(store.SymptomOrphan, "table "+table, fmt.Sprintf("%d rows belong to runs that do not exist: something else than perdure has deleted runs", counts[table]),
				"restore the file from a backup; or delete what PRAGMA foreign_key_check("+table+") lists")
		}
	}
	return nil
}

// space finds unused pages, and a log that cannot be reset.
func (x *examination) space() error {
	var pages, free int64
	if _, err := x.c.one("PRAGMA page_count", []*int64{&pages}); err != nil {
		return err
	}
	if _, err := x.c.one("PRAGMA freelist_count", []*int64{&free}); err != nil {
		return err
	}
	if free > freePages && free > pages/2 {
		x.find(store.SymptomVacuum, "file "+x.path, fmt.Sprintf("%d of its %d pages are unused; they are used again before the file grows", free, pages),
			"if the disk is short of room, stop the engine and run: sqlite3 FILE VACUUM")
	}
	if info, err := os.Stat(x.path + "-wal"); err == nil && info.Size() > longLog {
		x.find(store.SymptomBlocking, "file "+x.path+"-wal", fmt.Sprintf("the write-ahead log has %d MiB: a reader that does not end keeps SQLite from writing it back, and every read gets slower", info.Size()>>20),
			"find who has the file open: lsof FILE-wal; and end the long read")
	}
	return nil
}

// clocks checks whether the clock was set back.
func (x *examination) clocks(now int64) error {
	var mark int64
	if _, err := x.c.one("SELECT coalesce(max(clock), 0) FROM partitions", []*int64{&mark}); err != nil {
		return err
	}
	if mark-now > clockSlack {
		x.find(store.SymptomClock, "clock", fmt.Sprintf("the clock of this machine was set back: it is %s behind what it was before; waits last that much longer", time.Duration(mark-now).Round(time.Second)),
			"set it by NTP: timedatectl set-ntp true")
	}
	return nil
}

// stuck finds messages that have waited long although an engine serves the file.
func (x *examination) stuck(now int64) error {
	return x.c.query(x.ctx, `SELECT i.workflow_id, i.kind, i.sequence, i.posted, n.name
		FROM inbox i JOIN partitions p ON p.id = i.partition JOIN nodes n ON n.id = p.node
		WHERE i.posted < ? AND n.departed IS NULL AND n.joined < ? ORDER BY i.posted LIMIT 20`, func(r row) error {
		x.find(store.SymptomStuck, fmt.Sprint("message ", r.int(2)), fmt.Sprintf("a message of the kind %q for %s waits since %s although node %s serves the file: it cannot be read, or that node is very busy",
			r.text(1), r.text(0), time.Unix(0, r.int(3)).UTC().Format(time.DateTime+"Z"), r.text(4)),
			"look for it in the log of that node; a newer version may have written it: update the node. Restart it if it logs nothing")
		return nil
	}, now-stuckAfter, now-stuckAfter)
}
