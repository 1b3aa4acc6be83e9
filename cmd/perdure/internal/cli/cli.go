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

// Env is what surrounds a run of the command.
type Env struct {
	Args   []string // without the name of the program
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time
}

// Main runs the command in its process and returns the exit code.
func Main() int {
	// A reader that has seen enough, such as head, is no error. The signal would
	// end the process; without it writing fails, and Run knows what that means.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second interrupt ends the process immediately.
	context.AfterFunc(ctx, stop)
	return Run(ctx, Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	})
}

// app is one run of the command.
type app struct {
	env    Env
	out    *bufio.Writer // standard output
	stdout term.Terminal // what standard output is
	stderr term.Terminal
	db     string // flag
	codec  string // flag
	format format // flag

	groupFlag *pflag.Flag
}

// Run runs the command and returns its exit code.
func Run(ctx context.Context, env Env) int {
	a := &app{
		env: env, out: bufio.NewWriter(env.Stdout), format: formatTable,
		stdout: term.Detect(env.Stdout, env.Getenv), stderr: term.Detect(env.Stderr, env.Getenv),
	}
	root := a.root()
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if failed := a.out.Flush(); failed != nil && !term.IsBrokenPipe(failed) {
		err = errors.Join(err, failed)
	}
	if err == nil || term.IsBrokenPipe(err) {
		return exitOK
	}
	e := a.explain(ctx, err)
	a.complain(e)
	return e.Code
}
