package flow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
)

// most is how many attempts were at work at the same time, of those that took a minute.
func (w *world) most() (most int) {
	starts := w.started()
	for i := range starts {
		n := 0
		for _, other := range starts[:i+1] {
			if starts[i].Sub(other) < time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestW16_Limits: a spread of any length makes as many calls at once as its limit says,
// and so does a parallel; results are in the order of the elements.
func TestW16_Limits(t *testing.T) {
	const one = "\nfn one(input: [x], output: [y]):\n    @echo(x=x)\n    sleep 60\n    y = x * 2\n"
	for text, want := range map[string]string{
		"r = spread range(7) [limit: 3]: x -> one(x)":                                              "[0,2,4,6,8,10,12]",
		"r = parallel(one(1), one(2), one(3), one(4)) [limit: 3]":                                  "[2,4,6,8]",
		"r = parallel [limit: 3]:\n        one(1)\n        one(2)\n        one(3)\n        one(4)": "[2,4,6,8]",
		"r = sum(spread range(7) [limit: 3]: x -> one(x))":                                         "42",
	} {
		for _, events := range []int{4, 1000} {
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				defer flow.ContinueAfter(events)()
				w := newWorld()
				out, err := w.durable(t, env, "fn main(input: [], output: [r]):\n    "+text+one)
				if out != want || err != nil || w.most() != 3 {
					t.Errorf("%s\n%s, %v, %d at once", text, out, err, w.most())
				}
				if runs := runsOf(env, "run"); (runs > 1) != (events == 4 && strings.HasPrefix(text, "r = spread")) {
					t.Errorf("%s: %d runs", text, runs)
				}
			})
		}
	}
}

// TestW16_ErrorsAsValues: nothing that succeeded is lost, errors stand where their
// results would, those of earlier runs included; a cancellation is none of them.
func TestW16_ErrorsAsValues(t *testing.T) {
	const tail = "\n    r = []\n    for x in xs:\n        if isexception(x):\n            x = [x.type, x.message, x.attempts]\n        r = r + [x]\nfn one(input: [x], output: [y]):\n    if x == 2:\n        @broken(type=\"Bad\") [retry: 1]\n    y = @echo(x=x)\n"
	for text, want := range map[string]string{
		"xs = spread [1, 2, 3] [errors: values]: x -> one(x)":                                                         `[1,["Bad","it is broken",2],3]`,
		"xs = spread [1, 2, 3] [limit: 1, errors: values]: x -> one(x)":                                               `[1,["Bad","it is broken",2],3]`,
		"xs = spread [\"A\", \"B\"] [errors: values]: x -> @broken(type=x)":                                           `[["A","it is broken",1],["B","it is broken",1]]`,
		"xs = spread [\"A\", \"B\"] [limit: 1, errors: values]: x -> @broken(type=x)":                                 `[["A","it is broken",1],["B","it is broken",1]]`,
		"xs = parallel(one(1), one(2), fail(\"no\", \"Mine\")) [errors: values]":                                      `[1,["Bad","it is broken",2],["Mine","no",0]]`,
		"xs = []\n    try:\n        spread [1, 2, 3] [limit: 1]: x -> one(x)\n    except Bad as e:\n        xs = [e]": `[["Bad","it is broken",2]]`,
	} {
		for _, events := range []int{3, 1000} {
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				defer flow.ContinueAfter(events)()
				w := newWorld()
				out, err := w.durable(t, env, "fn main(input: [], output: [r]):\n    "+text+tail)
				if out != want || err != nil {
					t.Errorf("%s\n%s, %v, want %s, in %d runs", text, out, err, want, runsOf(env, "run"))
				}
			})
		}
	}
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		r := newWorld().runtime(t)
		env.Register(r.Definitions()...)
		h, err := perduretest.Start(env, flow.Workflow, "run", program(t, r, "", "fn main(input: [], output: [xs]):\n    xs = spread [1, 2] [limit: 1, errors: values]: x -> slow(x)\nfn slow(input: [x], output: [x]):\n    sleep 3600\n"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := env.Workflow("run").Cancel("enough"); err != nil {
			t.Fatal(err)
		}
		if out, err := h.Result(); err == nil {
			t.Errorf("the cancellation became the value %s", out)
		}
	})
}

// TestW16_Gates: calls that name a gate pass through it, whatever runs they are of.
func TestW16_Gates(t *testing.T) {
	const text = "gate narrow [limit: 2, rate: 4/1m, burst: 1]\nxs = spread range(6): x -> @echo(x=x) [gate: narrow] [retry: 1]\nreturn xs\n"
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		w := newWorld()
		began := time.Now()
		out, err := w.durable(t, env, text)
		if took := time.Since(began); out != "[0,1,2,3,4,5]" || err != nil || took < 74*time.Second || took > 80*time.Second {
			t.Errorf("%s, %v, after %s", out, err, took)
		}
	})
}

// TestW16_HundredThousandRows (12,000 but at night): a spread over more elements than one run can take makes
// each call once, in runs that each stay short.
func TestW16_HundredThousandRows(t *testing.T) {
	extent.NotInShort(t, "very many rows")
	rows := 12_000
	if extent.Nightly() {
		rows = 100_000 // a minute
	}
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		w := newWorld()
		out, err := w.durable(t, env, fmt.Sprintf("xs = spread range(%d) [limit: 50]: x -> @echo(x=x)\nreturn [len(xs), sum(xs)]\n", rows))
		if want := fmt.Sprintf("[%d,%d]", rows, rows*(rows-1)/2); out != want || err != nil || len(w.runs) != rows {
			t.Errorf("%s, %v, %d calls", out, err, len(w.runs))
		}
		if runs := runsOf(env, "run"); runs < rows/1100 {
			t.Errorf("%d runs", runs)
		}
	}, perduretest.Resident())
}
