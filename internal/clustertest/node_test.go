package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/witness"
)

// node is a process as the parent sees it.
type node struct {
	t     *testing.T
	label string // how it signs in the book
	name  string // by which other nodes know it
	calls *rpc.Client
	said  *output
	cmd   *exec.Cmd
	dead  chan struct{} // closed when the process is gone
	err   error         // of its end, once dead
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// spawn starts a process of a program that is going to be a node.
func spawn(t *testing.T, label, program string) *node {
	t.Helper()
	n := &node{t: t, label: label, said: &output{}, cmd: exec.Command(program), dead: make(chan struct{})}
	n.cmd.Env = append(os.Environ(), envNode+"=1")
	n.cmd.Stderr = n.said
	dieWithUs(n.cmd)
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A pipe of our own: that of StdoutPipe is closed before everything is read.
	stdout, hers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	n.cmd.Stdout = hers
	begun := make(chan error)
	go func() {
		// The kernel tells a process of the end of the thread that started it.
		runtime.LockOSThread()
		err := n.cmd.Start()
		hers.Close()
		begun <- err
		if err == nil {
			n.err = n.cmd.Wait()
		}
		close(n.dead)
	}()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	n.calls = rpc.NewClient(pipes{stdout, stdin})
	t.Cleanup(n.kill) // whatever happens to the test
	return n
}

// pipes are how the parent speaks to a node.
type pipes struct {
	*os.File
	stdin io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.stdin.Close(), p.File.Close()) }

// open makes the process a node.
func (n *node) open(s Setup) error {
	s.Label = n.label
	n.name = s.Name
	if n.name == "" {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		n.name = fmt.Sprintf("%s:%d", host, n.cmd.Process.Pid)
	}
	return n.calls.Call("Node.Open", s, &struct{}{})
}

// kill is kill -9.
func (n *node) kill() {
	_ = n.cmd.Process.Kill() // it may be dead already
	<-n.dead
	n.calls.Close()
}

// leave stops the node in good order, and returns when its process is gone.
func (n *node) leave(patience time.Duration) error {
	err := n.calls.Call("Node.Stop", patience, &struct{}{})
	n.calls.Close()
	<-n.dead
	return errors.Join(err, n.err)
}

// health is what the node says of itself.
func (n *node) health() string {
	n.t.Helper()
	var problem string
	if err := n.calls.Call("Node.Health", struct{}{}, &problem); err != nil {
		n.t.Fatalf("node %s: %v\n%s", n.label, err, n.said)
	}
	return problem
}

// Start, Signal and Result make a node a witness.Relay.
func (n *node) Start(shape, id string, v int) (run string, err error) {
	err = n.calls.Call("Node.Start", Request{Shape: shape, ID: id, Value: v}, &run)
	return run, err
}

func (n *node) Signal(id string, v int) error {
	return n.calls.Call("Node.Signal", Request{ID: id, Value: v}, &struct{}{})
}

func (n *node) Result(id string) (v int, err error) {
	err = n.calls.Call("Node.Result", id, &v)
	return v, err
}

var _ witness.Relay = (*node)(nil)

// never are words in lines that no node may write, whatever is done to it.
var never = []string{
	"panic", "DATA RACE", "goroutine ", "fatal", "node:", "took its place", "is held", "is parked", "cannot go on",
	"is left in the inbox", "is dropped", "refused the turn",
}

// complaints are the lines a node must never write.
func (n *node) complaints() []string {
	var found []string
	for line := range strings.SplitSeq(n.said.String(), "\n") {
		for _, word := range never {
			if strings.Contains(line, word) {
				found = append(found, line)
				break
			}
		}
	}
	return found
}
