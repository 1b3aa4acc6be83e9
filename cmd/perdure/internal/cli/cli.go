package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/pflag"
)

// Env is the environment of a run of the command.
type Env struct {
	Args   []string // without the program name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
}

// Main runs the command and returns the exit code of the process.
func Main() int {
	// A reader that closes the pipe, such as head, is not an error. The signal would end
	// the process; if it is ignored, writing fails, and Run handles that.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends the process immediately.
	context.AfterFunc(ctx, stop)
	return Run(ctx, Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	})
}

// screen is where a run of the command reads and writes.
type screen struct {
	env    Env
	out    *bufio.Writer // standard output
	stdout term.Terminal // properties of standard output
	stderr term.Terminal
	format format // flag
}

// source is the database that a run of the command is about.
type source struct {
	scr     *screen
	named   string        // flag
	codec   string        // flag
	creates bool          // the database is made if it is a file that is not there
	every   time.Duration // how often what is shown is shown again; 0: once

	groupFlag *pflag.Flag
}

// Run runs the command and returns its exit code.
func Run(ctx context.Context, env Env) int {
	scr := &screen{
		env: env, out: bufio.NewWriter(env.Stdout), format: formatTable,
		stdout: term.Detect(env.Stdout, env.Getenv), stderr: term.Detect(env.Stderr, env.Getenv),
	}
	db := &source{scr: scr}
	root := rootCommand(scr, db)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if failed := scr.out.Flush(); failed != nil && !term.IsBrokenPipe(failed) {
		err = errors.Join(err, failed)
	}
	if err == nil || term.IsBrokenPipe(err) {
		return exitOK
	}
	e := explain(scr, ctx, err)
	scr.complain(e)
	return e.Code
}
