//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/torture"
)

// TestE64_TheSecondInterruptEndsTheProcess: a command that cannot stop by itself, as
// nobody reads what it says, ends by the second interrupt.
func TestE64_TheSecondInterruptEndsTheProcess(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(asked) }))
	defer server.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ask.flow"), []byte("fn main(input: [url], output: [r]):\n    r = @http.get(url=url)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, dir, "flow", "run", "ask.flow", "--input", `{"url": "`+server.URL+`"}`)
	cmd.Stdout, cmd.Stderr = fullPipe(t), fullPipe(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	<-asked
	for signals := 0; ; {
		select {
		case <-ended:
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if signals < 2 || !status.Signaled() || status.Signal() != syscall.SIGINT {
				t.Errorf("after %d interrupts it has ended with %v", signals, cmd.ProcessState)
			}
			return
		case <-time.After(10 * time.Millisecond): // two signals that are close may be one
			if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			signals++
		}
	}
}

// TestP5_ATortureThatIsInterrupted ends early with the page, and leaves nothing.
func TestP5_ATortureThatIsInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t, dir, "torture", "--db", "t.db", "--for", "10m", "-o", "json")
	var page bytes.Buffer
	cmd.Stdout = &page
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(progress)
	if !lines.Scan() {
		t.Fatal("it shows no progress")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	err = cmd.Wait()
	var r torture.Report
	if broken := json.Unmarshal(page.Bytes(), &r); err != nil || broken != nil || !r.Interrupted || !r.Clean() {
		t.Errorf("it ends with %v and this page: %s", err, &page)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// fullPipe returns the end for writing of a pipe that takes nothing more.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close(); writer.Close() })
	for taken := 0; taken == 0; { // all it can take is written, unless the moment was over before
		if err := writer.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		taken, err = writer.Write(make([]byte, 1<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a pipe that nobody reads took a megabyte", err)
		}
	}
	return writer
}
