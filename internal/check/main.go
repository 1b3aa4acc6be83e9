package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags of one run.
type options struct {
	only      string
	quick     bool
	list      bool
	keepGoing bool
	verbose   bool
	fuzzTime  time.Duration
	fuzzTotal time.Duration
}

// run is main with its surroundings as arguments. It returns the exit code: 0
// when every step passed, 1 when one failed, 2 when the flags made no sense.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var opt options
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&opt.only, "only", "", "run only these steps, separated by commas (-list names them)")
	flags.BoolVar(&opt.quick, "quick", false, "run the short form for every day; before a commit lands, run the whole")
	flags.BoolVar(&opt.list, "list", false, "list the steps and what each proves, and stop")
	flags.BoolVar(&opt.keepGoing, "k", false, "go on after a failure")
	flags.BoolVar(&opt.verbose, "v", false, "show the output of steps that pass, too")
	flags.DurationVar(&opt.fuzzTime, "fuzztime", 5*time.Second, "how long to run each fuzz target")
	flags.DurationVar(&opt.fuzzTotal, "fuzztotal", 30*time.Second, "the most that all fuzz targets together may take; each gets its share")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(errOut, "check: it takes no arguments, only flags, and does not know what to do with %q.\n", flags.Arg(0))
		return 2
	}
	if opt.fuzzTime <= 0 || opt.fuzzTotal <= 0 {
		fmt.Fprintln(errOut, "check: -fuzztime and -fuzztotal must be longer than 0.")
		return 2
	}

	steps := allSteps(opt)
	if opt.quick {
		steps = quickSteps(opt)
	}
	if opt.list {
		for _, s := range steps {
			fmt.Fprintf(out, "%-12s %s\n", s.name, s.what)
		}
		return 0
	}
	steps, err := choose(steps, opt.only)
	if err != nil {
		fmt.Fprintf(errOut, "check: %v\n", err)
		return 2
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		fmt.Fprintf(errOut, "check: %v\n", err)
		return 2
	}
	sh := &shell{root: root, out: out, verbose: opt.verbose}
	return runSteps(ctx, sh, steps, opt.keepGoing)
}

// choose keeps the steps named in only, in the order they always run in.
func choose(steps []step, only string) ([]step, error) {
	if only == "" {
		return steps, nil
	}
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no step %q. The steps are: %s.", name, strings.Join(names, ", "))
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return !wanted[s.name] }), nil
}

// moduleRoot is the directory of the go.mod that governs the current directory.
func moduleRoot(ctx context.Context) (string, error) {
	found, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("the go command could not be asked where the module is: %w", err)
	}
	gomod := strings.TrimSpace(string(found))
	if filepath.Base(gomod) != "go.mod" {
		return "", errors.New("run it inside the repository: there is no go.mod here or above.")
	}
	return filepath.Dir(gomod), nil
}
