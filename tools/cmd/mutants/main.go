package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// rooms are those whose lines order commit and effect, fence, tell twice from once, count, and
// say when something is due and who is next.
var rooms = []string{
	"internal/core", "internal/commit", "internal/mailbox", "internal/member", "internal/message", "internal/attempt",
	"internal/dispatch", "internal/post", "internal/placement", "internal/suspects", "internal/suspicion", "internal/sweep", "internal/workers", "internal/gates", "internal/steptx", "internal/request", "internal/engine",
	"gate", "retry", "schedule", "store/memory",
}

// equivalents are the faults that change nothing that anybody can see: a name and, after " | ",
// the reason.
//
//go:embed equivalent.txt
var equivalents string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	n := flags.Int("n", 240, "how `many` faults are planted")
	seed := flags.Uint64("seed", 1, "which sample it is")
	room := flags.String("room", "", "plant in one `directory` only")
	only := flags.String("only", "", "plant those only whose name has this `text`")
	list := flags.Bool("list", false, "name the faults and plant none")
	torture := flags.String("torture", "", "let perdure torture look for planted faults of the protocol, on the database with this `URL`")
	long := flags.Duration("for", 10*time.Minute, "how long it may look for each")
	patient := flags.Duration("timeout", 4*time.Minute, "after this time tests that do not end have found it")
	lanes := flags.Int("lanes", runtime.NumCPU(), "how `many` are tried beside each other")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := module(ctx)
	if err != nil {
		return err
	}
	if *torture != "" {
		l := &torturers{root: root, url: *torture, long: *long}
		return l.run(ctx, out, named(*only))
	}
	known, err := reasons(equivalents)
	if err != nil {
		return err
	}
	chosen := rooms
	if *room != "" {
		chosen = []string{strings.Trim(filepath.ToSlash(filepath.Clean(*room)), "/")}
	}
	sample, all, err := sampled(root, chosen, *seed, *n, *only)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d of %d faults, seed %d.\n", len(sample), all, *seed)
	if *list {
		for _, m := range sample {
			fmt.Fprintf(out, "%s:%d %s: %s\n", m.File, m.Line, m.Fault, clip(m.Was))
		}
		return nil
	}
	l := &lab{root: root, patient: *patient}
	var mu sync.Mutex // of score and out
	var score tally
	tries, ctx := errgroup.WithContext(ctx)
	tries.SetLimit(max(*lanes, 1)) // one compiles while another is tested
	for i, m := range sample {
		tries.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v, err := l.try(ctx, m)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(out, "%3d/%d %s:%d %s: %s\n\t%s\n", i+1, len(sample), m.File, m.Line, m.Fault, clip(m.Was), score.add(m, v, known))
			return nil
		})
	}
	if err := tries.Wait(); err != nil {
		return err
	}
	return score.end(out)
}

// tally counts verdicts.
type tally struct {
	killed, none, equivalent int
	alive                    []mutant
}

// add counts a verdict and says it.
func (s *tally) add(m mutant, v verdict, known map[string]string) string {
	took := v.Took.Round(time.Second)
	switch reason, is := known[m.name()]; {
	case v.None:
		s.none++
		return "does not compile"
	case v.Killer != "" && is:
		s.killed++
		return fmt.Sprintf("KILLED by %s in %s, though it is said to change nothing: %s", v.Killer, took, reason)
	case v.Killer != "":
		s.killed++
		return fmt.Sprintf("killed by %s in %s", v.Killer, took)
	case is:
		s.equivalent++
		return "lives, and changes nothing: " + reason
	}
	s.alive = append(s.alive, m)
	return fmt.Sprintf("LIVES after %s. In its place: %s", took, cmp.Or(clip(m.Is), "nothing"))
}

func (s *tally) end(out io.Writer) error {
	fmt.Fprintf(out, "\n%d killed, %d live, %d change nothing, %d do not compile.\n", s.killed, len(s.alive), s.equivalent, s.none)
	if len(s.alive) == 0 {
		return nil
	}
	for _, m := range s.alive {
		fmt.Fprintf(out, "%s:%d\n\t%s\n", m.File, m.Line, m.name())
	}
	return fmt.Errorf("%d faults live: write a test that finds each, or give the reason why it changes nothing in equivalent.txt", len(s.alive))
}

// sampled returns a number of mutants of the rooms, each room with a share as large as its code.
func sampled(root string, rooms []string, seed uint64, n int, only string) (sample []mutant, all int, err error) {
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(room), "*.go"))
		if err != nil {
			return nil, 0, err
		}
		if files == nil {
			return nil, 0, fmt.Errorf("no Go file is in %s", room)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, 0, err
			}
			found, err := plant(room+"/"+filepath.Base(file), source)
			if err != nil {
				return nil, 0, err
			}
			sample = append(sample, slices.DeleteFunc(found, func(m mutant) bool { return !strings.Contains(m.name(), only) })...)
		}
	}
	all = len(sample)
	slices.SortStableFunc(sample, func(a, b mutant) int { return cmp.Compare(a.rank(seed), b.rank(seed)) })
	return sample[:min(n, all)], all, nil
}

// reasons reads the list of equivalents.
func reasons(text string) (map[string]string, error) {
	known := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, is := strings.Cut(line, " | ")
		if !is || reason == "" {
			return nil, fmt.Errorf("equivalent.txt:%d: a name, \" | \" and the reason are due", n)
		}
		known[name] = reason
	}
	return known, lines.Err()
}

// module returns the directory of perdure's own module, in or beside which the command runs.
func module(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", errors.Join(errors.New("run it in a checkout of perdure"), err)
	}
	return strings.TrimSpace(string(text)), nil
}
