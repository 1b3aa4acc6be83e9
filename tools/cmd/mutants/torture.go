package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// torturers is what perdure torture is asked to look for the faults in.
type torturers struct {
	root string        // of the module
	url  string        // of the database
	long time.Duration // for each fault, at most
}

// rounds are how the time for a fault is spent: most faults show soon.
func (l *torturers) rounds() (all []time.Duration) {
	for next, left := 20*time.Second, l.long; left > 0; next *= 3 {
		all = append(all, min(next, left))
		left -= next
	}
	return all
}

// run lets perdure torture look for each of the faults and prints which it found.
func (l *torturers) run(ctx context.Context, out io.Writer, faults []protocolFault) error {
	var alive []string
	for i := range faults {
		f := &faults[i]
		began := time.Now()
		found, err := l.try(ctx, f)
		if err != nil {
			return err
		}
		took := time.Since(began).Round(time.Second)
		if found == "" {
			alive = append(alive, f.name)
			found = "NOT FOUND"
		}
		fmt.Fprintf(out, "%2d/%d %s\n\t%s, in %s\n", i+1, len(faults), f.name, found, took)
	}
	fmt.Fprintf(out, "\n%d of %d found.\n", len(faults)-len(alive), len(faults))
	if len(alive)*10 > len(faults) {
		return fmt.Errorf("more than one in ten was not found: %q", alive)
	}
	return nil
}

// try builds the command with a fault and returns what perdure torture finds.
func (l *torturers) try(ctx context.Context, f *protocolFault) (found string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	program, err := l.build(ctx, dir, f)
	if err != nil {
		return "", err
	}
	for seed, long := range l.rounds() {
		if found, err = l.torture(ctx, program, long, seed+1); found != "" || err != nil {
			return found, err
		}
	}
	return "", nil
}

func (l *torturers) build(ctx context.Context, dir string, f *protocolFault) (program string, err error) {
	files, err := f.applied(l.root)
	if err != nil {
		return "", err
	}
	overlay, err := overlaid(l.root, dir, files)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, "perdure")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "./cmd/perdure")
	cmd.Dir = l.root
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", f.name, err, said)
	}
	return program, nil
}

// tortured is as much of the page as is told here.
type tortured struct {
	Lost, Doubled, Orphaned, Wrong int
	Findings                       []struct{ Kind, What string }
}

// torture runs perdure torture and returns what it found, "" for nothing.
func (l *torturers) torture(ctx context.Context, program string, long time.Duration, seed int) (string, error) {
	limited, cancel := context.WithTimeout(ctx, long+10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limited, program, "torture", "--db", l.url, "--for", long.String(), "--seed", strconv.Itoa(seed), "-o", "json")
	endsWhole(cmd)
	page, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "the torture does not end", nil
	case err == nil:
		return "", nil
	}
	var t tortured
	if json.Unmarshal(page, &t) != nil { // it has ended without a page
		if exit, is := errors.AsType[*exec.ExitError](err); is {
			return fmt.Sprintf("no page: %s", clip(tail(exit.Stderr))), nil
		}
		return "", err
	}
	first := ""
	if len(t.Findings) > 0 {
		first = ", the first: " + clip(t.Findings[0].What)
	}
	return fmt.Sprintf("%d lost, %d doubled, %d orphaned, %d wrong%s", t.Lost, t.Doubled, t.Orphaned, t.Wrong, first), nil
}
