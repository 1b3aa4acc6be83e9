package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// shell runs commands in the root of the module.
type shell struct {
	root    string
	out     io.Writer
	verbose bool
	notices []string // said at the end: what this run did not prove
}

// command is one command line: settings of the environment, then arguments.
type command struct {
	env  []string
	args []string
}

// cmd makes a command. Leading arguments of the form NAME=value are settings of
// the environment, as in a shell.
func cmd(args ...string) command {
	n := 0
	for n < len(args) && isSetting(args[n]) {
		n++
	}
	return command{env: args[:n], args: args[n:]}
}

func isSetting(arg string) bool {
	name, _, found := strings.Cut(arg, "=")
	return found && name != "" && name == strings.ToUpper(name) && !strings.HasPrefix(name, "-")
}

// String is the command as one would type it.
func (c command) String() string {
	var words []string
	for _, w := range append(append([]string{}, c.env...), c.args...) {
		if strings.ContainsAny(w, " $^*|&;<>()'\"\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// commandError is a command that failed, with what it said.
type commandError struct {
	line   string
	output string
	cause  error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("%s%s: %v", e.output, e.line, e.cause)
}

func (e *commandError) Unwrap() error { return e.cause }

// quiet runs a command and returns what it wrote on both its outputs.
func (sh *shell) quiet(ctx context.Context, c command) (string, error) {
	var said bytes.Buffer
	var w io.Writer = &said
	if sh.verbose {
		w = io.MultiWriter(&said, sh.out)
	}
	err := sh.run(ctx, c, w, w)
	if err == nil {
		return said.String(), nil
	}
	output := said.String()
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return said.String(), &commandError{line: c.String(), output: output, cause: err}
}

// stdout runs a command and returns only what it wrote on its standard output;
// the other one, where the go command tells of its downloads, goes with errors.
func (sh *shell) stdout(ctx context.Context, c command) (string, error) {
	var out, said bytes.Buffer
	if err := sh.run(ctx, c, &out, &said); err != nil {
		return out.String(), &commandError{line: c.String(), output: out.String() + said.String(), cause: err}
	}
	return out.String(), nil
}

// stream runs a command, shows what it says while it says it, and returns that.
func (sh *shell) stream(ctx context.Context, c command) (string, error) {
	fmt.Fprintf(sh.out, "      %s\n", c)
	var said bytes.Buffer
	w := io.MultiWriter(&said, sh.out)
	if err := sh.run(ctx, c, w, w); err != nil {
		return said.String(), &commandError{line: c.String(), cause: err}
	}
	return said.String(), nil
}

func (sh *shell) run(ctx context.Context, c command, stdout, stderr io.Writer) error {
	p := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	p.Dir = sh.root
	p.Env = append(os.Environ(), c.env...)
	p.Stdout, p.Stderr = stdout, stderr
	// An interrupt gives the go command time to stop its own children.
	p.Cancel = func() error { return p.Process.Signal(os.Interrupt) }
	p.WaitDelay = 5 * time.Second
	return p.Run()
}

// notice remembers a sentence for the end of the run.
func (sh *shell) notice(format string, args ...any) {
	sh.notices = append(sh.notices, fmt.Sprintf(format, args...))
}
