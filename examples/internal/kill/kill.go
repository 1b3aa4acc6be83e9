package kill

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const asExample = "PERDURE_RUN_EXAMPLE"

// Main runs the tests, or the example if this process was started by Start.
func Main(m *testing.M, example func()) {
	if os.Getenv(asExample) != "" {
		example()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Process is a life of an example.
type Process struct {
	cmd    *exec.Cmd
	output printed
	log    printed // what it wrote to stderr
	dead   chan struct{}
	err    error
	killed atomic.Bool
}

// Start starts the example. It is killed at the end of the test at the latest.
func Start(t *testing.T, args ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(os.Args[0], args...), dead: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asExample+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.dead)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Kill is kill -9. It returns when the process is dead.
func (p *Process) Kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.dead
}

// Terminate is SIGTERM, as a deploy sends it. The process ends when it likes.
func (p *Process) Terminate(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// Says waits for a line with a beginning, and returns its rest.
func (p *Process) Says(t *testing.T, beginning string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for line := range strings.Lines(p.output.String()) {
			if rest, ok := strings.CutPrefix(line, beginning); ok && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(rest)
			}
		}
	}
	t.Fatalf("the example did not say %q within a minute; it says\n%s%s", beginning, &p.output, &p.log)
	return ""
}

// printed is what a process has written so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// Output waits for the end of the process and returns what it printed; its log is shown
// only when it fails. A process that was not killed must have ended well.
func (p *Process) Output(t *testing.T) string {
	t.Helper()
	select {
	case <-p.dead:
	case <-time.After(time.Minute):
		p.Kill()
		t.Fatalf("the example did not end within a minute; it says\n%s%s", &p.output, &p.log)
	}
	if p.err != nil {
		t.Fatalf("the example ended with %v; it says\n%s%s", p.err, &p.output, &p.log)
	}
	return strings.ReplaceAll(p.output.String(), "\r\n", "\n")
}

// Service is the local service of an example, which kills its client at chosen
// requests: when the work is done and the answer has not been sent, which is the
// moment at which an engine knows least.
type Service struct {
	http.Handler
	At []int // the requests, counted from 1 over all lives

	mu       sync.Mutex
	requests int
	victim   *Process
}

// Strike says whom to kill.
func (s *Service) Strike(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.victim = p
}

// Requests returns how many requests have come.
func (s *Service) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// ServeHTTP serves, or kills instead of answering.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	victim := s.victim
	kill := slices.Contains(s.At, s.requests) && victim != nil
	s.mu.Unlock()
	if kill {
		w = &unheard{header: http.Header{}}
	}
	s.Handler.ServeHTTP(w, r)
	if kill {
		victim.Kill()
	}
}

// unheard is where an answer goes that is lost.
type unheard struct{ header http.Header }

func (u *unheard) Header() http.Header         { return u.header }
func (u *unheard) Write(b []byte) (int, error) { return len(b), nil }
func (u *unheard) WriteHeader(int)             {}

// Life starts the example and returns when the service has killed it.
func (s *Service) Life(t *testing.T, args ...string) {
	t.Helper()
	p := Start(t, args...)
	s.Strike(p)
	select {
	case <-p.dead:
	case <-time.After(time.Minute):
		t.Fatalf("the example made %d requests within a minute; it is to be killed at %v", s.Requests(), s.At)
	}
	if !p.killed.Load() {
		t.Fatalf("the example ended by itself (%v) after %d requests, before all of the kills at %v; it says\n%s", p.err, s.Requests(), s.At, p.output.String())
	}
}

// Lives starts the example, starts it again each time the service has killed it,
// and returns what the last life printed.
func (s *Service) Lives(t *testing.T, args ...string) string {
	t.Helper()
	for range s.At {
		s.Life(t, args...)
	}
	p := Start(t, args...)
	s.Strike(nil)
	return p.Output(t)
}
