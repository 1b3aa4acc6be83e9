package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/workload"
)

// options are what the command line says.
type options struct {
	only, stores, systems []string // nil: all
	repeat, runs, grown   int
	scale                 workload.Scale
	dir                   string
	from                  string
	json, markdown, page  string
	cpuProfile            string
	memProfile            string
	mutexProfile          string
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errOut)
	list := func(into *[]string, name, usage string) {
		f.Func(name, usage, func(s string) error {
			for name := range strings.SplitSeq(s, ",") { // names of systems have spaces
				if name = strings.TrimSpace(name); name != "" {
					*into = append(*into, name)
				}
			}
			return nil
		})
	}
	list(&o.only, "only", "`workloads` to run, such as W1,W3; without it all but drivers, growth, nodes and pages")
	list(&o.stores, "store", "`databases` to run on: sqlite, postgres, memory; without it all")
	list(&o.systems, "system", "`systems` to run: perdure, floor, River; without it all")
	f.IntVar(&o.repeat, "repeat", 5, "`rounds`; medians are reported")
	f.IntVar(&o.runs, "n", 0, "`workflows` of W1 (default: as many as take 3 s)")
	f.IntVar(&o.grown, "growth", 0, "`runs` that sleep in the workload growth, and as many that have ended; those of the workload pages (default 1,000,000)")
	short := f.Bool("short", false, "one small round: it shows that everything works, its figures mean little")
	f.StringVar(&o.dir, "dir", os.TempDir(), "`directory` on a disk for the databases")
	f.StringVar(&o.json, "o", "", "`file` for all samples as JSON")
	f.StringVar(&o.markdown, "markdown", "", "`document` into which the tables are written, between its markers")
	f.StringVar(&o.page, "page", "", "`document` into which pictures and figures are written, between its markers; the pictures go to pictures beside it")
	f.StringVar(&o.from, "from", "", "`file` of an earlier -o, whose figures are written; nothing is measured")
	f.StringVar(&o.cpuProfile, "cpuprofile", "", "`file` for a CPU profile")
	f.StringVar(&o.memProfile, "memprofile", "", "`file` for a profile of allocations")
	f.StringVar(&o.mutexProfile, "mutexprofile", "", "`file` for a profile of waits for locks")
	f.Usage = func() {
		fmt.Fprint(errOut, usage())
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *short {
		o.scale, o.repeat = workload.Short, 1
	}
	return o, o.validate(f)
}

func usage() string {
	var b strings.Builder
	b.WriteString(`Bench measures perdure beside the floor (the least that durable steps can cost)
and beside River and DBOS, on SQLite and PostgreSQL.

    go run . [flags]

Workloads:
`)
	for _, p := range plans(workload.Full, 0, 0) {
		fmt.Fprintf(&b, "  %-8s %s\n", p.About().Name, p.About().Title)
	}
	b.WriteString("\nFlags:\n")
	return b.String()
}

func (o *options) validate(f *flag.FlagSet) error {
	if f.NArg() > 0 {
		return fmt.Errorf("bench takes flags only, and %q is none", f.Arg(0))
	}
	if o.repeat < 1 || o.runs < 0 || o.grown < 0 {
		return fmt.Errorf("-repeat must be at least 1, and -n and -growth at least 0")
	}
	for _, s := range o.stores {
		if !slices.Contains(place.Kinds, place.Kind(s)) {
			return fmt.Errorf("-store %s: there are sqlite, postgres and memory", s)
		}
	}
	return nil
}

// takes reports whether a list names something; a list that is not given names
// everything.
func takes(list []string, name string) bool {
	return list == nil || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}
