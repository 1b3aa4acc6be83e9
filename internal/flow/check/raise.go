package check

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/retry"
)

// Errors are the types of errors that an action can fail with, besides those that
// every action can have, such as Timeout. Nil is any type. A name with a point is the
// type of an error of Go, and not listed.
type Errors map[string]bool

// The errors of the built-in actions.
var (
	HTTPErrors  = httpErrors()
	ShellErrors = shellErrors()
	FileErrors  = named("FileError", "NotExist", "Permission", eval.TypeLimit)
	NoErrors    = named()

	DownloadErrors = both(HTTPErrors, FileErrors)
)

func both(e, other Errors) Errors {
	e = maps.Clone(e)
	maps.Copy(e, other)
	return e
}

func named(names ...string) Errors {
	e := Errors{}
	for _, n := range names {
		e[n] = true
	}
	return e
}

func httpErrors() Errors {
	e := named("HTTPError4xx", "HTTPError5xx", "HTTP4xx", "HTTP5xx", "NetworkError", "HTTPNetwork", "HTTPTimeout", eval.TypeLimit, eval.TypeValue)
	for status := 400; status < 600; status++ {
		e[fmt.Sprintf("HTTPError%d", status)], e[fmt.Sprintf("HTTP%d", status)] = true, true
	}
	return e
}

func shellErrors() Errors {
	e := named("ShellError", eval.TypeLimit)
	for code := 1; code < 256; code++ {
		e[fmt.Sprintf("ShellError%d", code)] = true
	}
	return e
}

// ofEveryAction are the types that come from running an action at all.
var ofEveryAction = named(retry.TypeError, retry.TypeTimeout, retry.TypeHeartbeatTimeout, retry.TypeQueueTimeout, retry.TypePanic,
	retry.TypeWorkerLost, retry.TypeCanceled, retry.TypeExhausted, retry.TypeRefused, retry.TypeDeadlineExceeded, "SecretError", eval.TypeType)

// ofTheLanguage are the types that flow files have names for.
var ofTheLanguage = func() Errors {
	all := both(both(ofEveryAction, DownloadErrors), ShellErrors)
	for _, e := range eval.ErrorTypes {
		all[e.Type] = true
	}
	return all
}()

// raised is what some statements can fail with.
type raised struct {
	any   bool // an action of the program, or fail with a type that is worked out
	types Errors
}

// can reports whether an error may have the type, as far as the checker knows.
func (r *raised) can(name string) bool {
	return r.any || r.types[name] || ofTheLanguage[name] || strings.Contains(name, ".")
}

// maxRaising is how many calls are looked at to find out what blocks fail with. Beyond
// it a block may fail with anything.
const maxRaising = 1_000_000

// raises returns what a block can fail with, the functions it calls included.
func (c *checker) raises(b *syntax.Block) *raised {
	r := &raised{types: Errors{}, any: c.broken}
	c.raisesInto(r, b, map[*syntax.Function]bool{})
	return r
}

func (c *checker) raisesInto(r *raised, b *syntax.Block, seen map[*syntax.Function]bool) {
	called := func(fn *syntax.Function) {
		if !seen[fn] {
			seen[fn] = true
			c.raisesInto(r, fn.Body, seen)
		}
	}
	for x := range syntax.Exprs(b) {
		if c.raising++; c.raising > maxRaising || r.any {
			r.any = true
			return
		}
		switch x := x.(type) {
		case *syntax.Action:
			a, known := c.actions[x.Name.Name]
			r.any = !known || a.Errors == nil
			maps.Copy(r.types, a.Errors)
			c.raising += len(a.Errors)
		case *syntax.Call:
			switch fn := c.functions[x.Name.Name]; {
			case fn != nil:
				called(fn)
			case !eval.IsBuiltin(x.Name.Name):
				r.any = true
			case x.Name.Name == "fail" && len(x.Args) == 2:
				kind, is := x.Args[1].Value.(*syntax.String)
				if r.any = !is; is {
					r.types[kind.Value] = true
				}
			case x.Name.Name == "fail" && len(x.Args) == 1:
				// An error that is passed on is one that some block of the file raises.
				if _, is := x.Args[0].Value.(*syntax.String); !is {
					for _, fn := range c.file.Functions {
						called(fn)
					}
				}
			}
		}
	}
}

// policyTypes checks the error types that a policy names.
func (c *checker) policyTypes(a *syntax.Action, types []string) {
	action, known := c.actions[a.Name.Name]
	c.timeoutTypes(a, types, known && action.Errors != nil)
	if !known || action.Errors == nil {
		return
	}
	for _, t := range types {
		if action.Errors[t] || ofEveryAction[t] || strings.Contains(t, ".") {
			continue
		}
		hint := cmp.Or(ErrorHint(t), "It fails with "+some(action.Errors)+", or as every action does, such as Timeout.")
		c.report(c.inBrackets(a, t), syntax.CodeError, hint, "the action %s never fails with %s", a.Name.Name, t)
	}
}

// timeoutTypes checks that what a policy says of timeouts can happen. Only a body that is
// not known can fail with Timeout by itself.
func (c *checker) timeoutTypes(a *syntax.Action, types []string, known bool) {
	p := a.Policy
	for _, t := range []struct {
		name, key string
		bound     time.Duration
		always    bool
	}{
		{retry.TypeTimeout, "timeout", p.AttemptTimeout, known},
		{retry.TypeHeartbeatTimeout, "heartbeat", p.HeartbeatTimeout, true},
		{retry.TypeQueueTimeout, "queue", p.QueueTimeout, true},
	} {
		if t.always && t.bound == 0 && slices.Contains(types, t.name) {
			c.report(c.inBrackets(a, t.name), syntax.CodeError, fmt.Sprintf("Give it one: [%s: 30s].", t.key), "nothing fails with %s, because the policy has no %s", t.name, t.key)
		}
	}
}

// inBrackets is where a word stands in a policy.
func (c *checker) inBrackets(a *syntax.Action, word string) syntax.Span {
	text := c.file.Text[a.Brackets.From:a.Brackets.To]
	at := regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).FindStringIndex(text)
	if at == nil {
		return a.Brackets
	}
	return syntax.Span{From: a.Brackets.From + at[0], To: a.Brackets.From + at[1]}
}

// some are examples of types.
func some(e Errors) string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(e)) {
		if !strings.ContainsAny(n, "0123456789") || strings.HasSuffix(n, "xx") && strings.HasPrefix(n, "HTTPError") {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "no type of its own"
	}
	return strings.Join(names, ", ")
}

// statuses are names of HTTP errors that no status has.
var statuses = regexp.MustCompile(`^HTTP(Error)?([0-9]+)(xx)?$`)

// ErrorHint returns what was probably meant by the name of an error type that flow files
// do not have. It is empty for existing names, and for names that are like none of them.
func ErrorHint(name string) string {
	switch {
	case ofTheLanguage[name] || strings.Contains(name, "."):
		return ""
	case everyError(name):
		return "Without types it is for every error."
	case name == "HTTPError":
		return "Name a status or all of its kind: HTTPError429, HTTPError5xx."
	case strings.HasSuffix(name, "Timeout") || strings.HasSuffix(name, "TimeoutError") || name == "TimedOut":
		return "An attempt that takes too long fails with Timeout."
	case statuses.MatchString(name):
		return "Statuses that are errors go from 400 to 599: HTTPError429; HTTPError4xx and HTTPError5xx are all of a kind."
	}
	if len(name) < 8 { // two letters of a short word make it another one
		return ""
	}
	return near.Hint(name, maps.Keys(ofTheLanguage))
}

// exceptType checks whether the block of a try can fail with a type.
func (c *checker) exceptType(t syntax.Ident, block *raised) {
	if block.can(t.Name) {
		return
	}
	name := "No action in the block has it, and no fail names it."
	if strings.ToLower(t.Name) == t.Name {
		name = "To give the error a name: except as " + t.Name + ":"
	}
	hint := cmp.Or(near.Hint(t.Name, maps.Keys(block.types)), ErrorHint(t.Name), name)
	c.report(t, syntax.CodeError, hint, "nothing in the block of this try fails with %s", t.Name)
}
