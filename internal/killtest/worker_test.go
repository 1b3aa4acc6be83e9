package killtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store/sqlite"
)

// The environment of a worker process.
const (
	envDatabase = "PERDURE_KILLTEST_DATABASE"
	envBook     = "PERDURE_KILLTEST_BOOK"
	envLife     = "PERDURE_KILLTEST_LIFE"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(envBottomless); address != "" {
		if err := serveBottomless(address); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(envDatabase); path != "" {
		if err := work(path); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work is the life of a worker: until its standard input ends, or it is killed.
func work(path string) error {
	life := "life " + os.Getenv(envLife)
	pen, err := witness.NewPen(os.Getenv(envBook), life)
	if err != nil {
		return err
	}
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	eng, err := perdure.Open(ctx, sqlite.File(path), witness.Definitions(pen), perdure.Register(bank, post), witness.Serves(4),
		perdure.NodeName(life), perdure.Concurrency(16), perdure.Logger(log), perdure.MaxResident(20))
	if err != nil {
		return err
	}
	if err := eng.Start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return eng.Stop(ctx)
}

// worker is a worker process as the parent sees it.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
	ready  chan struct{} // closed when it serves, or is dead
	dead   chan struct{}
	err    error // of its end, once dead
}

// spawn starts a worker.
func spawn(t *testing.T, database string, b *witness.Book, life int) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0]), stderr: &bytes.Buffer{}, ready: make(chan struct{}), dead: make(chan struct{})}
	w.cmd.Env = append(os.Environ(),
		envDatabase+"="+database, envBook+"="+b.Address(), envLife+"="+strconv.Itoa(life))
	w.cmd.Stderr = w.stderr
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.stdin = stdin
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.dead)
		lines := bufio.NewScanner(stdout)
		lines.Scan() // the one line, or the end of the process
		close(w.ready)
		for lines.Scan() {
		}
		w.err = w.cmd.Wait()
	}()
	return w
}

// kill is kill -9.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may be dead already
	<-w.dead
	w.stdin.Close()
}

// stop lets the worker end in peace.
func (w *worker) stop() error {
	w.stdin.Close()
	<-w.dead
	return w.err
}

// complaints are the lines a worker must never write, whatever is done to it.
func (w *worker) complaints() []string {
	var found []string
	for line := range strings.SplitSeq(w.stderr.String(), "\n") {
		for _, word := range []string{"panic", "DATA RACE", "goroutine ", "fatal", "worker:", "took its place", "is held", "is parked", "is left in the inbox", "could not", "took a partition over"} {
			if strings.Contains(line, word) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}
