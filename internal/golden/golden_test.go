package golden_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/golden"
	"github.com/perdure/perdure/retry"
)

// TestTheTableIsPrintedAsItIsWritten: a rewrite touches expectations alone.
func TestTheTableIsPrintedAsItIsWritten(t *testing.T) {
	path, err := golden.Path()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table, err := golden.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Format(); got != string(data) {
		t.Errorf("printing the table changes it to\n%s", got)
	}
}

func TestMistakesInTheTableAreLocated(t *testing.T) {
	for text, want := range map[string]string{
		"policy {}":                                   `line 1: "policy {}" stands outside of a case`,
		"case A\ncase A":                              `line 2: there are two cases named "A"`,
		"case A\npolicy {\"speed\":1}":                `line 2: retry policy: json: unknown field "speed"`,
		"case A\npolicy {\"max_attempts\":-1}":        "line 2: invalid retry policy",
		"case A\nspeed 3":                             `line 2: a line cannot begin with "speed"`,
		"case A\ncancel at noon":                      "line 2: time: invalid duration",
		"case A\nattempt wrap(A":                      "line 2: the parentheses of",
		"case A\nattempt wrap(A))":                    "line 2: the parentheses of",
		"case A\nattempt wrap()":                      `line 2: "" is not an outcome`,
		"case A\nattempt after(A)":                    "line 2: after needs a duration and an error",
		"case A\nattempt at(soon, A)":                 "line 2: time: invalid duration",
		"case A\nattempt terminal(A, B)":              "line 2: terminal needs one error",
		"case A\nattempt A(B, C)":                     `line 2: "A(B, C)" is not an outcome`,
		"case A\nattempt A slowly 1s":                 `line 2: "slowly" is not a word of an attempt`,
		"case A\nattempt A took":                      `line 2: "took" lacks its value`,
		"case A\nattempt A took x":                    "line 2: time: invalid duration",
		"case A\nattempt A beats 1s,x":                "line 2: time: invalid duration",
		"case A\nattempt A u x":                       "line 2: strconv.ParseFloat",
		"case A\nattempt A -> retry backoff now then": `line 2: "retry backoff now then" is not a judgment`,
		"case A\nattempt A -> retry x backoff":        "line 2: time: invalid duration",
		"case A\nattempt A -> stop because rule x":    "line 2: strconv.Atoi",
		"case A\nstarts 0s x":                         "line 2: time: invalid duration",
	} {
		if _, err := golden.Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestOutcomesAreRealErrors: what a case says is what a runner gets.
func TestOutcomesAreRealErrors(t *testing.T) {
	first := time.Unix(1000, 0)
	err := golden.Attempt{Outcome: "join(Base(wrap(EOF)), at(5s, terminal(Error)))"}.Err(first)
	f := retry.Classify(err)
	if strings.Join(f.Types, " ") != "Base EOF Error" || !f.Terminal || !f.At.Equal(first.Add(5*time.Second)) {
		t.Errorf("got %+v", f)
	}
	if golden.End(errors.New("odd")) != "unexpected: odd" || golden.End(nil) != "ok" {
		t.Error("an end is described wrongly")
	}
}

// TestACaseWithTooFewAttemptsSaysSo in the simulation as in a runner.
func TestACaseWithTooFewAttemptsSaysSo(t *testing.T) {
	c := golden.Case{Name: "short", CancelAt: golden.NotCanceled, Attempts: []golden.Attempt{{Outcome: "A"}}}
	if end := c.Simulate().End; end != "unexpected: the table has too few attempts" {
		t.Errorf("got %q", end)
	}
	if err := c.Run(t.Context(), 2, time.Now(), nil); err == nil || err.Error() != `case "short" has no attempt 2` {
		t.Errorf("got %v", err)
	}
}
