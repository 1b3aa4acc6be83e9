package docs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/rehearsal"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/perduretest"
)

func TestTheTablesOfFlowFiles(t *testing.T) {
	page := func(name string, header []string, rows [][]string) {
		t.Helper()
		Section(t, *update, "flow.md", "flow:"+name, table(header, rows))
	}
	var rows [][]string
	for _, e := range eval.ErrorTypes {
		rows = append(rows, []string{code(e.Type), e.Meaning})
	}
	page("errors", []string{"type", "errors"}, rows)

	rows = nil
	for _, b := range flow.Builtins {
		rows = append(rows, []string{code(b.Form), b.Meaning})
	}
	page("actions", []string{"action", "meaning"}, rows)

	rows = nil
	for _, e := range flow.ErrorTypes {
		rows = append(rows, []string{code(e.Type), e.Meaning})
	}
	page("action-errors", []string{"type", "errors"}, rows)

	var forms []string
	for _, b := range eval.Builtins() {
		forms = append(forms, code(b.Form))
	}
	Section(t, *update, "flow.md", "flow:functions", strings.Join(forms, ", ")+"\n")

	var codes []string
	for _, c := range syntax.Codes {
		codes = append(codes, code(c.Code))
	}
	Section(t, *update, "flow.md", "flow:codes", strings.Join(codes, ", ")+"\n")

	var all strings.Builder
	for _, e := range []struct{ name, title, then string }{
		{"nightly", "A nightly export", "perdure schedules create nightly nightly.flow --cron \"30 2 * * *\" --input '{\"service\": \"http://warehouse\"}'\nperdure flow serve"},
		{"import", "An import of many rows", "perdure flow run import.flow --input '{\"service\": \"http://crm\"}'"},
		{"approval", "An approval with a reminder and a deadline", "perdure start approval.flow chair --input '{\"service\": \"http://desk\", \"item\": \"a chair\"}'\nperdure signal chair approval '{\"approved\": true, \"by\": \"ann\"}'\nperdure flow run approval.flow --id chair --input '{\"service\": \"http://desk\", \"item\": \"a chair\"}'"},
	} {
		text, err := os.ReadFile(filepath.Join(Root(), "flow", "examples", e.name+".flow"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "### %s\n\n```flow\n%s```\n\n```sh\n%s\n```\n\n", e.title, text, e.then)
	}
	Section(t, *update, "flow.md", "flow:examples", strings.TrimSuffix(all.String(), "\n"))

	rows = nil
	for _, b := range []struct {
		what string
		most int
		unit string
	}{
		{"a file", syntax.MaxSize, "bytes"},
		{"brackets and blocks inside one another", syntax.MaxNesting, "levels"},
		{"operators in one statement", syntax.MaxOperators, ""},
		{"names or arguments in a row", syntax.MaxNames, ""},
		{"work without waiting for anything", eval.MaxSteps, "steps"},
		{"functions that call each other", eval.MaxCalls, "levels"},
		{"a value, and so the result of a run", eval.MaxValue, "bytes"},
		{"lists and dictionaries inside one another", eval.MaxDepth, "levels"},
		{"elements of a spread without a limit, calls of a parallel", eval.MaxSpread, ""},
		{"a number in a limit, a rate or a burst", syntax.MaxCount, ""},
		{"faults that are reported", syntax.MaxFaults, ""},
		{"an answer, an output or a file that an action returns; @http.download has no bound", flow.MaxResult, "bytes"},
		{"the history of a run, then it continues as new", flow.ContinueEvents, "events"},
		{"the history of a run where it cannot continue as new", flow.ContinueEvents * eval.Longest, "events"},
		{"the variables of a run that continues as new, with its file", eval.MaxValue, "bytes"},
		{"a file of cases", rehearsal.MaxFile, "bytes"},
		{"attempts and waits of one case", rehearsal.MaxSteps, ""},
	} {
		rows = append(rows, []string{b.what, strings.TrimSpace(fmt.Sprintf("%d %s", b.most, b.unit))})
	}
	page("bounds", []string{"what", "at most"}, rows)
}

// flowFiles are those that stand in a page.
func flowFiles(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(), filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "```flow\n")
	for _, part := range parts[1:] {
		program, _, _ := strings.Cut(part, "```")
		all = append(all, program)
	}
	return all
}

// TestFlowFilesOfPagesAreRight checks every flow file that stands in a page. Their
// actions exist, whatever they are called.
func TestFlowFilesOfPagesAreRight(t *testing.T) {
	runtime, err := flow.New(flow.AllowShell(), flow.Files(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range []string{"README.md", "docs/flow.md"} {
		for _, program := range flowFiles(t, name) {
			found++
			known := maps.Clone(*seal.Of(runtime))
			for _, action := range []string{"work", "fetch", "report", "charge", "tell"} {
				known[action] = check.Action{Open: true}
			}
			if _, err := check.Text(name, program, known); err != nil {
				t.Errorf("%s: %v\n%s", name, err, program)
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d flow files were found", found)
	}
}

// TestFlowFilesOfPagesRun runs those that need nothing but their actions: of these,
// charging a card fails for good.
func TestFlowFilesOfPagesRun(t *testing.T) {
	ran := 0
	for _, program := range flowFiles(t, "docs/flow.md") {
		if strings.Contains(program, "input: [") || strings.Contains(program, "@http") || strings.Contains(program, "@file") {
			continue // those are tried as the examples
		}
		ran++
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			var told []string
			var actions []activity.Definition
			for _, name := range []string{"work", "fetch", "report", "charge", "tell"} {
				actions = append(actions, activity.New(name, func(_ context.Context, args map[string]any) (any, error) {
					switch name {
					case "charge":
						return nil, &declined{}
					case "report", "tell":
						told = append(told, fmt.Sprint(name, " ", args))
					}
					return args["x"], nil
				}))
			}
			runtime, err := flow.New(flow.Actions(actions...))
			if err != nil {
				t.Fatal(err)
			}
			env.Register(runtime.Definitions()...)
			file, err := runtime.Load("", program)
			if err != nil {
				t.Fatal(err)
			}
			start, err := file.With(nil)
			if err == nil {
				_, err = perduretest.Run(env, flow.Workflow, "page", start)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, program)
			}
			for action, want := range map[string]string{
				"@report": "report map[all:[[a b] left right [1 2]]]", "@charge": "tell map[text:CardDeclined after 1 attempts: no]",
			} {
				if strings.Contains(program, action) && !slices.Equal(told, []string{want}) {
					t.Errorf("%q, want %q", told, want)
				}
			}
		})
	}
	if ran < 3 {
		t.Errorf("only %d were run", ran)
	}
}

type declined struct{}

func (*declined) Error() string     { return "no" }
func (*declined) ErrorType() string { return "CardDeclined" }
