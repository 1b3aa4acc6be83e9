package check

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/flow/syntax"
)

// hostile are texts that grow with a number: what they repeat must cost the same
// each time, when it is read, checked, reported and printed.
var hostile = map[string]func(n int) string{
	"unknown names":           func(n int) string { return "x = [" + each(n, "b%, ") + "]\n" },
	"names almost right":      func(n int) string { return each(n, "abcdef% = 1\n") + each(n, "x = abcdeg%\n") },
	"functions almost right":  func(n int) string { return each(n, "fn abc%(input: [], output: []):\n    abd%()\n") },
	"one function many times": func(n int) string { return strings.Repeat("fn f(input: [], output: []):\n    f()\n", n) },
	"faults in one line":      func(n int) string { return "x = [" + strings.Repeat("é / 0, ", n) + "]\n" },
	"one key many times":      func(n int) string { return "x = {" + strings.Repeat("\"a\": 1, ", n) + "}\n" },
	"keys":                    func(n int) string { return "x = {" + each(n, "\"a%\": 1, ") + "}\n" },
	"clauses":                 func(n int) string { return "try:\n    @ping()\n" + each(n, "except A%:\n    pass\n") },
	"calls in calls":          func(n int) string { return nested(n, "len(", ")") },
	"lists in lists":          func(n int) string { return nested(n, "[", "]") },
	"sums in sums":            func(n int) string { return nested(n, "(1 + ", ")") },
	"dictionaries in their":   func(n int) string { return nested(n, "{\"k\": ", "}") },
	"long lists in deep lists": func(n int) string {
		return "x = " + strings.Repeat("[", 100) + strings.Repeat("1, ", n) + strings.Repeat("]", 100) + "\n"
	},
	"loops in loops": func(n int) string {
		var b strings.Builder
		for range n / 2000 {
			for level := range 150 {
				b.WriteString(strings.Repeat("    ", level) + "while True:\n")
			}
			b.WriteString(strings.Repeat("    ", 150) + "break\n")
		}
		return b.String()
	},
	"tries in tries": func(n int) string {
		var b strings.Builder
		for range max(1, n/5000) {
			for level := range 150 {
				b.WriteString(strings.Repeat("    ", level) + "try:\n")
			}
			b.WriteString(strings.Repeat("    ", 150) + "@log(message=1)\n")
			for level := 149; level >= 0; level-- {
				b.WriteString(strings.Repeat("    ", level) + "except A:\n" + strings.Repeat("    ", level+1) + "pass\n")
			}
		}
		return b.String()
	},
	"functions that fail": func(n int) string {
		return each(n/4, "fn f%(input: [], output: []):\n    fail(\"a\", \"A%\")\n    try:\n        f0()\n        f%()\n    except B%:\n        fail(\"b\", \"C\")\n")
	},
	"policies": func(n int) string { return "@ping() " + each(n, "[A% -> retry: 1] ") + "\n" },
	"types":    func(n int) string { return "@ping() [(" + each(n, "A%, ") + "B) -> retry: 1]\n" },
}

// each repeats a text with the number of the time in the place of %.
func each(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%", fmt.Sprint(i)))
	}
	return b.String()
}

// nested are statements that nest 150 deep, as many as have n levels in all.
func nested(n int, open, end string) string {
	return strings.Repeat("x = "+strings.Repeat(open, 150)+"1"+strings.Repeat(end, 150)+"\n", n/150)
}

// TestW11_NothingGrowsFasterThanTheText: eight times the text takes about eight times the
// memory, and at night, when it is measured, the time. What takes sixty-four times as much would
// take minutes at the bound of the size.
func TestW11_NothingGrowsFasterThanTheText(t *testing.T) {
	const small, factor = 2000, 8
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			if len(text(small*factor)) > syntax.MaxSize {
				t.Fatalf("the text has %d bytes", len(text(small*factor)))
			}
			one, many := cost(t, text(small)), cost(t, text(small*factor))
			if ratio := float64(many.bytes) / float64(one.bytes); ratio > 3*factor {
				t.Errorf("%d times the text allocates %.0f times as much", factor, ratio)
			}
			if ratio := float64(many.time) / float64(one.time); extent.Nightly() && !extent.Watched() && ratio > 5*factor && many.time > time.Second {
				t.Errorf("%d times the text took %.0f times as long", factor, ratio)
			}
		})
	}
}

// work is what something costs.
type work struct {
	bytes uint64
	time  time.Duration
}

// cost is that of the work on a text.
func cost(t *testing.T, text string) work {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	f, err := Text("f", text, actions)
	var faults syntax.Diagnostics
	switch {
	case err == nil:
		if out := syntax.Format(f); len(out) > 40*len(text) {
			t.Fatalf("%d bytes are printed as %d", len(text), len(out))
		}
	case !errors.As(err, &faults) || len(faults) > 2*(syntax.MaxFaults+1) || len(err.Error()) > 400_000:
		t.Fatalf("%d faults, %.200v", len(faults), err)
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return work{after.TotalAlloc - before.TotalAlloc, took}
}

// TestW9_TooManyFaults: a list that is too long to read is cut, and says that there are
// more.
func TestW9_TooManyFaults(t *testing.T) {
	for text, more := range map[string]bool{each(syntax.MaxFaults, "x = b%\n"): false, each(syntax.MaxFaults+1, "x = b%\n"): true} {
		_, err := Text("", text, actions)
		var faults syntax.Diagnostics
		if !errors.As(err, &faults) {
			t.Fatal(err)
		}
		last := faults[len(faults)-1]
		if is := last.Code == syntax.CodeLimit && strings.Contains(last.Text, "more than 100 faults"); is != more || len(faults) < syntax.MaxFaults {
			t.Errorf("%d faults, the last one is %v", len(faults), last)
		}
	}
}
