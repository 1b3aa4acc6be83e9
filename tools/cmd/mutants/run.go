package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// verdict is what became of a mutant.
type verdict struct {
	Killer string // the test that found it, or how else it was found; empty: it lives
	None   bool   // it does not compile
	Took   time.Duration
}

// lab tries mutants.
type lab struct {
	root    string // of the module
	patient time.Duration
}

// simulator plays whole worlds, many in a second, and engine is where the promises of all rooms meet.
const (
	simulator = "internal/sim"
	engine    = "internal/engine"
)

// try lets tests look for a mutant: those of its own package, then the simulator, then the engine.
func (l *lab) try(ctx context.Context, m mutant) (v verdict, err error) {
	began := time.Now()
	defer func() { v.Took = time.Since(began) }()
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(dir)
	source, err := os.ReadFile(filepath.Join(l.root, filepath.FromSlash(m.File)))
	if err != nil {
		return v, err
	}
	overlay, err := overlaid(l.root, dir, map[string][]byte{m.File: m.applied(source)})
	if err != nil {
		return v, err
	}
	room := filepath.ToSlash(filepath.Dir(m.File))
	for _, where := range slices.Compact([]string{room, simulator, engine}) {
		said, failed := l.test(ctx, dir, overlay, where)
		switch {
		case ctx.Err() != nil:
			return v, ctx.Err()
		case failed == nil:
			continue
		case bytes.Contains(said, []byte("[build failed]")), bytes.Contains(said, []byte("[setup failed]")):
			v.None = true
		default:
			v.Killer = killer(string(said))
			if where != room {
				v.Killer += " (" + where + ")"
			}
			if v.Killer == "" {
				return v, fmt.Errorf("go test ended with %w and named no test:\n%s", failed, tail(said))
			}
		}
		return v, nil
	}
	return v, nil
}

// test runs the tests of a package with a fault. All that it starts ends with it.
func (l *lab) test(ctx context.Context, dir, overlay, where string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.patient+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-short", "-failfast", "-vet=off", "-timeout", l.patient.String(), "./"+where)
	cmd.Dir = l.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "TMPDIR="+dir)
	endsWhole(cmd)
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// overlaid writes files, by their names in the module, beside an overlay that puts them in the place of
// those of the module.
func overlaid(root, dir string, files map[string][]byte) (overlay string, err error) {
	replace := map[string]string{}
	for file, source := range files {
		changed := filepath.Join(dir, fmt.Sprint(len(replace), ".go"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = changed
		if err := os.WriteFile(changed, source, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// endsWhole lets all that a command starts end with it.
func endsWhole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

var (
	fails   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^running tests:\n\s+(\S+)`)
	traced  = regexp.MustCompile(`(?m)^\S*\.(Test\w+)[.(]`)
)

// killer names the test that has found a fault, by what go test said.
func killer(said string) string {
	timedOut := strings.Contains(said, "panic: test timed out")
	if all := fails.FindAllStringSubmatch(said, -1); all != nil && !timedOut {
		return all[len(all)-1][1] // the innermost
	}
	for _, r := range []*regexp.Regexp{running, traced} {
		if found := r.FindStringSubmatch(said); found != nil {
			if timedOut {
				return found[1] + ", which did not end"
			}
			return found[1] + ", which panicked"
		}
	}
	switch {
	case strings.Contains(said, "fatal error: "), strings.Contains(said, "panic: "):
		return "a crash of the tests"
	case strings.Contains(said, "signal: killed"):
		return "tests that did not end"
	}
	return ""
}

func tail(said []byte) string {
	const most = 2000
	return string(said[max(0, len(said)-most):])
}
