package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// runSteps runs the steps one after the other and reports each. Those that may run
// beside the step before them begin with that, and are reported in their turn.
func runSteps(ctx context.Context, sh *shell, steps []step, keepGoing bool) int {
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	var failed []string
	done := 0
	var beside []*running // with this step
	for i, s := range steps {
		if s.streams {
			fmt.Fprintf(sh.out, "----  %s: %s\n", s.name, s.what)
		}
		var took time.Duration
		var err error
		if len(beside) > 0 {
			took, err = beside[0].wait(sh)
			beside = beside[1:]
		} else {
			for _, next := range steps[i+1:] {
				if !next.beside {
					break
				}
				beside = append(beside, begin(all, sh, next))
			}
			stepBegan := time.Now()
			err = s.run(all, sh)
			took = time.Since(stepBegan)
		}
		took = took.Round(10 * time.Millisecond)
		done++
		if err == nil {
			fmt.Fprintf(sh.out, "ok    %-12s %8s  %s\n", s.name, took, s.what)
			continue
		}
		failed = append(failed, s.name)
		report(sh.out, s, took, err)
		if ctx.Err() != nil || !keepGoing {
			break
		}
	}
	cancel() // its result no longer matters
	for _, b := range beside {
		<-b.done
	}

	took := time.Since(began).Round(100 * time.Millisecond)
	for _, n := range sh.notices {
		fmt.Fprintf(sh.out, "note  %s\n", n)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(sh.out, "Interrupted after %s.\n", took)
		return 1
	case len(failed) > 0:
		fmt.Fprintf(sh.out, "FAILED after %s: %s. %d of %d steps ran.\n", took, strings.Join(failed, ", "), done, len(steps))
		return 1
	}
	fmt.Fprintf(sh.out, "All %d steps passed in %s.\n", done, took)
	return 0
}

// running is a step that runs beside another one. What it says is kept until it is
// its turn to be reported.
type running struct {
	shell shell
	said  bytes.Buffer
	took  time.Duration
	err   error
	done  chan struct{}
}

func begin(ctx context.Context, sh *shell, s step) *running {
	r := &running{done: make(chan struct{})}
	r.shell = shell{root: sh.root, out: &r.said, verbose: sh.verbose}
	go func() {
		defer close(r.done)
		began := time.Now()
		r.err = s.run(ctx, &r.shell)
		r.took = time.Since(began)
	}()
	return r
}

// wait waits for the end of the step and shows what it said.
func (r *running) wait(sh *shell) (time.Duration, error) {
	<-r.done
	_, _ = r.said.WriteTo(sh.out)
	sh.notices = append(sh.notices, r.shell.notices...)
	return r.took, r.err
}

// report prints what a failed step said and how to see it again.
func report(out io.Writer, s step, took time.Duration, err error) {
	fmt.Fprintf(out, "FAIL  %-12s %8s  %s\n", s.name, took, s.what)
	for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
		fmt.Fprintf(out, "      %s\n", line)
	}
	if cmd, ok := errors.AsType[*commandError](err); ok {
		fmt.Fprintf(out, "      Again: %s\n", cmd.line)
	}
	fmt.Fprintf(out, "      Again, the whole step: go run ./internal/check -only %s\n", s.name)
}
