package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store/sqlite"
)

// smallDisk mounts a file system of a size in MiB for the time of the test. That needs the
// rights of root, as containers that run tests usually have.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the server's user looks in
		t.Fatal(err)
	}
	err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0755", size))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("a disk that is full needs a small file system, and mounting one the rights of root: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err, errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH)))
		}
	})
	return dir
}

// fill takes all room of a disk except for some bytes, and returns what gives it back.
func fill(t *testing.T, dir string, but int64) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "balloon")
	balloon, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer balloon.Close()
	var size int64
	for page := make([]byte, 4096); err == nil; size += int64(len(page)) {
		_, err = balloon.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := balloon.Truncate(max(0, size-but)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// TestE83_TheServersDiskIsFull: the server refuses to write, or ends because it cannot
// write its log, and a supervisor starts it when there is room. The nodes say what is
// wrong, and continue.
func TestE83_TheServersDiskIsFull(t *testing.T) {
	extent.OnlyAtNight(t, "TestE83_TheDiskOfAFileIsFull fills a disk, too")
	t.Parallel()
	disk := smallDisk(t, 256)
	server := pgtest.Start(t, pgtest.In(disk), pgtest.Set("min_wal_size", "32MB"), pgtest.Set("max_wal_size", "48MB"))
	c, nodes, load := underLoad(t, server, 1+*times)
	for range *times {
		c.awaitProgress(load, 20)
		free := fill(t, disk, 256<<10)
		said := ""
		c.await("a node says that the disk is full", func() bool {
			said = nodes[0].health() + nodes[1].health()
			return said != ""
		})
		t.Logf("the nodes say: %s; the server ended: %v", said, server.Ended())
		free()
		c.await("the server is back", func() bool {
			if server.Ended() {
				server.Restart(t)
			}
			_, err := c.ask(`SELECT 'x'`)
			return err == nil
		})
		c.awaitProgress(load, 20)
	}
	c.conclude(load, nodes)
}

// TestE83_TheDiskOfAFileIsFull: the same with an SQLite file and the only engine that
// serves it.
func TestE83_TheDiskOfAFileIsFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 96)
	book := openBook(t)
	pen, err := witness.NewPen(book.Address(), "the engine")
	if err != nil {
		t.Fatal(err)
	}
	file := sqlite.File(filepath.Join(disk, "shop.db"))
	e, err := perdure.Open(t.Context(), file, witness.Definitions(pen), witness.Serves(4), perdure.Concurrency(16), perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*times)*time.Minute+patience)
	defer cancel()
	load := witness.Load{Engine: e, Book: book, Seed: *seed}
	load.Begin(ctx)
	await := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !holds(); time.Sleep(glance) {
			if time.Now().After(end) {
				t.Fatalf("it did not come about that %s: %v", what, e.Health())
			}
		}
	}
	for range *times {
		more := load.Finished() + 20
		await("runs end", func() bool { return load.Finished() >= more })
		free := fill(t, disk, 64<<10)
		await("the engine says that the disk is full", func() bool { return e.Health() != nil && strings.Contains(e.Health().Error(), "full") })
		t.Logf("the engine says: %v", e.Health())
		free()
		more = load.Finished() + 20
		await("runs end again", func() bool { return load.Finished() >= more })
	}
	end := load.End()
	await("nothing keeps the engine from its work", func() bool { return e.Health() == nil })
	judge(t, end)
}
