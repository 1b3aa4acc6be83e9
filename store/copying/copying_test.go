package copying_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/copying"
	_ "github.com/perdure/perdure/store/postgres"
	_ "github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// TestMain is also the processes that the test kills. They print a line for each step, and
// "ready" in the end.
func TestMain(m *testing.M) {
	do := os.Getenv("COPYING_TEST")
	if do == "" {
		os.Exit(m.Run())
	}
	if err := play(strings.Split(do, "|")); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour) // until it is killed
}

func play(args []string) error {
	ctx := context.Background()
	if args[0] == "fill" {
		db, err := store.Named(args[1])
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(args[3])
		due, err := time.Parse(time.RFC3339Nano, args[4])
		if err != nil {
			return err
		}
		return fill(ctx, db, book(args[2]), n, due)
	}
	batch, _ := strconv.Atoi(args[3])
	_, err := copyOf(ctx, args[1], args[2], func(c *copying.Copy) {
		c.Batch = batch
		c.Progress = func(step string, runs, of int64) { fmt.Println(step, runs, "of", of) }
	})
	return err
}

// copyOf copies a database into another one.
func copyOf(ctx context.Context, from, to string, set func(*copying.Copy)) (result *copying.Result, err error) {
	c := &copying.Copy{Now: time.Now}
	for name, db := range map[string]*store.Store{from: &c.From, to: &c.To} {
		opener, err := store.Named(name)
		if err != nil {
			return nil, err
		}
		if *db, err = opener.Open(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, (*db).Close()) }()
	}
	set(c)
	return c.Run(ctx)
}

// killed starts a process and kills it with SIGKILL after so many lines, or when it is ready. It
// reports whether it was ready.
func killed(t *testing.T, lines int, do ...string) (ready bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "COPYING_TEST="+strings.Join(do, "|"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	for scan := bufio.NewScanner(out); lines > 0 && scan.Scan(); lines-- {
		if last = scan.Text(); last == "ready" {
			ready = true
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("%s ended by itself: %s", do[0], last)
	}
	_ = cmd.Wait()
	return ready
}

// TestG1_OpenWorkIsCopiedToAServerAndBack: an engine is killed, its file is copied to a server,
// some of the work is done there, the rest is copied back into a file and done. The copies are
// killed five times. A book that no database knows says that nothing was lost, doubled or early.
func TestG1_OpenWorkIsCopiedToAServerAndBack(t *testing.T) {
	extent.NotInShort(t, "processes are killed")
	n := extent.AtNight(1_600, 100_000)
	ctx, dir := t.Context(), t.TempDir()
	b := book(filepath.Join(dir, "book"))
	file, server, again := filepath.Join(dir, "shop.db"), pgtest.Database(t), filepath.Join(dir, "shop-2.db")
	due := time.Now().Add(extent.AtNight(10*time.Second, 5*time.Minute))
	if !killed(t, 1, "fill", file, string(b), strconv.Itoa(n), due.Format(time.RFC3339Nano)) {
		t.Fatal("the runs were not started")
	}
	began := b.read()
	if strings.Contains(began, "done") {
		t.Fatal("runs ended before the copy")
	}
	post(t, file, n, func(tk task) bool { return tk.kind() == "signals" }, func(e *perdure.Engine, tk task) error {
		for i := range 3 {
			if err := note.Send(ctx, e.Workflow(tk.id()), i); err != nil {
				return err
			}
		}
		return nil
	})

	move := func(from, to string, kills ...int) *copying.Result {
		t.Helper()
		for _, k := range kills {
			if killed(t, k, "copy", from, to, strconv.Itoa(n/16)) {
				t.Fatalf("the copy was complete before line %d", k)
			}
			refuses(t, from, store.SealedSource)
			refuses(t, to, store.SealedTarget)
		}
		start := time.Now()
		result, err := copyOf(ctx, from, to, func(*copying.Copy) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d runs and %d rows of history: %s after %d kills", result.Sums["runs"].Rows, result.Sums["turns"].Rows, time.Since(start), len(kills))
		refuses(t, from, store.SealedSource)
		if !result.Went {
			t.Error("the copy began again")
		}
		if second, err := copyOf(ctx, from, to, func(*copying.Copy) {}); err != nil || !second.Done || second.Sums.Differ(result.Sums) != nil {
			t.Errorf("copied again: %+v, %v", second, err)
		}
		return result
	}
	move(file, server, 1, 6, 22)

	const half = "half of them end on the server"
	e := engine(t, server, b)
	if d, err := e.Workflow(task{Number: 0}.id()).Describe(ctx); err != nil || d.Attributes["kind"] != "sleeping" {
		t.Errorf("%+v, %v", d, err)
	}
	for i := range n {
		tk := task{Number: i}
		if tk.kind() == "signals" {
			if err := goOn.Send(ctx, e.Workflow(tk.id()), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range n {
		if tk := (task{Number: i}); !tk.stays() {
			ended(t, e, tk, half)
		}
	}
	reasons(t, e)
	gates, err := ops.Gates(ctx, e)
	if err != nil || len(gates) != 1 || gates[0].Limit != 5 {
		t.Errorf("gates: %+v, %v", gates, err)
	}
	if switches, err := ops.Switches(ctx, e); err != nil || len(switches) != 1 || switches[0].By != "ann" {
		t.Errorf("switches: %+v, %v", switches, err)
	}
	stop(t, e)

	move(server, again, 2, 20)
	e = engine(t, again, b)
	for i := range n {
		if tk := (task{Number: i}); tk.stays() {
			if err := back.Send(ctx, e.Workflow(tk.id()), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range n {
		ended(t, e, task{Number: i}, "all of them have ended")
	}
	if c, err := ops.Doctor(ctx, e, view.DoctorFilter{Limit: n * 4}); err != nil || !c.OK {
		t.Errorf("doctor: %+v, %v", c, err)
	}
	audit(t, e, b, began, n)
	stop(t, e)
}

// refuses demands that nobody opens a database that is part of a copy.
func refuses(t *testing.T, name string, state store.SealState) {
	t.Helper()
	e, err := perdure.OpenURL(t.Context(), name)
	if err == nil {
		e.Close()
	}
	if sealed, is := errors.AsType[*store.SealedError](err); !is || sealed.Seal.State != state || sealed.Seal.Other == "" {
		t.Fatalf("%s: %v", name, err)
	}
}

// post sends messages while no engine runs.
func post(t *testing.T, name string, n int, to func(task) bool, send func(*perdure.Engine, task) error) {
	t.Helper()
	e, err := perdure.OpenURL(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if tk := (task{Number: i}); to(tk) {
			if err := send(e, tk); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// engine starts an engine that does all of the work.
func engine(t *testing.T, name string, b book) *perdure.Engine {
	t.Helper()
	db, err := store.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := open(t.Context(), db, b, false, perdure.ServeQueue("gpu", 8))
	if err == nil {
		err = e.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func stop(t *testing.T, e *perdure.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func ended(t *testing.T, e *perdure.Engine, tk task, when string) {
	t.Helper()
	if id, err := perdure.Attach[string](e, tk.id()).Result(t.Context()); err != nil || id != tk.id() {
		doc, _ := e.Workflow(tk.id()).Record(t.Context())
		t.Logf("its history: %s", doc)
		t.Fatalf("%s, %s (%s): %q, %v", when, tk.id(), tk.kind(), id, err)
	}
}

// reasons demands that what ran when the engine was killed is on record with its reason.
func reasons(t *testing.T, e *perdure.Engine) {
	t.Helper()
	attempts, err := e.Workflow(task{Number: len(kinds) - 1}.id()).Attempts(t.Context())
	if err != nil || len(attempts) < 2 || attempts[0].Outcome != view.OutcomeLost || attempts[0].Reason != string(retry.ReasonCopied) {
		t.Errorf("attempts of a run that was stuck: %+v, %v", attempts, err)
	}
}

// audit reads the book.
func audit(t *testing.T, e *perdure.Engine, b book, began string, n int) {
	t.Helper()
	lost := func(activity, number string) bool { // an attempt that was killed before it came to the book
		i, _ := strconv.Atoi(number)
		attempts, err := e.Workflow(task{Number: i}.id()).Attempts(t.Context())
		return err == nil && slices.ContainsFunc(attempts, func(a view.Attempt) bool {
			return a.Name == activity && a.Number == 1 && a.Outcome == view.OutcomeLost
		})
	}
	dones, lines := map[string]int{}, map[string]int{}
	for line := range strings.Lines(b.read()) {
		line = strings.TrimSpace(line)
		if lines[line]++; lines[line] > 1 {
			t.Errorf("twice: %s", line)
		}
		if strings.Contains(line, "EARLY") {
			t.Errorf("early: %s", line)
		}
		fields := strings.Fields(line)
		if fields[0] == "done" {
			dones[fields[1]]++
		}
		if strings.HasSuffix(line, "attempt 2") && fields[0] != "flaky" && !strings.Contains(began, fields[0]+" "+fields[1]+" attempt 1\n") && !lost(fields[0], fields[1]) {
			t.Errorf("%s, but attempt 1 was not lost", line)
		}
	}
	for i := range n {
		if dones[strconv.Itoa(i)] != 1 {
			t.Errorf("run %d ended %d times", i, dones[strconv.Itoa(i)])
		}
	}
}
