package killtest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// envWorker tells the test binary that it is a worker.
const envWorker = "PERDURE_KILLTEST_WORKER"

func TestMain(m *testing.M) {
	serve := func() error {
		return torture.Serve(torture.Host{Opener: func(s torture.Setup) (store.Opener, error) { return sqlite.File(s.Database), nil }})
	}
	switch address := os.Getenv(envBottomless); {
	case address != "":
		serve = func() error { return serveBottomless(address) }
	case os.Getenv(envWorker) == "":
		os.Exit(m.Run())
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// worker is a worker process as the parent sees it.
type worker struct {
	*torture.Process
	ready   chan struct{} // closed when it serves, or is dead
	refusal error         // why it does not serve, once ready
}

// isComplaint reports whether a line is one that a worker must never write, whatever is done to
// it. No other one could take its partition over.
func isComplaint(line string) bool {
	return torture.IsComplaint(line) || strings.Contains(line, "event=partitions_lost") || strings.Contains(line, "could not")
}

// spawn starts a worker.
func spawn(t *testing.T, database string, b *witness.Book, life int) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envWorker+"=1")
	label := fmt.Sprint("life ", life)
	p, err := torture.Spawn(label, cmd, isComplaint)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{Process: p, ready: make(chan struct{})}
	go func() {
		defer close(w.ready)
		err := p.Open(torture.Setup{Database: database, Book: b.Address(), Name: label, Queue: 4, Postings: postings, Log: slog.LevelWarn})
		if answer, is := errors.AsType[rpc.ServerError](err); is { // else it is dead
			w.refusal = answer
		}
	}()
	return w
}

// kill is kill -9.
func (w *worker) kill() {
	w.Kill()
	<-w.ready
}

// stop lets the worker end in peace.
func (w *worker) stop() error {
	<-w.ready
	return errors.Join(w.refusal, w.Leave(10*time.Second))
}

// complaints are what a worker must never say, whatever is done to it.
func (w *worker) complaints() []string {
	<-w.ready
	if w.refusal != nil {
		return append(w.Complaints(), w.refusal.Error())
	}
	return w.Complaints()
}
