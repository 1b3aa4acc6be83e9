package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestF2_EachCommandHasAGroupAndExamples: the help lists every command under a heading,
// and the help of each has examples.
func TestF2_EachCommandHasAGroupAndExamples(t *testing.T) {
	var out bytes.Buffer
	a, _ := printer(time.Now())
	a.env.Stdout = &out
	known := map[string]bool{}
	for _, cmd := range a.root().Commands() {
		known[cmd.Name()] = true
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		if cmd.GroupID == "" {
			t.Errorf("%s is under no heading of the help", cmd.Name())
		}
		if cmd.Example == "" && cmd.Name() != "version" {
			t.Errorf("%s has no examples", cmd.Name())
		}
	}
	for _, g := range helpGroups {
		for _, name := range strings.Fields(g.commands) {
			if !known[name] {
				t.Errorf("the heading %q lists %s, and there is no such command", g.title, name)
			}
		}
	}
}
