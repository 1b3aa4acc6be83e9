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

// app is one run of the command.
type app struct {
	env     Env
	out     *bufio.Writer // standard output
	stdout  term.Terminal // properties of standard output
	stderr  term.Terminal
	db      string // flag
	codec   string // flag
	creates bool   // the database is made if it is a file that is not there
	format  format // flag

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
