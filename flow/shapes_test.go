package flow_test

import "strings"

// shape is a program that waits in one of the ways in which programs do.
type shape struct {
	text   string
	atOnce int // actions that are at work at the same time, at most
}

// shapes are programs that use all of the language that waits.
var shapes = map[string]shape{
	"chain":        {"a = @echo(x=1)\nb = @flaky(x=a + 1, times=1, type=\"N\") [retry: 1]\nc = @echo(x=[a, b])\nreturn c\n", 1},
	"spread":       {"xs = spread [1, 2, 3]: x -> @flaky(x=x * 10, times=x - 1, type=\"N\") [retry: 2, backoff: 1s]\nreturn xs\n", 3},
	"parallel":     {"fn main(input: [], output: [r]):\n    a, b = parallel:\n        both(1)\n        @echo(x=2)\n    r = [a, b]\nfn both(input: [x], output: [y]):\n    y = @echo(x=x + 1)\n    y = @echo(x=y + 1)\n", 2},
	"compensation": {"done = []\ntry:\n    done = done + [@echo(x=\"booked\")]\n    @broken(type=\"Sold\") [retry: 1]\nexcept Sold as e:\n    done = done + [@echo(x=\"undone\"), e.message]\nreturn done\n", 1},
	"polling":      {"n = 0\nwhile n < 3:\n    n = @echo(x=n + 1)\n    sleep 60\nreturn n\n", 1},
	"block":        {"fn main(input: [], output: [r]):\n    n = 0\n    try [N -> retry: 2, fixed: 1m, jitter: none]:\n        n = n + 1\n        a = @echo(x=n)\n        b = @broken(type=\"N\")\n    except N as e:\n        b = [n, e.type, e.attempts]\n    c = failing() [retry: 1] or 0\n    r = [n, b, c]\nfn failing(input: [], output: [x]):\n    x = @echo(x=7)\n    @flaky(x=1, times=0, type=\"N\")\n", 1},
	"limited":      {"gate slow [limit: 1]\nfn main(input: [], output: [r]):\n    xs = spread [1, 2, 3, 4] [limit: 2, errors: values]: x -> one(x)\n    a, b = parallel [limit: 1]:\n        @echo(x=1)\n        @echo(x=2)\n    r = [xs, a, b]\nfn one(input: [x], output: [y]):\n    y = @echo(x=x) [gate: slow]\n    if x == 3:\n        @broken(type=\"Bad\") [retry: 1]\n", 2},
	"seven": {strings.Join([]string{
		"a = @echo(x=1) [retry: 1]", "b = @flaky(x=2, times=1, type=\"A\") [A -> retry: 2, fixed: 5s]", "c = @echo(x=3) [timeout: 1m]",
		"d = @flaky(x=4, times=2, type=\"B\") [retry: 2, linear: 1s]", "e = @echo(x=5) [retry: 1] [within: 1h]", "f = @flaky(x=6, times=1, type=\"C\") [(B, C) -> retry: 1]", "g = @echo(x=7)",
		"return [a, b, c, d, e, f, g]\n"}, "\n"), 1},
}

// tour is a program that uses what the shapes leave out: all that a replay must give
// again, each way out of a block, and waiting inside of everything.
const tour = `fn main(input: [], output: [seen, kept]):
    begun = now()
    id = uuid()
    luck = random()
    kept = [len(id), luck >= 0 and luck < 1, now() == begun]
    seen = []
    for n, word in enumerate(["one", "two", "three", "four"]):
        if n == 0:
            continue
        elif n == 3:
            break
        else:
            seen = seen + [@echo(x={word: n}) [retry: 1]]
        sleep "1m30s"
    left, right = parallel:
        slowly(n=2)
        slowly(n=1)
    seen = seen + [left, right] + parallel(slowly(n=0), @echo(x="p"))
    try:
        spread ["a", "b"]: x -> @broken(type=x) [retry: 1, fixed: 1s, jitter: none]
    except (b, a) as e:
        seen = seen + [e.type, e.attempts, isexception(e)]
    try:
        try:
            @hang() [Timeout -> retry: 1] [timeout: 10s]
        except Timeout as e:
            fail(e)
    except:
        seen = seen + ["passed on"]
    seen = seen + [@echo(x=[begun == begun, id == id, json({"k": None})])]

fn slowly(input: [n], output: [n]):
    while n > 0:
        sleep 1
        n = @echo(x=n - 1)
`

// canceled is a program that is canceled in its first minute, and cleans up.
const canceled = `try:
    sleep 3600
except Canceled as e:
    y = @echo(x="cleaned") [retry: 1]
    sleep 1
    return [y, e.type]
`
