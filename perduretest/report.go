package perduretest

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// report tells of a test that failed what one needs to know to find out why.
func (e *Env) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d writes to the database and %d crashes:\n", len(e.writes), e.crashes)
	for _, w := range e.writes {
		fmt.Fprintf(&b, "  %s\n", w)
	}
	fmt.Fprintf(&b, "To run it again: %s", again(e.t.Name()))
	return b.String()
}

// again is the command that runs this test and no other one.
func again(test string) string {
	elements := strings.Split(test, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, is := strings.CutSuffix(info.Path, ".test"); is {
			pkg = path
		}
	}
	return fmt.Sprintf("go test -count=1 -run '%s' %s", strings.Join(elements, "/"), pkg)
}
