package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const root = "../../../.."

// unseen are the directories whose errors no user of the library or the command sees.
var unseen = []string{
	"bench", "lab", "tools", "examples", "internal/layout", "internal/docs", "internal/clustertest", "internal/killtest",
	"internal/faulty", "internal/roomtest", "internal/upgradetest", "internal/witness", "internal/golden", "internal/goldenfile", "internal/pgtest", "internal/upgradetest", "store/storetest", "testdata",
}

// makers are the functions and types that make errors, and which of their arguments or
// fields are texts.
var makers = map[string][]string{
	"errors.New": {"0"}, "fmt.Errorf": {"0"}, "usage": {"0", "1"}, "failure": {"1", "2"}, "Error": {"What", "Hint"}, "InputError": {"Problem"},
	"history.InputError": {"Problem"}, "view.InputError": {"Problem"}, "LimitError": {"Hint"}, "view.LimitError": {"Hint"}, "param.Bad": {"2"},
}

// short are texts of few words with neither a cause nor a next step, and why that is enough.
var short = map[string]string{
	"Interrupted.":                                         "the person did it",
	"Add --fast-forward.":                                  "stands under what is wrong",
	"Use --request.":                                       "stands under what is wrong",
	"a node needs an ID to join":                           "the engine gives every node one",
	"ask Group which partitions a group has":               "the partition stands before it",
	"it called runtime.Goexit (a test's FailNow, perhaps)": "the step stands before it",
	"it must be table, json or jsonl":                      "the flag stands before it",
	"it stands by and has a slot":                          "the ticket stands before it",
	"the code of the run is missing":                       "the workflow and the engine stand behind it",
	"the database is newer than this program":              "both versions stand behind it",
	"the database is not a perdure database":               "the file and what it is stand around it",
	"a new run needs an ID":                                "stands in a turn that is malformed",
	"another turn of this number exists":                   "the engine acts on it",
	"forever is not a duration":                            "may be in recorded results of flow files, which replay",
	"is empty":                                             "the flag and what to do stand around it",
	"are missing":                                          "what to give follows",
	"Nothing is chosen":                                    "what to choose follows",
	"is missing":                                           "the place that it is of stands around it: turn 3: the run is missing",
	"it has another form":                                  "the cursor stands before it",
	"it names no run":                                      "stands in a turn that is malformed",
	"it runs without a slot":                               "the ticket stands before it",
	"it did not leave":                                     "the process stands before it",
	"nothing has moved for too long":                       "the run whose end did not come stands around it",
	"the connection is cut":                                "the network of a torture acts on it",
	"the process is not open yet":                          "the torture acts on it",
	"the server speaks without encryption only":            "the next way to the server is tried",
	"its group has had its time":                           "the committer acts on it",
	"its number is negative":                               "stands in a turn that is malformed",
	"no further rows are wanted":                           "ends a listing",
	"no such run":                                          "errors.Is finds it in an error that names the run",
	"null is no value":                                     "the type and its name stand before it",
	"perduretest: stuck":                                   "errors.Is finds it in an error that says more",
	"something about the batch is unusual":                 "the store then writes one statement after the other",
	"something stands behind the value":                    "may be in recorded results of flow files, which replay",
	"the attempt continues outside the process":            "a body returns it, and the engine acts on it",
	"the batch has no statement left":                      "the store acts on it",
	"the channel is closed":                                "errors.Is finds it; the workflow's code closed it",
	"the database refused the turn":                        "the database's error is joined to it",
	"the demo was interrupted":                             "the command says it in its own words",
	"the engine is shutting down":                          "ends a body's context; the engine makes the attempt again",
	"the function is nil":                                  "the call that was given it stands before it",
	"the lease of the node has expired":                    "ends a body's context; the engine makes the attempt again",
	"the partition has another owner":                      "the engine acts on it",
	"the run has ended":                                    "errors.Is finds it in an error that names the run",
	"the run has no handler for":                           "the name, and the names that there are, follow it",
	"the run is damaged":                                   "the engine acts on it",
	"the run is gone":                                      "the engine acts on it",
	"the run is in line":                                   "the engine acts on it",
	"the run is parked":                                    "errors.Is finds it in an error with the first difference",
	"the run was loaded without its code":                  "the engine acts on it",
	"the run moved elsewhere":                              "the client acts on it",
	"the run's state has no status":                        "stands in a turn that is malformed",
	"the server failed":                                    "errors.Is finds it in an error with the status",
	"the server refused the request":                       "errors.Is finds it in an error with the status",
	"the store is closed":                                  "the engine that closed it says so",
	"timeout":                                              "errors.Is finds it in an error that says more",
}

// TestF23_EachErrorText: all texts of errors are in a golden file, and none names a command,
// flag or Go name that does not exist, or says nothing but that something is wrong.
func TestF23_EachErrorText(t *testing.T) {
	texts := errorTexts(t)
	scr, db, _ := printer(time.Now())
	known := newKnown(t, rootCommand(scr, db))
	for _, wrong := range []string{"See: perdure gatez", "Use it with --nonesuch here.", "see ops.Nonesuch, which does that for all calls", "wrong", "the thing is broken", "%s: nobody serves it"} {
		if len(known.faults(wrong)) != 1 {
			t.Errorf("the fault of %q is not found: %q", wrong, known.faults(wrong))
		}
	}
	var golden strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&golden, "%s\n", dir)
		slices.Sort(texts[dir])
		for _, text := range slices.Compact(texts[dir]) {
			fmt.Fprintf(&golden, "  %s\n", strings.ReplaceAll(text, "\n", `\n`))
			for _, fault := range known.faults(text) {
				t.Errorf("%s: %q: %s", dir, text, fault)
			}
		}
	}
	goldenfile.Compare(t, filepath.Join("testdata", "words", "errors.txt"), golden.String()) // read what is new as someone would at night
}

// errorTexts are the texts of errors by directory.
func errorTexts(t *testing.T) map[string][]string {
	t.Helper()
	texts, n := map[string][]string{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains(unseen, rel) || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		ast.Inspect(file, func(node ast.Node) bool {
			for _, text := range textsOf(node) {
				texts[dir] = append(texts[dir], text)
				n++
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 500 {
		t.Fatalf("only %d texts are found", n)
	}
	return texts
}

// textsOf are the texts of an error that a node makes.
func textsOf(node ast.Node) (texts []string) {
	add := func(e ast.Expr) {
		if call, ok := e.(*ast.CallExpr); ok && madeBy(call.Fun) == "fmt.Sprintf" {
			e = call.Args[0]
		}
		if text := literal(e); text != "" {
			texts = append(texts, text)
		}
	}
	switch n := node.(type) {
	case *ast.CallExpr:
		for _, i := range makers[madeBy(n.Fun)] {
			if at, err := strconv.Atoi(i); err == nil && at < len(n.Args) {
				add(n.Args[at])
			}
		}
	case *ast.CompositeLit:
		for _, field := range n.Elts {
			if kv, ok := field.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && slices.Contains(makers[madeBy(n.Type)], key.Name) {
					add(kv.Value)
					if last := len(texts) - 1; key.Name == "Problem" && last >= 0 {
						texts[last] = "the %s " + texts[last] // the other field says what
					}
				}
			}
		}
	}
	return texts
}

func madeBy(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// literal is the text of an expression of literals; what is put in between is "%s".
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		x, y := literal(e.X), literal(e.Y)
		switch {
		case x == "" && y == "":
			return ""
		case x == "":
			x = "%s"
		case y == "":
			y = "%s"
		}
		return x + y
	}
	return ""
}

// known is what texts can name.
type known struct {
	commands map[string]bool
	flags    map[string]bool
	names    map[string]map[string]bool // of Go, by package
}

func newKnown(t *testing.T, top *cobra.Command) *known {
	t.Helper()
	k := &known{commands: map[string]bool{}, flags: map[string]bool{}, names: map[string]map[string]bool{}}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		k.commands[cmd.CommandPath()] = true
		note := func(f *pflag.Flag) { k.flags[f.Name] = true }
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(top)
	k.flags["help"] = true
	files, err := filepath.Glob(filepath.Join(root, "internal/layout/testdata/names", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no lists of names: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimSuffix(filepath.Base(file), ".txt")
		k.names[pkg] = map[string]bool{}
		for _, word := range regexp.MustCompile(`[A-Z]\w*`).FindAllString(string(data), -1) {
			k.names[pkg][word] = true
		}
	}
	return k
}

var (
	commandIn = regexp.MustCompile("perdure ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)")
	// commandAfter is what stands before a command.
	commandAfter = regexp.MustCompile(`(?:: |["'(]|\brun |\n|^)$`)
	flagIn       = regexp.MustCompile(`(?:^|[\s("'])--([a-z][a-z-]+)`)
	nameIn       = regexp.MustCompile(`\b(perdure|activity|workflow|retry|gate|schedule|ops|view|store|flow|perduretest)\.([A-Z]\w*)`)
)

// unclear are words that make a reader at night think twice.
var unclear = regexp.MustCompile(`(?i)\b(nobody|somebody|anew|at once|any more)\b`)

// bare reports whether a text is a few words without a value, a cause or a next step. The
// sentences of the command come in pairs, and Error holds both.
func bare(text string) bool {
	words := strings.Fields(text)
	if len(words) > 2 && strings.HasSuffix(text, ".") || strings.HasPrefix(text, "--") || strings.ContainsAny(text, "%;:") && len(words) > 2 {
		return false
	}
	return len(words) < 8 && !strings.Contains(text, "%")
}

// faults are what is wrong with a text.
func (k *known) faults(text string) (all []string) {
	for _, m := range commandIn.FindAllStringSubmatchIndex(text, -1) {
		words := strings.Fields(text[m[2]:m[3]])
		if before := text[:m[0]]; strings.HasSuffix(before, "a ") || strings.HasSuffix(before, "of ") || !k.commands["perdure "+words[0]] && !commandAfter.MatchString(before) {
			continue // the program, not a command
		}
		if !k.commands["perdure "+words[0]] {
			all = append(all, "there is no command perdure "+words[0])
		}
	}
	for _, m := range flagIn.FindAllStringSubmatch(text, -1) {
		if !k.flags[m[1]] {
			all = append(all, "there is no flag --"+m[1])
		}
	}
	for _, m := range nameIn.FindAllStringSubmatch(text, -1) {
		if names := k.names[m[1]]; names != nil && !names[m[2]] {
			all = append(all, "there is no "+m[0])
		}
	}
	if bare(text) && short[text] == "" {
		all = append(all, "it has neither a cause nor a next step")
	}
	if m := unclear.FindString(text); m != "" && short[text] == "" {
		all = append(all, "it says "+strconv.Quote(m))
	}
	return all
}
