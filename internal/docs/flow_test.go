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
	list := func(name string, items []string) {
		t.Helper()
		Section(t, *update, "flow.md", "flow:"+name, strings.Join(items, "; ")+".\n")
	}
	var items []string
	for _, e := range eval.ErrorTypes {
		items = append(items, code(e.Type)+" "+e.Meaning)
	}
	list("errors", items)

	var rows [][]string
	for _, b := range flow.Builtins {
		rows = append(rows, []string{code(b.Form), b.Meaning})
	}
	page("actions", []string{"action", "meaning"}, rows)

	items = nil
	for _, e := range flow.ErrorTypes {
		items = append(items, code(e.Type)+" "+e.Meaning)
	}
	list("action-errors", items)

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

	items = nil
	for _, b := range []struct {
		what string
		most int
		unit string
	}{
		{"a file", syntax.MaxSize, "bytes"},
		{"nested brackets and blocks", syntax.MaxNesting, "levels"},
		{"operators in a statement", syntax.MaxOperators, ""},
		{"names or arguments in a row", syntax.MaxNames, ""},
		{"work without a wait", eval.MaxSteps, "steps"},
		{"nested calls", eval.MaxCalls, "levels"},
		{"a value, a result", eval.MaxValue, "bytes"},
		{"nested lists and dictionaries", eval.MaxDepth, "levels"},
		{"a spread without a limit, a parallel", eval.MaxSpread, "calls"},
		{"a limit, rate or burst", syntax.MaxCount, ""},
		{"reported faults", syntax.MaxFaults, ""},
		{"what an action returns (a download has no bound)", flow.MaxResult, "bytes"},
		{"a history, then it continues as new", flow.ContinueEvents, "events"},
		{"a history where that is impossible", flow.ContinueEvents * eval.Longest, "events"},
		{"variables and file of a run that continues as new", eval.MaxValue, "bytes"},
		{"a file of cases", rehearsal.MaxFile, "bytes"},
		{"attempts and waits of a case", rehearsal.MaxSteps, ""},
	} {
		items = append(items, b.what+": "+strings.TrimSpace(fmt.Sprintf("%d %s", b.most, b.unit)))
	}
	list("bounds", items)
	if text, err := os.ReadFile(filepath.Join(Root(), "docs", "flow.md")); err != nil || len(strings.Fields(string(text))) > 3000 {
		t.Errorf("flow.md has %d words, of 3000 at most, which is what is read in a quarter of an hour: %v", len(strings.Fields(string(text))), err)
	}
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
