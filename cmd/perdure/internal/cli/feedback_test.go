package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// feed is an object in the output of a command, and the command that takes it.
type feed struct {
	from string // the command with its arguments
	path string // of the object in its JSON: names and indices
	to   string // the command that takes it, in place of %s
}

// feeds are, by command, the objects that another command takes.
var feeds = map[string][]feed{
	"gates": {{"gates", "1.spec", "gates edit till %s --dry-run"}},
	"gates show": {
		{"gates show fuse", "spec", "gates edit fuse %s --dry-run"}, {"gates show fuse", "spec.breaker", `gates edit fuse {"breaker":%s} --dry-run`},
		{"gates show till", "edited", "gates edit till %s --dry-run"}, {"gates show till", "edited.declared", "gates edit till %s --dry-run"},
		{"gates show till", "log.0.time", "audit --since %s"}, {"gates show till", "oldest_wait", "audit --since %s"},
	},
	"gates edit":       {{"gates edit till --limit 4 --dry-run", "after", "gates edit till %s --dry-run"}},
	"gates probe":      {{"gates probe fuse --dry-run", "after", "gates edit fuse %s --dry-run"}},
	"gates reset":      {{"gates reset fuse --breaker --dry-run", "before", "gates edit fuse %s --dry-run"}},
	"schedules":        {{"schedules", "0.spec", "schedules create other queue 1 --spec %s"}},
	"schedules show":   {{"schedules show nightly", "spec", "schedules update nightly --spec %s"}, {"schedules show nightly", "input.json", "schedules update nightly queue %s"}},
	"schedules create": {{"schedules create third queue 1 --every 1h --jitter 90s", "spec", "schedules create fourth queue 1 --spec %s"}},
	"schedules update": {{"schedules update nightly --every 2h", "spec", "schedules create fifth queue 1 --spec %s"}},
	"policy explain": {
		{"policy explain [retry: 3, fixed: 90s]", "policy", "policy explain %s"}, {"policy explain [retry: 3, fixed: 90s]", "definition", "policy explain %s"},
		{"policy explain [retry: 3, fixed: 90s]", "schedules.0.attempts.1.delay", "policy explain [retry: 3, fixed: %s]"},
		{"policy explain [retry: 3, fixed: 90s]", "waits", "policy explain [retry: 3, within: %s]"},
	},
	"show": {
		{"show order-1", "pending.0.policy", "edit-policy order-1 --call 1 --policy %s --dry-run --replace"}, {"show order-1", "input.json", "start queue fresh-1 %s"},
		{"show order-1", "pending.0.next", "list --until %s"},
	},
	"list":         {{"list --limit 1", "0.created", "list --since %s"}},
	"workflows":    {{"workflows", "0.latest", "list --since %s"}},
	"attempts":     {{"attempts order-1", "0.delay", "attempts --since %s"}, {"attempts order-1", "0.ended", "attempts --since %s"}},
	"calls":        {{"calls order-1", "0.last", "calls --until %s"}},
	"policy try":   {{"policy try [retry: 3] --activity pay", "load.width", "policy try [retry: 3] --activity pay --since %s"}},
	"stats errors": {{"stats errors", "0.last", "attempts --until %s"}},
	"status":       {{"status", "waiting.0.since", "list --since %s"}},
	"audit":        {{"audit", "0.time", "audit --until %s"}},
}

// nothing are the commands whose output has no object that a command takes: what they
// print is told, not configured.
const nothing = `ask, cancel, canary, check-code, compare, complete, copy, dashboard, demo, doctor, edit-policy, export, fail, fail-attempt, flow check, flow fmt, flow run,
	flow serve, flow test, fork, gates pause, gates resume, gc, heartbeat, history, migrate, move-runs, nodes, pause, pause-run, query,
	import, reset, resume, resume-run, retry-now, schedules backfill, schedules delete, schedules pause,
	schedules resume, schedules trigger, signal, skip, start, stats activities, stats hours, terminate, torture, update, version`

// TestF22_OutputIsInput: each object of -o json for which there is an input is accepted
// there, as it is.
func TestF22_OutputIsInput(t *testing.T) {
	scr, db, _ := printer(time.Now())
	var rest []string
	for line := range strings.Lines(nothing) {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				rest = append(rest, name)
			}
		}
	}
	all := leaves(rootCommand(scr, db))
	for _, path := range all {
		if feeds[path] == nil && !slices.Contains(rest, path) {
			t.Errorf("perdure %s is in no table of this test: say which command takes what it prints, or that none does", path)
		}
	}
	for _, path := range append(rest, slices.Collect(maps.Keys(feeds))...) {
		if !slices.Contains(all, path) {
			t.Errorf("there is no command %q", path)
		}
	}
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		serveFor(t, "gates", time.Minute)
		feeder(t, "gates edit till --limit 2 --reason ever")
		feeder(t, "schedules create nightly queue 7 --cron 30_2_*_*_* --zone Europe/Paris --jitter 5m --overlap buffer_one")
		serveFor(t, "gates", 3*time.Second) // the engine sees what it was told
		for _, path := range slices.Sorted(maps.Keys(feeds)) {
			for _, f := range feeds[path] {
				out := feeder(t, f.from+" -o json")
				var document any
				if err := json.Unmarshal([]byte(out), &document); err != nil {
					t.Fatalf("perdure %s is no JSON: %v\n%s", f.from, err, out)
				}
				feeder(t, f.to, at(t, f, document))
			}
		}
	})
}

// at is the text of an object in a document: a JSON string without its quotes.
func at(t *testing.T, f feed, v any) string {
	t.Helper()
	for name := range strings.SplitSeq(f.path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			var i int
			_, _ = fmt.Sscan(name, &i)
			if i >= len(in) {
				t.Fatalf("perdure %s has no %s: %v", f.from, f.path, in)
			}
			v = in[i]
		}
	}
	if v == nil {
		t.Errorf("perdure %s has no %s", f.from, f.path)
	}
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// feeder runs a command, which must work. A [policy] with spaces is one word, and _ a space
// in a word.
func feeder(t *testing.T, command string, value ...string) string {
	t.Helper()
	var words []string
	for _, w := range strings.Fields(strings.NewReplacer(", ", ",_", ": ", ":_").Replace(command)) {
		w = strings.ReplaceAll(w, "_", " ")
		if strings.HasPrefix(w, "buffer") {
			w = strings.ReplaceAll(w, " ", "_")
		}
		words = append(words, strings.ReplaceAll(w, "%s", strings.Join(value, "")))
	}
	if words[0] != "policy" || words[1] != "explain" {
		words = append(words, "--db", "shop.db")
	}
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), Env{
		Args: words, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	if code != 0 && code != exitAttention {
		t.Errorf("perdure %s with %q ends with %d: %s", command, value, code, stderr.String())
	}
	return stdout.String()
}
