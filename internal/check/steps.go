package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// staticcheck is pinned here and not in go.mod: its dependencies are no
// business of those who import this module.
const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// targets are the systems besides this one for which everything must build. Windows
// has all that a system can have of its own here; a Mac shares with it what is not for
// Linux alone, and with Linux what is for Unix.
var targets = []struct{ os, arch string }{{"windows", "amd64"}}

// step is one thing CI proves.
type step struct {
	name    string
	what    string // what it proves, for -list and beside its duration
	streams bool   // it shows the output of its commands while they run
	beside  bool   // it begins together with the step before it, which leaves cores idle at times
	run     func(ctx context.Context, sh *shell) error
}

// allSteps are the steps in the order they run in, cheap ones first.
func allSteps(opt options) []step {
	return []step{
		{name: "format", what: "Go files are as gofmt writes them", run: checkFormat},
		{name: "docs", what: "links between documents lead somewhere", run: checkDocs},
		{name: "modules", what: "go.mod is tidy and the modules are what go.sum says", run: checkModules},
		{name: "build", what: "everything builds without a C compiler", run: checkBuild},
		{name: "vet", what: "go vet finds nothing", run: checkVet},
		{name: "staticcheck", what: "staticcheck finds nothing", run: checkStatic},
		{name: "cross", what: "code and tests compile for " + targetNames(), run: checkCross},
		{name: "test", what: "the tests pass under the race detector", streams: true, run: checkTests},
		{name: "engine", what: "the engine's tests, all crash points included, pass without it", streams: true, beside: true, run: checkEngine},
		{name: "norace", what: "what else is too slow under it passes without it", streams: true, beside: true, run: checkSlowTests},
		{name: "citus", what: "on Citus, where it is, a sample of the stores' suite passes and a killed worker loses nothing", run: checkCitus},
		{name: "bench", what: "every benchmark runs once", run: checkBenchmarks},
		{name: "benchmodule", what: "the benchmark program builds, and its workloads give right results", streams: true, run: checkBenchModule},
		{name: "labmodule", what: "the laboratory passes its tests, and docs/retry-storms.md has its figures", streams: true, beside: true, run: checkLabModule},
		{name: "toolsmodule", what: "the analyzer finds nothing in our own workflow code, the site of the documents is whole, and a stranger can follow the README", streams: true, beside: true, run: checkToolsModule},
		{name: "fuzz", what: "a short round of every fuzz target finds nothing", streams: true, run: fuzzer{each: opt.fuzzTime, total: opt.fuzzTotal}.check},
	}
}

// quickSteps are the short form for every day: what most mistakes fail in, without
// databases but the one in memory and SQLite's own tests, and without the race detector.
func quickSteps(opt options) []step {
	steps := slices.DeleteFunc(allSteps(opt), func(s step) bool {
		return !slices.Contains([]string{"format", "docs", "build", "vet"}, s.name)
	})
	return append(steps, step{name: "short", what: "the short form of the tests passes", streams: true, run: checkShort})
}

func checkShort(ctx context.Context, sh *shell) error {
	// Those with browsers and with processes that are killed wait more than they work.
	packages := strconv.Itoa(2 * runtime.NumCPU())
	_, err := sh.stream(ctx, cmd("CGO_ENABLED=0", "go", "test", "-short", "-vet=off", "-p", packages, "-timeout", "5m",
		"./internal/engine", "./dashboard", "./internal/killtest", "./..."))
	return err
}

func checkFormat(ctx context.Context, sh *shell) error {
	files, err := repoFiles(ctx, sh, ".go")
	if err != nil {
		return err
	}
	goroot, err := sh.stdout(ctx, cmd("go", "env", "GOROOT"))
	if err != nil {
		return err
	}
	// The gofmt of the toolchain in use, whatever else is in the PATH.
	gofmt := filepath.Join(strings.TrimSpace(goroot), "bin", "gofmt")
	if runtime.GOOS == "windows" {
		gofmt += ".exe"
	}
	var wrong []string
	for some := range slices.Chunk(files, 200) { // command lines have a limit
		listed, err := sh.stdout(ctx, cmd(append([]string{gofmt, "-l"}, some...)...))
		if err != nil {
			return err
		}
		wrong = append(wrong, strings.Fields(listed)...)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("These files are not formatted:\n  %s\nFormat them: gofmt -w %s",
			strings.Join(wrong, "\n  "), strings.Join(wrong, " "))
	}
	return nil
}

func checkModules(ctx context.Context, sh *shell) error {
	for _, verb := range []string{"download", "verify"} {
		if _, err := sh.quiet(ctx, cmd("go", "mod", verb)); err != nil {
			return err
		}
	}
	return checkTidy(ctx, sh)
}

// checkTidy asks what go mod tidy would change in go.mod. With -e it answers
// also if the module proxy lacks what only the tests of a dependency import. For
// the same reason go.sum does not count here: that it has all we need is proved
// by every build, and that what it has is true by go mod verify.
func checkTidy(ctx context.Context, sh *shell) error {
	diff, err := sh.stdout(ctx, cmd("go", "mod", "tidy", "-e", "-diff"))
	if err == nil || !strings.Contains(diff, "diff current/") {
		return err
	}
	for file := range strings.SplitSeq(diff, "diff current/") {
		if strings.HasPrefix(file, "go.mod ") {
			return fmt.Errorf("go.mod is not tidy. Run: go mod tidy -e\n%s", file)
		}
	}
	return nil
}

func checkBuild(ctx context.Context, sh *shell) error {
	_, err := sh.quiet(ctx, cmd("CGO_ENABLED=0", "go", "build", "./..."))
	return err
}

// checkVet and checkStatic do without cgo, so that they find what checkBuild compiled.
// What go test would vet by itself has been vetted then.
func checkVet(ctx context.Context, sh *shell) error {
	_, err := sh.quiet(ctx, cmd("CGO_ENABLED=0", "go", "vet", "./..."))
	return err
}

func checkStatic(ctx context.Context, sh *shell) error {
	_, err := sh.quiet(ctx, cmd("CGO_ENABLED=0", "go", "run", staticcheck, "./..."))
	return err
}

// checkCross compiles for the other systems: vet does, all that is imported, and the
// code and the tests as far as to their types, which is where systems differ. SQLite's
// driver alone would take a minute, so what imports it is left out, and where only the
// tests do, these are: none of that is made for one system, but for a line in a test of
// store/sqlite.
func checkCross(ctx context.Context, sh *shell) error {
	for _, t := range targets {
		env := []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch}
		listed, err := sh.stdout(ctx, cmd(append(env, "go", "list", "-test", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")...))
		if err != nil {
			return err
		}
		wholly, code := packagesWithout("modernc.org/sqlite", listed)
		if _, err := sh.quiet(ctx, cmd(slices.Concat(env, []string{"go", "vet"}, wholly)...)); err != nil {
			return err
		}
		if _, err := sh.quiet(ctx, cmd(slices.Concat(env, []string{"go", "build"}, code)...)); err != nil {
			return err
		}
	}
	return nil
}

// packagesWithout reads what go list -test says, a package and all it depends upon in
// a line. It answers the packages that do not depend upon another one, not by their
// tests either, and those of which only the tests do.
func packagesWithout(other, listed string) (wholly, code []string) {
	uses, tested := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		name, isTest := strings.CutSuffix(words[0], ".test")
		switch {
		case isTest:
			tested[name] = slices.Contains(words, other)
		case len(words) < 2 || !strings.HasPrefix(words[1], "["): // or it is a package as its tests see it
			uses[name] = slices.Contains(words, other)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		switch {
		case uses[name]:
		case tested[name]:
			code = append(code, name)
		default:
			wholly = append(wholly, name)
		}
	}
	return wholly, code
}

func targetNames() string {
	var names []string
	for _, t := range targets {
		names = append(names, t.os+"/"+t.arch)
	}
	return strings.Join(names, " and ")
}

// longest are the packages whose tests take longest. They begin first, so that none of
// them is left alone at the end.
var longest = []string{"./internal/engine", "./internal/clustertest", "./store/postgres"}

// watched are the flags of the race detector. SQLite's own code, which is C translated to Go,
// is not watched: that made it eighteen times slower and found nothing.
var watched = []string{"-race",
	"-gcflags=modernc.org/sqlite/lib=-race=false", "-gcflags=modernc.org/libc=-race=false", "-gcflags=modernc.org/libc/...=-race=false"}

func checkTests(ctx context.Context, sh *shell) error {
	cgo, err := sh.stdout(ctx, cmd("go", "env", "CGO_ENABLED"))
	if err != nil {
		return err
	}
	test := []string{"go", "test", "-vet=off", "-parallel", parallel, "-timeout", "30m", "-skip", onCitus}
	if strings.TrimSpace(cgo) == "1" {
		test = append(test, watched...)
	} else {
		sh.notice("The tests ran WITHOUT the race detector: it needs a C compiler (gcc or clang), and there is none here.")
	}
	said, err := sh.stream(ctx, cmd(slices.Concat(test, longest, []string{"./..."})...))
	if broken := detectorBroke(said); err != nil && broken != nil {
		sh.notice("The race detector itself broke down in %s (CHECK failed, or a crash outside of Go); these tests ran again.", strings.Join(broken, ", "))
		_, err = sh.stream(ctx, cmd(slices.Concat(test, broken)...))
	}
	return err
}

// crashOutsideGo begins the report of a crash in code that is not Go's, which in programs
// without cgo is that of the detector. A nil pointer in Go code is a panic. It was seen when
// goroutines of one bubble of testing/synctest ran timers at the same moment: they use one
// context of the detector (bubble.timers.raceCtx in Go 1.26).
const crashOutsideGo = "SIGSEGV: segmentation violation"

// detectorBroke finds the packages whose tests ended because of a fault in the
// race detector's own runtime, which is rare and says nothing about them. It
// returns nil if any test failed otherwise.
func detectorBroke(output string) []string {
	var broken []string
	check := false
	for line := range strings.Lines(output) {
		failed, isPackage := strings.CutPrefix(line, "FAIL\t")
		switch {
		case strings.HasPrefix(line, "ThreadSanitizer: CHECK failed"), strings.HasPrefix(line, crashOutsideGo):
			check = true
		case strings.HasPrefix(line, "--- FAIL"), strings.HasPrefix(line, "panic:"), strings.HasPrefix(line, "WARNING: DATA RACE"):
			return nil
		case isPackage && !check:
			return nil
		case isPackage:
			broken, check = append(broken, strings.Fields(failed)[0]), false
		}
	}
	return broken
}

// parallel is how many tests of a package run at once. More than there are cores: most
// of them wait for a database half of their time.
const parallel = "4"

// Some tests leave cases out under the race detector, which finds nothing there (see package
// racedetector). Those of the engine are so many that they are a step of
// their own.
var (
	slowPackages = []string{".", "./store/sqlite", "./store/postgres", "./flow", "./codec", "./dashboard", "./cmd/perdure/internal/cli", "./internal/inspect", "./telemetry/tracing"}
	slowTests    = []string{
		"TestLockstepWithMemory",
		"TestE83_ConnectionCutAnywhere", "TestE83_ConformanceAtSerializable", "TestE81_TransactionModePoolersWork", "TestStatementsUseIndexes",
		"TestF25_AMillionAttempts", "TestF53_AttemptsInParts", "TestF47_HistoryInParts", "TestE129_KilledAtEachWrite", "TestExamples", "TestW15_",
		"TestW8_EveryCrash", "TestScripts", "TestE49_ScheduleScripts", "TestE65_AStoreOverCodecsIsAStore", "TestF6_", "TestF7_", "TestF32_", "TestF33_", "TestF37_", "TestF38_", "TestF43_", "TestF44_", "TestF45_",
	}
)

func checkEngine(ctx context.Context, sh *shell) error {
	_, err := sh.stream(ctx, cmd("CGO_ENABLED=0", "go", "test", "-vet=off", "-parallel", parallel, "-timeout", "30m", "./internal/engine"))
	return err
}

func checkSlowTests(ctx context.Context, sh *shell) error {
	test := []string{"CGO_ENABLED=0", "go", "test", "-vet=off", "-timeout", "30m", "-run", "^(" + strings.Join(slowTests, "|") + ")"}
	_, err := sh.stream(ctx, cmd(append(test, slowPackages...)...))
	return err
}

// onCitus are the tests on a cluster of Citus of their own.
const onCitus = "^TestE144_"

// checkCitus runs them without the race detector. Debian has no package of Citus, so that it
// is not there fails nothing, and is said.
func checkCitus(ctx context.Context, sh *shell) error {
	said, err := sh.quiet(ctx, cmd("CGO_ENABLED=0", "go", "test", "-vet=off", "-v", "-timeout", "10m", "-run", onCitus, "./store/postgres", "./internal/clustertest"))
	if why := withoutCitus(said); err == nil && why != "" {
		sh.notice("Nothing ran on Citus: %s.", why)
	}
	return err
}

// withoutCitus is why tests of Citus were skipped, "" if they ran.
func withoutCitus(said string) string {
	_, why, _ := strings.Cut(said, "Citus is not here: ") // pgtest.NoCitus
	why, _, _ = strings.Cut(why, "\n")
	return why
}

func checkBenchmarks(ctx context.Context, sh *shell) error {
	_, err := sh.quiet(ctx, cmd("CGO_ENABLED=0", "go", "test", "-vet=off", "-run", "^$", "-bench", ".", "-benchtime", "1x", "-timeout", "10m", "./..."))
	return err
}

// testModule vets and tests a module of its own in dir.
func testModule(ctx context.Context, sh *shell, dir string) error {
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-timeout", "20m", "./..."}} {
		if _, err := sh.stream(ctx, cmd(append([]string{"go", "-C", dir}, args...)...)); err != nil {
			return err
		}
	}
	return nil
}

// checkBenchModule tests bench, whose dependencies must not reach importers of this
// module.
func checkBenchModule(ctx context.Context, sh *shell) error { return testModule(ctx, sh, "bench") }

// checkLabModule tests lab without the race detector: a simulation has no concurrency,
// and takes minutes under it.
func checkLabModule(ctx context.Context, sh *shell) error {
	if _, err := sh.quiet(ctx, cmd("CGO_ENABLED=0", "go", "-C", "lab", "run", staticcheck, "./...")); err != nil {
		return err
	}
	return testModule(ctx, sh, "lab")
}

// checkToolsModule tests tools, a module of its own for the sake of golang.org/x/tools,
// and looks for what workflow code must not do in the code that we show and run.
func checkToolsModule(ctx context.Context, sh *shell) error {
	if err := testModule(ctx, sh, "tools"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "perdurevet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tool := filepath.Join(dir, "perdurevet")
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	if _, err := sh.stream(ctx, cmd("go", "-C", "tools", "build", "-o", tool, "./cmd/perdurevet")); err != nil {
		return err
	}
	_, err = sh.stream(ctx, cmd("CGO_ENABLED=0", "go", "vet", "-vettool="+tool, "./..."))
	return err
}

// repoFiles are the files of the repository with these endings, relative to its
// root: those git tracks and new ones it does not ignore. Without git (a source
// archive) they are all files but those in hidden directories.
func repoFiles(ctx context.Context, sh *shell, endings ...string) ([]string, error) {
	var files []string
	listed, err := sh.stdout(ctx, cmd("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"))
	if err == nil {
		files = strings.Split(listed, "\x00")
	} else if files, err = walkFiles(sh.root); err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		if !slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			return true
		}
		_, err := os.Stat(filepath.Join(sh.root, name)) // tracked, but deleted
		return errors.Is(err, os.ErrNotExist)
	})
	slices.Sort(files)
	return slices.Compact(files), nil
}

func walkFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}
