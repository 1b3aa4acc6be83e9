package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
	"github.com/spf13/cobra"
)

// evil is a text that clears a screen, rings, writes backwards and begins new lines if
// a terminal obeys it.
const evil = "e\x1b[2J\x07\u202e\u009b31m\u2028\u00e9\r\n\tx"

// evilGateName has all of it that the name of a gate may have.
const evilGateName = "gate e\u202e\u2028\u00e9x"

type evilError struct{}

func (evilError) Error() string     { return evil }
func (evilError) ErrorType() string { return evil }

var (
	evilGate = gate.New(evilGateName, 1, gate.WithMode(gate.Hold))

	evilCall = activity.New("call "+evil, func(context.Context, string) (string, error) { return "", evilError{} },
		activity.Retry(slow), activity.Through(evilGate))
	evilOutside = activity.New("outside "+evil, func(context.Context, string) (string, error) { return "", evilError{} }, activity.Retry(retry.Never))
	evilMissing = workflow.Declare[string, string]("missing " + evil)
	evilAsk     = workflow.NewQuery[string, string]("ask " + evil)
	evilChange  = workflow.NewUpdate[string, string]("change " + evil)
	evilWait    = workflow.NewSignal[string]("signal " + evil)

	evilFlow = workflow.New("flow "+evil, func(wf *workflow.Context, in string) (string, error) {
		workflow.SetStatus(wf, evil)
		workflow.HandleQuery(wf, evilAsk, func(in string) (string, error) { return in + evil, nil })
		workflow.HandleUpdate(wf, evilChange, func(wf *workflow.Context, in string) (string, error) {
			if in == "no" {
				return "", evilError{}
			}
			return in + evil, nil
		})
		called := workflow.Async(wf, evilCall, in+evil)
		//perdure:deterministic its code is missing on purpose
		child := workflow.RunChildAsync(wf, evilMissing, evil, workflow.ChildID("child "+evil))
		if _, err := workflow.Receive(wf, evilWait); err != nil {
			return "", err
		}
		_, err := called.Get(wf)
		_, other := child.Get(wf)
		return evil, errors.Join(err, other)
	}, workflow.Version("1"))

	evilEnd = workflow.New("end "+evil, func(wf *workflow.Context, in string) (string, error) {
		_, err := workflow.Call(wf, evilOutside, in)
		return "", err
	}, workflow.Version("1"))
	evilPanic = workflow.New("panic "+evil, func(*workflow.Context, string) (string, error) { panic(evil) }, workflow.Version("1"))
)

// hostile are calls of all commands, by their paths.
var hostile = map[string][][]string{
	"list":               {{}, {"--retrying"}, {"--calls", "gated"}, {"--calls", "backoff"}, {"--status", evil}, {"--attribute", evil}, {"--since", evil}},
	"status":             {{}, {"--watch=soon"}},
	"show":               {{"run " + evil}, {"run " + evil, "--wait", "1s"}, {"end " + evil}, {"panic " + evil}, {"child " + evil}, {"none " + evil}, {"run " + evil, "--run", evil}},
	"history":            {{"run " + evil}, {"end " + evil}, {"panic " + evil}, {"run " + evil, "--record"}, {evil}},
	"attempts":           {{"run " + evil}, {"panic " + evil}, {"run " + evil, "--error-type", evil}, {}, {"--outcome", evil}},
	"calls":              {{"run " + evil}, {}, {"run " + evil, "--type", evil}},
	"compare":            {{"run " + evil, "run " + evil}, {evil, evil}, {"run " + evil, "run " + evil, "--other-run", evil}},
	"stats activities":   {{}},
	"stats hours":        {{}, {"--type", evil}, {"--activity", evil, "--since", "2h"}, {"--since", evil}},
	"stats errors":       {{}},
	"canary":             {{}, {"--build", evil, "--share", "10", "--reason", evil, "--by", evil}, {"--build", evil, "--share", evil}, {"--end", "--reason", evil}},
	"workflows":          {{}, {"--since", evil}},
	"nodes":              {{"--all"}, {"--group", evil}},
	"gates":              {{}, {"-o", evil}},
	"gates show":         {{evilGateName}, {evil}},
	"gates edit":         {{evilGateName, "--limit", "3", "--reason", evil, "--by", evil}, {evilGateName, evil}, {evil, "--limit", "3"}, {evilGateName, "--without", evil}},
	"gates probe":        {{evilGateName, "--reason", evil}, {evil}},
	"gates reset":        {{evilGateName, "--breaker", "--budget", "--reason", evil}, {evil, "--breaker"}},
	"gates pause":        {{evilGateName, "--reason", evil, "--by", evil}, {evil}},
	"gates resume":       {{evilGateName, "--reason", evil}},
	"schedules":          {{}, {evil}},
	"schedules create":   {{"new " + evil, evil, "--every", "1h"}, {evil, evil, "--cron", evil}, {evil, evil, evil, "--every", "1h"}},
	"schedules update":   {{"plan " + evil}, {"plan " + evil, evil, `"y"`}, {evil, "evil.flow"}, {"plan " + evil, "evil.flow"}},
	"schedules show":     {{"plan " + evil}, {evil}},
	"schedules pause":    {{"plan " + evil, "--reason", evil, "--by", evil}},
	"schedules resume":   {{"plan " + evil}, {evil}},
	"schedules trigger":  {{"plan " + evil}, {"plan " + evil, "--overlap", evil}},
	"schedules backfill": {{"plan " + evil, "--from", "1999-12-31T23:00:00Z", "--until", "2000-01-01T00:00:00Z"}, {evil, "--from", evil}},
	"schedules delete":   {{"plan " + evil}},
	"audit":              {{"run " + evil}, {}, {evil}},

	"start":        {{"flow " + evil, "started " + evil, `"a"`}, {"flow " + evil, "run " + evil, `"other"`}, {evil, evil, evil}, {evil + ".flow", "x"}, {evil, "--new-after", evil}},
	"query":        {{"run " + evil, "ask " + evil, `"q"`}, {"run " + evil, evil}, {evil, evil}},
	"update":       {{"run " + evil, "change " + evil, `"u"`}, {"run " + evil, "change " + evil, `"no"`}, {"run " + evil, evil}, {evil, evil}},
	"complete":     {{evil}, {evil, evil}},
	"fail-attempt": {{evil, evil, "--as", evil}},
	"heartbeat":    {{evil}, {evil, evil}},

	"retry-now":   {{"run " + evil, "--by", evil, "--reason", evil}, {"--all", "--dry-run"}, {evil}, {"run " + evil, "--state", evil}, {"run " + evil, "--wait", evil}},
	"ask":         {{"run " + evil, "--by", evil, "--reason", evil}, {"--all", "--dry-run"}, {"run " + evil, "--state", evil}},
	"pause":       {{"run " + evil, "--reason", evil}, {"run " + evil, "--reason", evil, "--dry-run"}, {"--activity", "call " + evil, "--reason", evil, "--by", evil}},
	"resume":      {{"run " + evil}, {"--activity", "call " + evil}, {"end " + evil}},
	"edit-policy": {{"run " + evil, "--call", "1", "--policy", "standard"}, {"run " + evil, "--call", "1", "--policy", evil}},
	"skip":        {{"run " + evil, "--call", "77", "--result", evil}, {"run " + evil, "--activity", evil}, {"run " + evil, "--call", "1", "--result", "7"}},
	"fail":        {{"run " + evil, "--call", "77", "--error", evil}, {"run " + evil, "--call", "1", "--error", evil, "--as", evil}},
	"pause-run":   {{"run " + evil, "--reason", evil, "--by", evil}, {"--all", "--prefix", evil, "--dry-run"}},
	"resume-run":  {{"run " + evil}, {evil}},
	"reset":       {{"run " + evil, "--call", "99"}, {"run " + evil, "--call", "1", "--reason", evil, "--dry-run"}},
	"move-runs":   {{"run " + evil, "--from", evil, "--to", "b " + evil, "--reason", evil}, {"--from", evil, "--to", "x", "--dry-run"}},
	"fork":        {{"run " + evil, "fork " + evil, "--call", "1", "--dry-run"}, {"run " + evil, "fork " + evil, "--call", "1", "--call-input", `"x"`}, {evil, evil, "--call", "1"}},
	"signal":      {{"started " + evil, "signal " + evil, `"s"`}, {evil, evil, evil}, {"--all", evil, "--dry-run"}},
	"cancel":      {{"run " + evil, "--dry-run"}, {"run " + evil, "--reason", evil}, {"--all", "--type", evil}, {"end " + evil}, {evil}},
	"terminate":   {{"run " + evil, "--dry-run"}, {"run " + evil, "--reason", evil}, {"end " + evil}},
	"gc":          {{"--older-than", evil}, {"--older-than", "30d", "--status", evil}, {"--older-than", "30d"}},

	"doctor":         {{}, {"--since", evil}},
	"check-code":     {{}, {"--prefix", evil}, {"--files", evil}},
	"policy try":     {{"never"}, {"never", "--activity", "call " + evil}, {evil}, {"[" + evil + "]", "--type", evil}, {"never", "--since", evil}},
	"policy explain": {{evil}, {"[" + evil + "]"}, {"[retry: 3] [" + evil + " -> retry: 2]"}, {`{"max_attempts": "` + "\u009b" + `"}`}},
	"flow check":     {{"evil.flow"}, {evil}},
	"flow fmt":       {{"evil.flow"}, {evil}, {"--write", evil}},
	"flow run":       {{"evil.flow"}, {"log.flow"}, {evil}},
	"flow serve":     {{"--files", evil}},
	"flow test":      {{"evil.flow"}, {"log.flow"}, {evil}},
	"dashboard":      {{"--listen", evil}, {"--token-file", evil}, {"--tls-cert", evil, "--tls-key", evil}},
	"demo":           {{"--db", evil}, {"--dir", "evil.flow"}, {"--orders", "x" + evil}},
	"torture":        {{"--for", evil}, {"--db", "x.db", "--trouble", evil}, {"--db", evil + "/x.db"}},
	"export":         {{"run " + evil}, {"--type", evil}, {evil}},
	"import":         {{"evil.flow"}, {evil}},
	"copy":           {{"--from", evil, "--to", "y.db"}, {"--from", "x.db", "--to", evil, "--unseal"}},
	"migrate":        {{"--check"}, {"--grant", evil}, {evil}},
	"version":        {{}, {evil}},
}

// order is the order in which a run is driven: what ends it comes last.
var hostileLast = []string{"fork", "reset", "skip", "fail", "cancel", "terminate", "schedules delete"}

// TestNoCommandObeysForeignText drives every command with IDs, names, errors, reasons
// and payloads that a terminal would obey, and looks at each byte that it writes.
func TestNoCommandObeysForeignText(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"evil.flow": "x = \"" + evil + "\n@nothing()\n# " + evil, "log.flow": "fn main(input: [], output: [r]):\n    r = \"\u009b31m\u202e\"\n    @log(message=r)\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scr, db, _ := printer(time.Now())
	paths := leaves(rootCommand(scr, db))
	for _, path := range paths {
		if hostile[path] == nil {
			t.Errorf("The command %q is in no call of this test.", path)
		}
	}
	for _, last := range hostileLast {
		paths = append(slices.DeleteFunc(paths, func(p string) bool { return p == last }), last)
	}
	synctest.Test(t, func(t *testing.T) { driveHostile(t, paths) })
}

// leaves are the commands that do something.
func leaves(cmd *cobra.Command) (paths []string) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if !sub.HasSubCommands() || sub.Name() == "gates" || sub.Name() == "schedules" || !sub.HasAvailableSubCommands() {
			paths = append(paths, strings.TrimPrefix(sub.CommandPath(), "perdure "))
		}
		paths = append(paths, leaves(sub)...)
	}
	return paths
}

func driveHostile(t *testing.T, paths []string) {
	evilProgram := fixture{defs: []perdure.Definition{evilFlow, evilEnd, evilPanic, evilCall, evilOutside}}
	engine := evilProgram.open(t, shopFile(), perdure.NodeName("node "+evil))
	defer engine.Close()
	options := []perdure.StartOption{workflow.Memo(evil), workflow.Attributes(map[string]string{"a": evil})}
	begin(t, engine, evilFlow, "run "+evil, evil, options...)
	begin(t, engine, evilEnd, "end "+evil, evil, options...)
	begin(t, engine, evilPanic, "panic "+evil, evil, options...)
	begin(t, engine, evilFlow, "second "+evil, evil)
	if _, _, code := call(t, "schedules", "create", "plan "+evil, evilEnd.Name(), `"x"`, "--every", "1h", "--db", "shop.db"); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	time.Sleep(5 * time.Second)
	drive := func(path, format string) {
		for _, args := range hostile[path] {
			command := append(append(strings.Fields(path), args...), "-o", format)
			if !slices.Contains([]string{"demo", "torture", "version", "policy explain", "flow check", "flow fmt", "flow test"}, path) {
				command = append(command, "--db", "shop.db")
			}
			checkHarmless(t, command)
		}
	}
	for _, path := range paths {
		drive(path, "table")
		drive(path, "json")
	}
	// What was done shows in what these say.
	for _, path := range []string{"show", "history", "audit", "gates", "schedules", "schedules show", "list"} {
		drive(path, "table")
	}
}

// TestOneFileWrites: what writes past printf, notef, json and tables could forget to
// escape.
func TestOneFileWrites(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`\ba\.out\.Write|Fprint|os\.Std|fmt\.Print|env\.Std(out|err)\.`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "format.go" || name == "cli.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := direct.Find(text); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// checkHarmless calls the command and looks for bytes that a terminal might obey.
func checkHarmless(t *testing.T, command []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), Env{
		Args: command, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	for name, text := range map[string]string{"output": stdout.String(), "error": stderr.String()} {
		if name == "output" && (slices.Equal(command[:2], []string{"flow", "fmt"}) || command[0] == "export") {
			continue // the text of a file stays as it is, unless it goes to a terminal
		}
		at := strings.IndexFunc(text, func(r rune) bool {
			return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
		})
		if at >= 0 || !utf8.ValidString(text) {
			t.Errorf("perdure %q: %s has %q\n%q", command, name, text[max(at, 0):min(max(at, 0)+4, len(text))], text)
		}
	}
	if testing.Verbose() {
		t.Logf("perdure %q: exit code %d\n%s%s", command, code, stdout.String(), stderr.String())
	}
}
