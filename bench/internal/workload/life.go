package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Life is one process of Crash: what it is told, as JSON in its environment.
type Life struct {
	System   string
	Kind     place.Kind
	Location string
	Book     string // file in which it counts
	Runs     int
	Steps    int
	Body     time.Duration
}

// lifeEnv is the environment variable that makes this program such a process.
const lifeEnv = "PERDURE_BENCH_LIFE"

// The lines it writes.
const (
	saysFirst = "first" // the first activity begins
	saysThird = "third" // a third of all activities have begun
	saysDone  = "done"  // all runs have completed
)

// Given returns the life that this process is to lead, nil if it is none.
func Given() (*Life, error) {
	text := os.Getenv(lifeEnv)
	if text == "" {
		return nil, nil
	}
	l := &Life{}
	return l, json.Unmarshal([]byte(text), l)
}

// Lead leads the life: it runs all workflows, or continues those that are there.
func (l *Life) Lead(ctx context.Context, all []system.System, out io.Writer) error {
	i := slices.IndexFunc(all, func(s system.System) bool { return s.Name() == l.System && s.Kind() == l.Kind })
	if i < 0 {
		return fmt.Errorf("no system %s runs on %s", l.System, l.Kind)
	}
	db, err := place.At(l.Kind, l.Location)
	if err != nil {
		return err
	}
	book, err := openBook(l.Book)
	if err != nil {
		return err
	}
	third := int64(l.Runs * l.Steps / 3)
	b := &bed{system: all[i], db: db, config: system.Config{InFlight: l.Runs, Step: func(int) {
		switch book.begun.Add(1) {
		case 1:
			fmt.Fprintln(out, saysFirst)
		case third:
			fmt.Fprintln(out, saysThird)
		}
		time.Sleep(l.Body)
	}}}
	if err := b.open(ctx); err != nil {
		return err
	}
	err = atOnce(l.Runs, l.Runs, func(i int) error {
		defer book.done.Add(1)
		return b.chain(ctx, fmt.Sprintf("run-%06d", i), l.Steps)
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, saysDone)
	return b.close(ctx)
}

// past is what became of a life.
type past struct {
	begun, done    int           // activities that began, runs that completed
	toFirst, toEnd time.Duration // from the start of the process
}

// untilKilled leads a life in a process of its own and kills it.
func (l Life) untilKilled(ctx context.Context, dir string) (past, error) {
	return l.watch(ctx, dir, func(cmd *exec.Cmd, line string) bool {
		if line == saysThird {
			_ = cmd.Process.Kill() // it cannot be dead: its line was the news
		}
		return line == saysThird
	})
}

// untilDone leads a life to its end.
func (l Life) untilDone(ctx context.Context, dir string) (past, error) {
	return l.watch(ctx, dir, func(_ *exec.Cmd, line string) bool { return line == saysDone })
}

// watch runs the process until its end. A line for which last answers true must
// come; if it was killed for it, its end is not an error.
func (l Life) watch(ctx context.Context, dir string, last func(cmd *exec.Cmd, line string) bool) (past, error) {
	file, err := os.CreateTemp(dir, "book-")
	if err != nil {
		return past{}, err
	}
	defer os.Remove(file.Name())
	file.Close()
	l.Book = file.Name()
	book, err := openBook(l.Book)
	if err != nil {
		return past{}, err
	}
	defer book.close()
	cmd, out, err := l.command(ctx)
	if err != nil {
		return past{}, err
	}
	runtime.LockOSThread() // the kernel ends the process with the thread that started it
	defer runtime.UnlockOSThread()
	var p past
	begin, seen := time.Now(), false
	if err := cmd.Start(); err != nil {
		return p, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == saysFirst {
			p.toFirst = time.Since(begin)
		}
		if last(cmd, lines.Text()) {
			p.toEnd, seen = time.Since(begin), true
		}
	}
	err = cmd.Wait()
	p.begun, p.done = int(book.begun.Load()), int(book.done.Load())
	switch exit, failed := errors.AsType[*exec.ExitError](err); {
	case !seen:
		return p, fmt.Errorf("the process ended too early (%v): %s", err, cmd.Stderr)
	case failed && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return p, nil
	}
	return p, err
}

// command is this program with a life to lead. It dies with this process.
func (l Life) command(ctx context.Context) (*exec.Cmd, io.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), lifeEnv+"="+string(text))
	cmd.Stderr = &strings.Builder{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	return cmd, out, err
}
