package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// call runs the command in the current directory.
func call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return callWith(t, "", args...)
}

// callWith runs the command with a text on its standard input.
func callWith(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return out.String(), errs.String(), code
}

// printer is a screen whose output can be read, and the database beside it.
func printer(now time.Time) (*screen, *source, func() string) {
	var out bytes.Buffer
	scr := &screen{env: Env{Now: func() time.Time { return now }}}
	db := &source{scr: scr}
	rootCommand(scr, db) // suggestions repeat the flags that were given
	scr.out, scr.format = bufio.NewWriter(&out), formatTable
	return scr, db, func() string {
		scr.out.Flush()
		return out.String()
	}
}

// A call that retry-now went on with does not announce an attempt that has been made.
func TestOnlyTheLatestAttemptAnnouncesTheNext(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(seconds int) *time.Time {
		moment := start.Add(time.Duration(seconds) * time.Second)
		return &moment
	}
	scr, _, output := printer(start.Add(10 * time.Second))
	failed := func(call int64, number, began int) view.Attempt {
		return view.Attempt{Call: call, Name: "a", Number: number, Outcome: "failed", Reason: "backoff", Started: at(began), Ended: at(began), Delay: time.Hour, Next: at(began + 3600), Message: "no"}
	}
	attemptTable(scr, []view.Attempt{failed(1, 1, 1), failed(1, 2, 2), failed(2, 1, 4)})
	want := `
CALL  STEP  ATTEMPT  OUTCOME  STARTED                   TOOK  REASON   NEXT AFTER         ERROR
   1  a           1  failed   1970-01-01 00:00:01.000Z  0s    backoff  1h00m              no
   1  a           2  failed   1970-01-01 00:00:02.000Z  0s    backoff  1h00m (in 59m52s)  no
   2  a           1  failed   1970-01-01 00:00:04.000Z  0s    backoff  1h00m (in 59m54s)  no
`
	if got := "\n" + output(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestAttemptsThatAreNotKeptAreShownAsAGap(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(n int) *time.Time { moment := start.Add(time.Duration(n) * time.Second); return &moment }
	scr, _, output := printer(start.Add(time.Hour))
	var attempts []view.Attempt
	for _, n := range []int{1, 2, 901, 903} {
		attempts = append(attempts, view.Attempt{
			Call: 1, Name: "poll", Number: n, Outcome: "failed", Reason: "immediate", Started: at(n), Ended: at(n + 1), ErrorType: "Error", Message: "not yet",
			NotKept: map[int]int{901: 898, 903: 1}[n],
		})
	}
	attempts = append(attempts, view.Attempt{Call: 2, Name: "done", Number: 3, Outcome: "running", Started: at(3590), NotKept: 2})
	attemptTable(scr, attempts)
	want := `
CALL  STEP  ATTEMPT  OUTCOME     STARTED                   TOOK        REASON     ERROR
   1  poll        1  failed      1970-01-01 00:00:01.000Z  1s          immediate  not yet
   1  poll        2  failed      1970-01-01 00:00:02.000Z  1s          immediate  not yet
   1  poll    3-900  (not kept)
   1  poll      901  failed      1970-01-01 00:15:01.000Z  1s          immediate  not yet
   1  poll      902  (not kept)
   1  poll      903  failed      1970-01-01 00:15:03.000Z  1s          immediate  not yet
   2  done      1-2  (not kept)
   2  done        3  running     1970-01-01 00:59:50.000Z  10s so far
`
	if got := "\n" + output(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestWhatIsHeldBackIsExplained(t *testing.T) {
	now := time.Unix(1000, 0)
	scr, db, output := printer(now)
	scr.stdout.Style = term.Style{Colours: true}
	d := &view.Description{Stack: "main.f()\n\t/src/f.go:7 \x1b[2J"}
	d.WorkflowID, d.Workflow, d.Status, d.Reason, d.Created = "x", "w", "parked", "the workflow's code panicked: oh", now
	d.Pending = []view.Call{{Call: 4, Kind: "activity", Name: "poison", State: "quarantined", Attempt: 5, Max: 1<<31 - 1, LostToCrashes: 4}}
	describe(scr, db, d)
	got := output()
	for _, want := range []string{
		"its code could not run", "    main.f()\n", `        /src/f.go:7 \u001b[2J`,
		"4 attempts were lost with the process", "quarantined, because it was lost with its process", "\x1b[31mparked\x1b[0m", "\x1b[31mquarantined\x1b[0m",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "of 2147483647") {
		t.Errorf("no limit is shown as a number:\n%s", got)
	}
}

func TestF2_JSONIsSafeOnATerminalAndUnchanged(t *testing.T) {
	in := map[string]string{"text": "csi \u009b2J, bidi \u202e, <tag> & del \x7f"}
	for _, f := range []format{formatJSON, formatLines} {
		scr, _, output := printer(time.Now())
		scr.format = f
		if err := scr.document(in); err != nil {
			t.Fatal(err)
		}
		got := output()
		if strings.ContainsAny(got, "\u009b\u202e\x7f") || !strings.Contains(got, "<tag> &") {
			t.Errorf("%s: %q", f, got)
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back["text"] != in["text"] {
			t.Errorf("%s: read back as %q, %v", f, back["text"], err)
		}
	}
}

// pipe is a standard output that fails.
type pipe struct{ err error }

func (p pipe) Write([]byte) (int, error) { return 0, p.err }

func TestAFullDiskIsAnErrorAndAClosedPipeIsNone(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{{errors.New("no space left on device"), exitError}, {syscall.EPIPE, exitOK}} {
		var stderr bytes.Buffer
		code := Run(t.Context(), Env{
			Args: []string{"version"}, Stdin: strings.NewReader(""), Stdout: pipe{test.err}, Stderr: &stderr,
			Getenv: func(string) string { return "" }, Now: time.Now,
		})
		if code != test.code || (code == 0) != (stderr.Len() == 0) {
			t.Errorf("%v: exit code %d, %s", test.err, code, stderr.String())
		}
	}
}

func TestF48_ThereIsALimitToIDs(t *testing.T) {
	_, stderr, code := callWith(t, strings.Repeat("x", 5<<20), "cancel", "--ids", "-", "--db", "shop.db")
	if code != exitUsage || !strings.Contains(stderr, "The IDs on standard input are longer than") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
