package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// child is a process of the demo that runs.
type child struct {
	name    string
	cmd     *exec.Cmd
	stdin   io.Closer
	logFile string

	reports chan report   // closed when nothing more comes
	exited  chan struct{} // closed when the process has ended
	exit    error         // then: how, nil for a good end
}

// spawn starts this executable as another process of the demo. What it writes to
// its standard error, panics included, goes to the log. env is added to its
// environment.
func spawn(executable, name, log string, env []string, args ...string) (*child, error) {
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the log of the %s cannot be written: %w", name, err)
	}
	defer file.Close() // the child has its own
	c := &child{name: name, logFile: log, reports: make(chan report, 256), exited: make(chan struct{})}
	c.cmd = exec.Command(executable, args...)
	c.cmd.Stderr = file
	c.cmd.Env = append(os.Environ(), env...)
	c.stdin, err = c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be started: %w", name, err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be started: %w", name, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the %s cannot be started: %w", name, err)
	}
	go c.follow(stdout)
	return c, nil
}

// follow passes the reports on until the process has ended.
func (c *child) follow(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var r report
		// A line that was cut by a kill is no report.
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			c.reports <- r
		}
	}
	close(c.reports)
	c.exit = c.cmd.Wait()
	close(c.exited)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// kill ends the process as kill -9 does, and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended already
	c.wait(0)
}

// end asks the process to end by itself, and kills it if it does not.
func (c *child) end(grace time.Duration) {
	_ = c.stdin.Close()
	c.wait(grace)
}

// wait returns when the process has ended; after the grace, which may be 0 for
// none, it is killed. Reports that nobody reads any more are dropped.
func (c *child) wait(grace time.Duration) {
	if grace > 0 {
		timer := time.AfterFunc(grace, func() { _ = c.cmd.Process.Kill() })
		defer timer.Stop()
	}
	for range c.reports {
	}
	<-c.exited
}

// wasKilled reports whether a signal ended the process: not it, but somebody else
// decided.
func (c *child) wasKilled() bool {
	exit, ok := errors.AsType[*exec.ExitError](c.exit)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(interface{ Signaled() bool })
	return ok && status.Signaled()
}

// ChildError says that a process of the demo ended although nobody asked it to.
type ChildError struct {
	Name    string
	Message string // of the process itself, may be empty
	Exit    error  // of package exec
	Log     string // its file
}

func (e *ChildError) Error() string {
	text := fmt.Sprintf("The %s process ended by itself", e.Name)
	if e.Exit != nil {
		text += fmt.Sprintf(" (%v)", e.Exit)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return strings.TrimSuffix(text, ".") + "."
}

// failure is the error of a child that has ended without being asked to.
func (c *child) failure(message string) error {
	return &ChildError{Name: c.name, Message: message, Exit: c.exit, Log: c.logFile}
}
