package docs

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/notation"
	"github.com/perdure/perdure/retry"
)

// The tests in this file write the tables of docs/retries-reference.md and docs/gates.md.

var update = flag.Bool("update", false, "rewrite the tables in docs")

func section(t *testing.T, name, text string) {
	t.Helper()
	Section(t, *update, "retries-reference.md", "retries:"+name, text)
}

func TestTheTableOfPolicyFields(t *testing.T) {
	inJSON := map[string]string{}
	for _, f := range fields(t, "retry/json.go", "policyJSON") {
		inJSON[f.name] = f.json
	}
	inText := map[string][]string{}
	for _, k := range notation.Keys {
		name, _, _ := strings.Cut(k.Field, ":")
		name, _, _ = strings.Cut(name, ".")
		inText[strings.Replace(name, "Rule", "Rules", 1)] = append(inText[strings.Replace(name, "Rule", "Rules", 1)], code(k.Name))
	}
	inText["Rules"] = append(inText["Rules"], "`[TYPE -> ...]`")
	documented := fields(t, "retry/policy.go", "Policy")
	if n := reflect.TypeFor[retry.Policy]().NumField(); n != len(documented) {
		t.Fatalf("%d fields in the source, %d in the type", len(documented), n)
	}
	var rows [][]string
	for _, f := range documented {
		if f.doc == "" || inJSON[f.name] == "" || len(inText[f.name]) == 0 {
			t.Errorf("%s: comment %q, JSON %q, text %v", f.name, f.doc, inJSON[f.name], inText[f.name])
		}
		rows = append(rows, []string{code(f.name), code(inJSON[f.name]), strings.Join(inText[f.name], ", "), withoutName(f.name, f.doc)})
	}
	section(t, "fields", table([]string{"Go", "JSON", "text", "meaning"}, rows))
}

// withoutName takes the name that a comment begins with away.
func withoutName(name, doc string) string {
	doc = strings.TrimPrefix(doc, name+": ")
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(doc, name+verb); ok {
			return rest
		}
	}
	if rest, ok := strings.CutPrefix(doc, name+" "); ok {
		return rest
	}
	return doc
}

func TestTheTableOfPresets(t *testing.T) {
	var rows [][]string
	for _, p := range []struct {
		name   string
		policy retry.Policy
	}{
		{"Policy{}", retry.Policy{}}, {"Never", retry.Never}, {"Standard", retry.Standard}, {"Aggressive", retry.Aggressive},
		{"Conservative", retry.Conservative}, {"Infinite", retry.Infinite}, {"Quick", retry.Quick},
	} {
		limit := p.policy.AttemptLimit()
		attempts, ellipsis := fmt.Sprint(limit), ""
		if limit == retry.Unlimited {
			attempts = "unlimited"
		}
		var waits []string
		for k := 1; k < limit && k <= 9; k++ {
			if k == 9 && limit > 10 {
				ellipsis = " ..."
				break
			}
			waits = append(waits, p.policy.Delay(k).Round(time.Millisecond).String())
		}
		rows = append(rows, []string{code("retry." + p.name), attempts, strings.Join(waits, ", ") + ellipsis, code(p.policy.String())})
	}
	section(t, "presets", table([]string{"policy", "attempts", "waits before jitter", "as text"}, rows))
}

func TestTheTablesOfWaits(t *testing.T) {
	var rows [][]string
	for _, b := range []struct {
		name    string
		backoff retry.Backoff
	}{
		{"None", retry.None},
		{"Fixed(2*time.Second)", retry.Fixed(2 * time.Second)},
		{"Linear(2*time.Second, 7*time.Second)", retry.Linear(2*time.Second, 7*time.Second)},
		{"Exponential(time.Second, 2, 20*time.Second)", retry.Exponential(time.Second, 2, 20*time.Second)},
		{"Exponential(time.Second, 1.5, 0)", retry.Exponential(time.Second, 1.5, 0)},
	} {
		row := []string{code("retry." + b.name)}
		for k := 1; k <= 7; k++ {
			row = append(row, b.backoff.Delay(k).Round(time.Millisecond).String())
		}
		rows = append(rows, row)
	}
	section(t, "backoffs", table([]string{"backoff", "1st wait", "2nd", "3rd", "4th", "5th", "6th", "7th"}, rows))

	rows = nil
	backoff, wait, previous := retry.Exponential(time.Second, 2, time.Minute), 8*time.Second, 4*time.Second
	for _, j := range []struct {
		name   string
		jitter retry.Jitter
	}{
		{"NoJitter", retry.NoJitter}, {"Proportional(0.1)", retry.Proportional(0.1)}, {"EqualJitter", retry.EqualJitter},
		{"FullJitter", retry.FullJitter}, {"Decorrelated", retry.Decorrelated},
	} {
		draw := func(u float64) time.Duration {
			return j.jitter.Draw(backoff, wait, previous, u).Round(time.Millisecond)
		}
		least, middle, most := draw(0), draw(0.5), draw(math.Nextafter(1, 0))
		rows = append(rows, []string{code("retry." + j.name), least.String(), middle.String(), most.String()})
	}
	section(t, "jitters", table([]string{"jitter", "least", "mean", "most"}, rows))
}

func TestTheTablesOfReasons(t *testing.T) {
	const path = "retry/reason.go"
	for name, group := range map[string]string{
		"reasons-retry": "Why another attempt follows.",
		"reasons-stop":  "Why no further attempt follows",
		"reasons-other": "Reasons that Decide does not return",
	} {
		var rows [][]string
		for i, c := range constants(t, path, group) {
			if retries := retry.Reason(c.value).Retries(); retries != (name == "reasons-retry") && name != "reasons-other" {
				t.Errorf("%s: another attempt follows: %v", c.name, retries)
			}
			row := []string{code(c.value), withoutName(c.name, c.doc)}
			if name == "reasons-stop" {
				row = append([]string{fmt.Sprint(i + 1)}, row...)
			}
			rows = append(rows, row)
		}
		header := []string{"reason", "meaning"}
		if name == "reasons-stop" {
			header = []string{"", "reason", "meaning"}
		}
		section(t, name, table(header, rows))
	}
}

// TestR9_ThePageHasTheOrderOfDecide gives Decide a failure that every reason
// holds for, takes one after the other away in the order of the page, and finds
// the next one each time.
func TestR9_ThePageHasTheOrderOfDecide(t *testing.T) {
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	p := retry.Policy{
		MaxAttempts: 3, Within: time.Millisecond, OnTimeout: retry.StopOnTimeout, OnUnknown: retry.FailUnknown,
		Rules: []retry.Rule{{Types: []string{"A"}, Stop: true}}, NonRetryable: []string{"B"}, Retryable: []string{"Z"},
	}
	s := retry.State{Attempt: 3, First: now, Canceled: true, OverBudget: true}
	f := retry.Failure{Types: []string{"A", "B"}, Terminal: true, Timeout: retry.TimeoutAttempt, Unknown: true}
	takeAway := map[retry.Reason]func(){
		retry.ReasonCanceled:     func() { s.Canceled = false },
		retry.ReasonUnknown:      func() { p.OnUnknown = 0 },
		retry.ReasonTerminal:     func() { f.Terminal = false },
		retry.ReasonStopRule:     func() { p.Rules = nil },
		retry.ReasonNonRetryable: func() { p.NonRetryable = nil },
		retry.ReasonTimeout:      func() { f.Timeout = "" },
		retry.ReasonNotRetryable: func() { p.Retryable = nil },
		retry.ReasonMaxAttempts:  func() { s.Attempt = 1 },
		retry.ReasonWithin:       func() { p.Within = 0 },
		retry.ReasonBudget:       func() { s.OverBudget = false },
	}
	for _, c := range constants(t, "retry/reason.go", "Why no further attempt follows") {
		want := retry.Reason(c.value)
		if want == retry.ReasonBreaker {
			continue // found by a gate, after Decide
		}
		if d := retry.Decide(&p, s, f, now, 0.5); d.Reason != want {
			t.Fatalf("the reason is %s, want %s", d.Reason, want)
		}
		if takeAway[want] == nil {
			t.Fatalf("this test does not know what %s is about", want)
		}
		takeAway[want]()
	}
	if d := retry.Decide(&p, s, f, now, 0.5); d.Reason != retry.ReasonBackoff {
		t.Errorf("the reason is %s, want a retry", d.Reason)
	}
}

func TestTheTableOfErrorTypes(t *testing.T) {
	var rows [][]string
	for _, c := range constants(t, "retry/typename.go", "Built-in type names") {
		rows = append(rows, []string{code(c.value), strings.ReplaceAll(strings.TrimPrefix(withoutName(c.name, c.doc), "the type of "), " and of ", " and ")})
	}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission} {
		rows = append(rows, []string{code(retry.TypeName(err)), fmt.Sprintf("the error %q of the standard library", err)})
	}
	rows = append(rows, []string{code(retry.TypeName(&fs.PathError{Err: errors.ErrUnsupported})), "`*fs.PathError`, as an example of any other type: its name in Go"})
	section(t, "types", table([]string{"type name", "errors"}, rows))
}

func TestE60_TheTableOfOperations(t *testing.T) {
	var rows [][]string
	for _, f := range functions(t, "ops/call.go", "Operation") {
		rows = append(rows, []string{code("ops." + f.name), withoutName(f.name, f.doc)})
	}
	section(t, "operations", table([]string{"operation", "what it does to a pending call"}, rows))
}

// TestE23_ThePageExplainsEveryStateAndOutcome compares the page to the constants that
// list them.
func TestE23_ThePageExplainsEveryStateAndOutcome(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(Root(), "docs", "retries-reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := append(constants(t, "view/call.go", "The states of open calls"), constants(t, "view/attempt.go", "The outcomes of attempts")...)
	for _, c := range words {
		if !strings.Contains(string(text), "\n| `"+c.value+"` |") {
			t.Errorf("docs/retries-reference.md does not say what view.%s %q means; add a row to its table", c.name, c.value)
		}
	}
}

func TestTheTablesOfGates(t *testing.T) {
	var rows [][]string
	for _, f := range fields(t, "gate/spec/spec.go", "Spec") {
		rows = append(rows, []string{code(f.name), withoutName(f.name, f.doc)})
	}
	for _, part := range []string{"Rate", "Budget", "Breaker"} {
		for _, f := range fields(t, "gate/spec/spec.go", part) {
			rows = append(rows, []string{code(part + "." + f.name), withoutName(f.name, f.doc)})
		}
	}
	Section(t, *update, "gates.md", "gates:fields", table([]string{"field", "meaning"}, rows))

	rows = nil
	for _, c := range constants(t, "gate/spec/spec.go", "Mode") {
		rows = append(rows, []string{code(c.value), strings.TrimPrefix(c.doc, c.name+" ")})
	}
	Section(t, *update, "gates.md", "gates:modes", table([]string{"mode", "what it does with the slot of a call in backoff"}, rows))
}
