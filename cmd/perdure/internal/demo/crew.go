package demo

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/internal/human"
)

// crew is the worker processes of a demo, side by side.
type crew struct {
	demo    *demo
	url     string // of the service
	workers []*worker
	ended   chan *worker // those whose process has ended
}

// worker is a process of the crew. When it dies another one takes its place and its
// name.
type worker struct {
	name     string
	place    int
	cmd      *exec.Cmd
	stdin    io.Closer
	log      string // its file
	killedBy string // the news that it was killed by the demo
	exit     error  // once it has ended
	exited   chan struct{}
}

// databaseVar tells workers the database, which may have a password: everyone on
// the machine can see a command line.
const databaseVar = "PERDURE_DEMO_DB"

// WorkerDatabase is the database that the parent told a worker.
func WorkerDatabase(getenv func(string) string) (database.Name, error) {
	return database.Parse(getenv(databaseVar))
}

// start starts a process in a place of the crew. What it writes to its standard
// error, panics included, goes to its log.
func (c *crew) start(place int) error {
	d, w := c.demo, &worker{name: "worker", place: place, exited: make(chan struct{})}
	if len(c.workers) > 1 {
		w.name = fmt.Sprintf("worker-%d", place+1)
	}
	w.log = d.dir.file(w.name + ".log")
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the demo cannot find its own program, which it starts again as a worker: %w", err)
	}
	log, err := os.OpenFile(w.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("the log of %s cannot be written: %w", w.name, err)
	}
	defer log.Close() // the process has its own
	w.cmd = exec.Command(executable, "demo", "worker", "--orders", strconv.Itoa(len(d.orders)),
		"--service", c.url, "--name", w.name, "--slots", strconv.Itoa(d.slots()))
	w.cmd.Stderr = log
	w.cmd.Env = append(os.Environ(), databaseVar+"="+d.db.Secret())
	if w.stdin, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("%s cannot be started: %w", w.name, err)
	}
	c.workers[place] = w
	go func() {
		w.exit = w.cmd.Wait()
		close(w.exited)
		c.ended <- w
	}()
	return nil
}

// slots is how many requests one worker makes at a time: all of them together more
// than the service can take, so that it has to say no; but for a few orders only a
// few, so that there is something to see.
func (d *demo) slots() int {
	all := min(max(len(d.orders)/8, 4), 16)
	return (all + d.opt.Workers - 1) / d.opt.Workers
}

// kill kills one of the workers that have requests in flight, drawn by lot, as
// kill -9 does.
func (c *crew) kill(p progress) {
	var busy []*worker
	for _, w := range c.workers {
		if w.killedBy != "" {
			return // the last one that was killed has not been replaced yet
		}
		if p.inFlight[w.name] > 0 {
			busy = append(busy, w)
		}
	}
	if len(busy) == 0 {
		return
	}
	w := busy[rand.IntN(len(busy))]
	w.killedBy = fmt.Sprintf("kill -9 of %s: %s in flight, %s waiting to retry", w.called(),
		human.Plural(p.inFlight[w.name], "request", "requests"), human.Plural(p.waiting, "step", "steps"))
	_ = w.cmd.Process.Kill() // it may have ended already
}

// pids are the processes of the crew.
func (c *crew) pids() []string {
	pids := make([]string, len(c.workers))
	for i, w := range c.workers {
		pids[i] = strconv.Itoa(w.cmd.Process.Pid)
	}
	return pids
}

// end asks all workers to end, and kills those that take too long. They end by
// themselves if the parent dies: then their standard input ends as well.
func (c *crew) end() {
	const grace = 5 * time.Second
	for _, w := range c.workers {
		if w != nil {
			_ = w.stdin.Close()
			defer func(timer *time.Timer) { <-w.exited; timer.Stop() }(time.AfterFunc(grace, func() { _ = w.cmd.Process.Kill() }))
		}
	}
}

// called is what the news call the worker.
func (w *worker) called() string {
	if w.name == "worker" {
		return "the worker"
	}
	return w.name
}

// killed reports whether the process did not end by itself.
func (w *worker) killed() bool {
	exit, ok := errors.AsType[*exec.ExitError](w.exit)
	if !ok || w.killedBy != "" {
		return ok
	}
	status, ok := exit.Sys().(interface{ Signaled() bool })
	return ok && status.Signaled()
}

// failure is the error of a worker that ended by itself; nil if it did its work.
func (w *worker) failure() error {
	if w.exit == nil {
		return nil
	}
	e := &Error{What: fmt.Sprintf("The process of %s ended unexpectedly (%v).", w.called(), w.exit), Hint: "Its log has more: " + w.log}
	if text, err := os.ReadFile(w.log); err == nil {
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		e.What += " It says last: " + lines[len(lines)-1]
	}
	return e
}
