package torture

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/perdure/perdure/internal/witness"
)

// Process is a process of ours as the parent sees it. It becomes a node, a worker of queues or
// both when it is told to Open.
type Process struct {
	Label string        // how it signs in the book
	Name  string        // by which other nodes know it, once it was told to open
	Dead  chan struct{} // closed when the process is gone
	Err   error         // of its end, once dead

	calls *rpc.Client
	cmd   *exec.Cmd
	said  *output
}

// Spawn starts a process that calls Serve. What it writes to its standard error is kept, and
// which lines of it are complaints is decided by the function: see IsComplaint.
func Spawn(label string, cmd *exec.Cmd, isComplaint func(line string) bool) (*Process, error) {
	p := &Process{Label: label, said: &output{isComplaint: isComplaint}, cmd: cmd, Dead: make(chan struct{})}
	p.cmd.Stderr = p.said
	dieWithUs(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: that of StdoutPipe is closed before everything is read.
	stdout, its, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = its
	begun := make(chan error)
	go func() {
		// The kernel tells a process of the end of the thread that started it.
		runtime.LockOSThread()
		err := p.cmd.Start()
		its.Close()
		begun <- err
		if err == nil {
			p.Err = p.cmd.Wait()
		}
		close(p.Dead)
	}()
	if err := <-begun; err != nil {
		return nil, errors.Join(err, stdout.Close())
	}
	p.calls = rpc.NewClient(pipes{stdout, stdin})
	return p, nil
}

// pipes are how the parent speaks to a process.
type pipes struct {
	*os.File
	stdin io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.stdin.Close(), p.File.Close()) }

// Open makes the process what the setup says.
func (p *Process) Open(s Setup) error {
	s.Label = p.Label
	p.Name = s.Name
	if p.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		p.Name = fmt.Sprintf("%s:%d", host, p.cmd.Process.Pid)
	}
	return p.calls.Call("Node.Open", s, &struct{}{})
}

// Kill is kill -9.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be dead already
	<-p.Dead
	p.calls.Close()
}

// Leave stops the process in good order, and returns when it is gone.
func (p *Process) Leave(patience time.Duration) error {
	err := p.calls.Call("Node.Stop", patience, &struct{}{})
	p.calls.Close()
	<-p.Dead
	return errors.Join(err, p.Err)
}

// Health is what the process says of itself: empty if nothing keeps it from working.
func (p *Process) Health() (problem string, err error) {
	err = p.calls.Call("Node.Health", struct{}{}, &problem)
	return problem, err
}

// Start starts a run. With Signal and Result it makes a process a witness.Relay.
func (p *Process) Start(shape, id string, v int) (run string, err error) {
	err = p.calls.Call("Node.Start", Request{Shape: shape, ID: id, Value: v}, &run)
	return run, err
}

// Signal sends a run its numbered signal.
func (p *Process) Signal(id string, v int) error {
	return p.calls.Call("Node.Signal", Request{ID: id, Value: v}, &struct{}{})
}

// Result waits for a run.
func (p *Process) Result(id string) (v int, err error) {
	err = p.calls.Call("Node.Result", id, &v)
	return v, err
}

var _ witness.Relay = (*Process)(nil)

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Complaints are the lines that the process must never write.
func (p *Process) Complaints() []string { return p.said.complaints() }

// Said is what the process has written to its standard error, of much the end.
func (p *Process) Said() string { return p.said.String() }
