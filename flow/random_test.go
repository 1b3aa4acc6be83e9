package flow_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
)

// TestW8_RandomPrograms: what the interpreter on an engine that crashes gives is
// what the plain evaluator gives.
func TestW8_RandomPrograms(t *testing.T) {
	programs := extent.AtNight(80, 1500)
	if testing.Short() {
		programs = 20
	}
	failed, crashed := 0, 0
	for seed := range programs {
		g := &programmer{Rand: rand.New(rand.NewPCG(uint64(seed), 6))}
		text := g.program()
		want := ""
		perduretest.Test(t, func(t *testing.T, _ *perduretest.Env) { want = outcome(newWorld().plain(t, text)) })
		if strings.HasPrefix(want, "[") && strings.Contains(want, ": ") && !strings.HasPrefix(want, "[[") {
			failed++
		}
		for n, fault := range []perduretest.Fault{perduretest.CrashBefore, perduretest.CrashAfter} {
			back := flow.ContinueAfter(5 + 5000*n) // runs that continue as new, and one that does not
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				for write, n := 2+g.IntN(8), 0; n < 3; write, n = write+1+g.IntN(8), n+1 {
					env.At(write, fault)
				}
				if got := outcome(newWorld().durable(t, env, text)); got != want {
					t.Errorf("seed %d gives %s, want %s\n%s", seed, got, want, text)
				}
				crashed += env.Crashes()
			})
			back()
		}
	}
	t.Logf("%d programs, of which about %d failed, %d crashes", programs, failed, crashed)
	if !testing.Short() && (crashed < programs || failed == 0 || failed > programs*3/4) {
		t.Errorf("%d programs, of which about %d failed, %d crashes: the test does not try what it should", programs, failed, crashed)
	}
}

// programmer writes programs that end, use actions in every place where they may
// stand, and fail now and then.
type programmer struct {
	*rand.Rand
	b     strings.Builder
	level int
	vars  int
}

func (g *programmer) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("    ", g.level) + fmt.Sprintf(format, args...) + "\n")
}

func (g *programmer) program() string {
	g.line("gate one [limit: 1]")
	g.line("gate two [limit: 2, rate: 100/1s, burst: 10, mode: hold]")
	g.line("fn main(input: [], output: [result]):")
	g.level++
	g.line("a = 1")
	g.line("b = [2, \"x\"]")
	g.vars = 2
	g.statements(3)
	g.line("return [a, b]")
	g.level--
	g.line("fn twice(input: [x], output: [y, z]):")
	g.line("    y = @echo(x=x) [retry: 1]")
	g.line("    z = @flaky(x=x, times=1, type=\"N\") [N -> retry: 2, backoff: 1s]")
	return g.b.String()
}

func (g *programmer) pick(from ...string) string { return from[g.IntN(len(from))] }
func (g *programmer) name() string               { return g.pick("a", "b") }

func (g *programmer) statements(depth int) {
	for range 1 + g.IntN(3) {
		g.statement(depth)
	}
}

func (g *programmer) block(depth int) {
	g.level++
	g.statements(depth - 1)
	g.level--
}

func (g *programmer) statement(depth int) {
	kind := g.IntN(12)
	if depth == 0 {
		kind = g.IntN(6)
	}
	switch kind {
	case 0, 1, 2:
		g.line("%s = %s", g.name(), g.value(2))
	case 3:
		g.line("sleep %s", g.pick("0", "1", "\"1h\"", "0.5"))
	case 4:
		g.line("a, b = twice(%s)", g.value(1))
	case 5:
		g.line("%s = spread [1, %s, 3]%s: e -> %s", g.name(), g.value(0), g.pick("", " [limit: 1]", " [limit: 2]", " [limit: 5]"), g.pick(g.action("e"), g.action("e"), "twice(e)"))
	case 6:
		g.line("if %s:", g.value(1))
		g.block(depth)
		g.line("else:")
		g.block(depth)
	case 7:
		g.line("for i in [0, 1]:")
		g.block(depth)
		if g.IntN(2) == 0 {
			g.line("    if i == 0:")
			g.line("        %s", g.pick("break", "continue", "pass"))
		}
	case 8, 9:
		g.line("try:")
		g.line("    @echo(x=0)") // which may fail with any type, as far as the checker knows
		g.block(depth)
		g.line("except %s:", g.pick("A as e", "(A, TypeError) as e", "B as e", "Z as e"))
		g.level++
		g.line("%s = [e.type, e.message]", g.name())
		g.level--
	case 10:
		g.line("a, b = parallel:")
		g.line("    %s", g.action("a"))
		g.line("    %s", g.pick("twice(b)", g.action("b")))
	case 11:
		g.line("n = 0")
		g.line("while n < 2:")
		g.line("    n = n + 1")
		g.block(depth)
		g.line("    n = n + 1")
	}
}

// value is an expression; some fail.
func (g *programmer) value(depth int) string {
	if depth == 0 {
		return g.pick("1", "-7", "\"s\"", "None", "True", "2.5", g.name())
	}
	switch g.IntN(8) {
	case 0:
		return "[" + g.value(depth-1) + ", " + g.value(depth-1) + "]"
	case 1:
		return "{\"k\": " + g.value(depth-1) + "}"
	case 2:
		left, op, right := g.value(depth-1), g.pick(" == ", " != ", " and ", " or "), g.value(depth-1)
		if strings.ContainsAny(op, "=") { // the checker refuses a comparison with a comparison
			return "(" + left + ")" + op + "(" + right + ")"
		}
		return left + op + right
	case 3:
		return "len(str(" + g.value(depth-1) + ")) * " + g.pick("2", "3")
	case 4:
		return "[" + g.value(depth-1) + "] + [" + g.action(g.name()) + "]"
	case 5:
		return "slice(json(" + g.value(depth-1) + "), 0, 20)"
	case 6:
		left := g.value(depth - 1)
		if left == "\"s\"" { // the checker sees that this fails
			left = g.name()
		}
		if strings.Contains(left, " ") {
			left = "(" + left + ")"
		}
		return left + g.pick(" + ", " * ", " - ") + g.pick("1", g.name())
	}
	return g.action(g.value(0))
}

// action is a call of an action. What fails now and then is retried often enough,
// so that an attempt that is lost in a crash changes nothing.
func (g *programmer) action(x string) string {
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("@broken(type=%q) [retry: %d, backoff: 1s]", g.pick("A", "B"), g.IntN(3))
	case 1, 2:
		return fmt.Sprintf("@flaky(x=%s, times=%d, type=\"N\") %s", x, g.IntN(3), g.pick("[retry: 2]", "[N -> retry: 3, backoff: 2s]", "[retry: 2, fixed: 1m] [timeout: 1h]"))
	}
	return "@echo(x=" + x + ")" + g.pick("", " [gate: one]", " [gate: (one, two)]") + g.pick("", " [retry: 1]", " [timeout: 1m]")
}
