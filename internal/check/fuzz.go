package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// fuzzer runs every fuzz target of the module for a short while.
type fuzzer struct {
	each  time.Duration // for each target
	total time.Duration // for all of them
}

// target is one fuzz function of one package.
type target struct{ pkg, name string }

func (f fuzzer) check(ctx context.Context, sh *shell) error {
	listed, err := sh.stdout(ctx, cmd("go", "test", "-list", "^Fuzz", "./..."))
	if err != nil {
		return err
	}
	found := fuzzTargets(listed)
	if len(found) == 0 {
		return fmt.Errorf("No fuzz target was found, though this module has some. This is what go test listed:\n%s", listed)
	}
	each := f.share(len(found))
	for _, t := range found {
		// No unit tests (-run), one target at a time: the go command asks for both.
		// A target gets seconds. Without the bound most of them go by while the
		// fuzzer makes inputs shorter that only reach new code.
		c := cmd("go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(), "-fuzzminimizetime", "20x", t.pkg)
		fmt.Fprintf(sh.out, "      %s\n", c)
		output, err := sh.quiet(ctx, c)
		if err != nil && !roundEnded(output) {
			return fmt.Errorf("%w\nA failing input that was written to testdata/fuzz belongs into the repository: from then on it is a test.", err)
		}
	}
	return nil
}

// share is how long each of n targets may run: as long as asked, or less if
// together they would take more than their total, but at least one second.
func (f fuzzer) share(n int) time.Duration {
	return max(time.Second, min(f.each, (f.total/time.Duration(n)).Round(100*time.Millisecond)))
}

// fuzzTargets reads the output of go test -list: the names found in a package,
// one a line, then a line "ok" with the package.
func fuzzTargets(listed string) []target {
	var found []target
	var names []string
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) >= 2 && fields[0] == "ok":
			for _, name := range names {
				found = append(found, target{pkg: fields[1], name: name})
			}
			names = nil
		}
	}
	return found
}

// roundEnded reports whether a failed fuzz run only says that its time is over.
// Until Go 1.27 the end of -fuzztime may reach the test as "context deadline
// exceeded" although no input failed (go.dev/issue/75804). A true finding always
// names its input or panics.
func roundEnded(output string) bool {
	for _, sign := range []string{"Failing input written", "failure while testing seed corpus", "panic:", "hung or terminated", "[build failed]", "[setup failed]"} {
		if strings.Contains(output, sign) {
			return false
		}
	}
	fails := strings.Count(output, "--- FAIL:")
	return fails == 1 && strings.Contains(output, "\n    context deadline exceeded\n")
}
