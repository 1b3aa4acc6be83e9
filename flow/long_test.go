package flow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/perduretest"
)

// runsOf is how many runs the chain of a workflow has.
func runsOf(env *perduretest.Env, id string) int {
	chain := env.Workflow(id).Describe().Chain
	if len(chain) == 0 {
		return 1
	}
	return chain[len(chain)-1].Number
}

// TestW15_PollingForAYear: a program that never ends by itself polls every six hours of a year,
// by day every ten minutes of three days, in runs that each stay short, and its variables are those
// of all of them.
func TestW15_PollingForAYear(t *testing.T) {
	extent.NotInShort(t, "the example of the watcher plays less than a month")
	days, minutes := 365, 365
	if !extent.Nightly() {
		days, minutes = 3, 10
		defer flow.ContinueAfter(300)()
	}
	text := fmt.Sprintf(`
fn main(input: [], output: [seen]):
    seen = {"polls": 0, "last": None}
    failed = False
    until = now() + %d * 24 * 3600
    while now() < until:
        try:
            seen = poll(seen, failed)
        except Rare as e:
            last, failed = [e, True]
        sleep "%dm"
    return [seen.polls, seen.last, isexception(last), last.type]

fn poll(input: [seen, failed], output: [next]):
    n = @echo(x=seen.polls + 1) [retry: 2]
    if n == 17 and not failed:
        @broken(type="Rare")
    next = {"polls": n, "last": "poll " + str(n)}
`, days, minutes)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		began := time.Now()
		out, err := newWorld().durable(t, env, text)
		var got []any
		if err == nil {
			err = json.Unmarshal([]byte(out), &got)
		}
		if err != nil || len(got) != 4 || got[3] != "Rare" || got[0].(float64) < float64(days*24*60/minutes-10) || got[1] != fmt.Sprintf("poll %v", got[0]) {
			t.Errorf("%s, %v", out, err)
		}
		if took := time.Since(began) / (24 * time.Hour); took < time.Duration(days-1) || took > time.Duration(days+1) {
			t.Errorf("it took %s", took)
		}
		if runs, events := runsOf(env, "run"), env.Workflow("run").Describe().HistoryLength; runs < 3 || events > extent.AtNight(500, 2_100) {
			t.Errorf("%d runs, the last with %d events", runs, events)
		}
	})
}

// TestW15_WhereARunCannotContinue it continues until the next statement at which it can;
// if there is none in time, it fails with what to do.
func TestW15_WhereARunCannotContinue(t *testing.T) {
	extent.NotInShort(t, "tens of thousands of events")
	defer flow.ContinueAfter(20)()
	for _, text := range []string{
		"x = 0 + f()\nreturn x\nfn f", "try [retry: 1]:\n    x = f()\nreturn x\nfn f", "x, y = parallel:\n    f()\n    f()\nreturn x\nfn f", "x = f() [retry: 1]\nreturn x\nfn f",
	} {
		head, _, _ := strings.Cut(text, "fn f")
		file := func(rounds int) string {
			return "fn main(input: [], output: [x]):\n    " + strings.ReplaceAll(strings.TrimSpace(head), "\n", "\n    ") +
				fmt.Sprintf("\nfn f(input: [], output: [n]):\n    n = 0\n    while n < %d:\n        n = @echo(x=n + 1)\n", rounds)
		}
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			if out, err := newWorld().durable(t, env, strings.Replace(file(15), "    return x", "    @echo(x=x)\n    return x", 1)); out != "15" || err != nil || runsOf(env, "run") != 2 {
				t.Errorf("%s\n%s, %v, %d runs", text, out, err, runsOf(env, "run"))
			}
		})
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			_, err := newWorld().durable(t, env, file(1000))
			var e *eval.Error
			if !errors.As(err, &e) || e.Type != eval.TypeLimit || e.Line == 0 || !strings.Contains(e.Message, "on a line of their own") {
				t.Errorf("%s\n%v", text, err)
			}
		})
	}
}

// TestW15_LargeVariables: a run whose variables do not fit into the input of another one
// continues, and fails when it is four times as long as it should be.
func TestW15_LargeVariables(t *testing.T) {
	extent.NotInShort(t, "megabytes, copied in every turn")
	after := extent.AtNight(8, 20)
	calls := after * 5 / 4
	defer flow.ContinueAfter(after)()
	const text = "x = \"0123456789abcdef\"\nfor i in range(16):\n    x = x + x\ny = x\ny = y + \"a\"\nx = x + \"b\"\nn = 0\nwhile n < %d:\n    n = @echo(x=n + 1)\ny = None\n@echo(x=1)\nreturn [n, len(x)]\n"
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		if out, err := newWorld().durable(t, env, fmt.Sprintf(text, calls)); out != fmt.Sprintf("[%d,1048577]", calls) || err != nil {
			t.Errorf("%s, %v", out, err)
		}
	})
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		_, err := newWorld().durable(t, env, fmt.Sprintf(text, 1000))
		if err == nil || !strings.Contains(err.Error(), "is the limit; keep it elsewhere") {
			t.Errorf("%v", err)
		}
	})
}

// TestW15_TheChainIsOneRun to those who start it, signal it, ask it or cancel it.
func TestW15_TheChainIsOneRun(t *testing.T) {
	defer flow.ContinueAfter(20)()
	const text = "got = []\nwhile len(got) < 20:\n    got = got + [wait signal more]\n    @echo(x=got)\ntry:\n    sleep 3600\nexcept Canceled:\n    for i in range(20):\n        @echo(x=i)\nreturn len(got)\n"
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		r := newWorld().runtime(t)
		env.Register(r.Definitions()...)
		p := program(t, r, "", text)
		h, err := perduretest.Start(env, flow.Workflow, "run", p)
		if err != nil {
			t.Fatal(err)
		}
		open := perdure.Attach[json.RawMessage](env.Engine(), "run")
		for i := range 20 {
			if err := open.Signal(t.Context(), "more", i); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		if _, err := perduretest.Start(env, flow.Workflow, "run", p); err != nil {
			t.Errorf("the same program is not attached to its chain: %v", err)
		}
		if all, err := open.Query(t.Context(), "variables", nil); err != nil || !strings.Contains(string(all), "19]") {
			t.Errorf("%s, %v", all, err)
		}
		if err := env.Workflow("run").Cancel("enough"); err != nil {
			t.Error(err)
		}
		if out, err := h.Result(); string(out) != "20" || err != nil || runsOf(env, "run") < 4 {
			t.Errorf("%s, %v, %d runs", out, err, runsOf(env, "run"))
		}
	})
}

// TestW15_EveryCrash strikes every write of programs whose runs continue as new: they
// come to the result that they have without a crash.
func TestW15_EveryCrash(t *testing.T) {
	defer flow.ContinueAfter(5)()
	for name, text := range map[string]string{
		"loops": "fn main(input: [], output: [all]):\n    all = []\n    for x in [1, 2]:\n        try:\n            y = step(x)\n            if y > 3:\n                @broken(type=\"Bad\")\n        except Bad as e:\n            y = [e.type, @echo(x=9)]\n        all = all + [y]\nfn step(input: [x], output: [y]):\n    y = @echo(x=x)\n    while y < 4:\n        y = @flaky(x=y + 2, times=1, type=\"N\") [retry: 2]\n",
	} {
		plain := newWorld()
		want := ""
		perduretest.Test(t, func(t *testing.T, _ *perduretest.Env) { want = outcome(plain.plain(t, text)) })
		for _, in := range crashSettings {
			for _, fault := range []perduretest.Fault{perduretest.CrashBefore, perduretest.CrashAfter} {
				if in.name == "postgres-evicted" && !extent.Nightly() {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%v", name, in.name, fault), func(t *testing.T) {
					if in.database != nil {
						extent.NotInShort(t, "databases")
					}
					var options []perduretest.Option
					if in.resident {
						options = append(options, perduretest.Resident())
					}
					if in.database != nil {
						options = append(options, perduretest.Store(in.database(t)))
					}
					perduretest.EveryWrite(t, fault, func(t *testing.T, env *perduretest.Env) {
						w := newWorld()
						if got := outcome(w.durable(t, env, text)); got != want || runsOf(env, "run") < 3 {
							t.Errorf("the result is %s, want %s, in %d runs", got, want, runsOf(env, "run"))
						}
						for call, n := range w.runs {
							if n > plain.runs[call]+env.Crashes() {
								t.Errorf("%s ran %d times with %d crashes, want %d", call, n, env.Crashes(), plain.runs[call])
							}
						}
					}, options...)
				})
			}
		}
	}
}
