package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/report"
	"github.com/perdure/perdure/bench/internal/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	life, err := workload.Given()
	switch {
	case err != nil:
	case life != nil:
		err = life.Lead(ctx, slices.Concat(systems(), libraries()), os.Stdout)
	default:
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the whole command. Tables go to out, progress to errOut. A workload that
// fails has no table.
func run(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	if o.from != "" {
		r, err := report.ReadJSON(o.from)
		if err != nil {
			return err
		}
		return save(r, o)
	}
	chosen, err := choose(plans(o.scale, o.runs, o.grown), o)
	if err != nil {
		return err
	}
	places, err := place.New(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, places.Close()) }()

	r := report.Report{}
	if r.Machine, err = report.Look(ctx, places, slices.ContainsFunc(chosen, onPostgres)); err != nil {
		return err
	}
	profiles, err := startProfiles(o)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range chosen {
		table, err := measure(ctx, places, p, o.repeat, errOut)
		if err != nil {
			failed = append(failed, err)
			if ctx.Err() != nil {
				break
			}
			continue // the others are measured nevertheless
		}
		r.Tables = append(r.Tables, table)
		fmt.Fprintf(out, "## %s: %s\n\n%s\n", table.Workload, table.Title, table.Markdown())
	}
	fmt.Fprintln(out, r.Machine.Markdown())
	return errors.Join(append(failed, profiles.write(), save(r, o))...)
}

// save writes the files that were asked for.
func save(r report.Report, o options) error {
	if o.json != "" {
		if err := r.WriteJSON(o.json); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		if err := r.WriteInto(o.markdown); err != nil {
			return err
		}
	}
	if o.page != "" {
		return illustrate(r, o.page)
	}
	return nil
}
