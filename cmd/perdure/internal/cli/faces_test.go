package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/goldenfile"
)

// onlyHere are the commands that no address stands for, and why.
var onlyHere = map[string]string{
	"copy":             "opens two databases, of which no server serves one",
	"export":           "writes a file; over HTTP: the record of a run",
	"import":           "reads a file into a database that no engine serves",
	"check-code":       "replays runs with the code of a program, which the server does not have",
	"dashboard":        "is the server",
	"demo":             "starts and kills processes on this machine",
	"flow check":       "reads files",
	"flow fmt":         "rewrites files",
	"flow run":         "runs an engine; over HTTP: start, then wait for the result",
	"flow serve":       "is an engine",
	"flow test":        "reads files and runs nothing durable",
	"migrate":          "changes the schema, for which servers have no rights",
	"schedules update": "reads the schedule, and sets it with what is to be another: see its addresses",
	"torture":          "starts and kills processes on this machine",
	"version":          "is about the command",
}

// TestF30_EveryCommandHasAnAddress holds the table of docs/http.md to the commands and to
// the addresses: each command has an address that does the same, or a reason why not, and
// each address names commands that exist. What the dashboard does has a command with an
// address: its places are a file that a test of its own makes from its routes (F42).
func TestF30_EveryCommandHasAnAddress(t *testing.T) {
	scr, db, _ := printer(time.Now())
	commands := leaves(rootCommand(scr, db))
	for path := range maps.Keys(onlyHere) {
		if !slices.Contains(commands, path) {
			t.Errorf("there is no command %q", path)
		}
	}
	addresses := map[string][]string{}
	for pattern, methods := range api.OpenAPI().Paths {
		for method, o := range methods {
			for name := range strings.SplitSeq(o.Command, ",") {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " --")
				if name == "" {
					continue
				}
				if !slices.Contains(commands, name) {
					t.Errorf("%s %s does what %q does, which is no command", method, pattern, name)
				}
				addresses[name] = append(addresses[name], "`"+strings.ToUpper(method)+" "+pattern+"`")
			}
		}
	}
	places := map[string][]string{}
	faces, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "dashboard", "testdata", "faces.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(faces)) {
		name, place, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !slices.Contains(commands, name) || len(addresses[name]) == 0 {
			t.Errorf("the dashboard has %q, which is to be %q: no such command, or it has no address", place, name)
		}
		places[name] = append(places[name], place)
	}
	rows := []string{"| command | address | dashboard |", "|---|---|---|"}
	slices.Sort(commands)
	for _, name := range commands {
		where := slices.Compact(slices.Sorted(slices.Values(addresses[name])))
		text := strings.Join(where, "<br>")
		if len(where) == 0 {
			if text = onlyHere[name]; text == "" {
				t.Errorf("perdure %s has no address: give it one in package api, or say why not in onlyHere", name)
			}
		}
		rows = append(rows, "| `"+name+"` | "+text+" | "+strings.Join(places[name], "<br>")+" |")
	}
	page := filepath.Join("..", "..", "..", "..", "docs", "http.md")
	goldenfile.Section(t, page, "<!-- commands -->\n", "<!-- /commands -->\n", strings.Join(rows, "\n")+"\n")
}
