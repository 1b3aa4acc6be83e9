package dashboard

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/internal/web/webtest"
)

// ofBrowsers are the routes that only browsers need.
var ofBrowsers = []string{"dashboardFile", "dashboardLogin", "dashboardEnter", "dashboardLeave"}

// TestF42_EveryRouteHasACommand writes which command does what a route of the dashboard shows
// or does, from the table of routes: a line for each, with the place in the dashboard. The
// test of the commands (F30) holds the lines to the commands and their addresses.
func TestF42_EveryRouteHasACommand(t *testing.T) {
	guard, err := web.New(webtest.Rules())
	must(t, err)
	var lines []string
	add := func(commands, place string) {
		for command := range strings.SplitSeq(commands, ", ") {
			lines = append(lines, command+"\t"+place+"\n")
		}
	}
	for _, r := range (&server{guard: guard}).routes() {
		if slices.Contains(ofBrowsers, r.Name) {
			continue
		}
		path := strings.TrimSuffix(strings.TrimPrefix(r.Pattern, "/"), "{$}")
		at := slices.IndexFunc(pages, func(p page) bool { return p.path == path })
		if at < 0 {
			t.Errorf("%s %s is of no page: name a command that does the same", r.Method, r.Pattern)
			continue
		}
		p := &pages[at]
		switch {
		case r.Method == http.MethodGet && p.command != "":
			add(p.command, fmt.Sprintf("page %s", p.title))
		case r.Method == http.MethodGet && p.post != nil: // the form of what follows
		case r.Method == http.MethodPost && path == "operate":
			for _, c := range command.Operations() {
				add(c.Name, fmt.Sprintf("%s, of one, those chosen or all listed", c.Label))
			}
		case r.Method == http.MethodPost && path == "change":
			for _, c := range changes() {
				line, _, _ := strings.Cut(c.Line(), " --") // one command sets and ends the canary
				text := c.Label
				if c.Makes != "" {
					text = c.Makes + ", " + c.Label
				}
				if c.On != command.Canary {
					text += strings.ReplaceAll(fmt.Sprintf(", of a %s", c.On), "a activity", "an activity")
				}
				add(line, text)
			}
		default:
			t.Errorf("%s %s has no command: whatever the dashboard does, the command line and the API do", r.Method, r.Pattern)
		}
	}
	slices.Sort(lines)
	goldenfile.Compare(t, filepath.Join("testdata", "faces.tsv"), strings.Join(lines, ""))
}

// TestF30_AFormDoesNothingBeforeItIsSent: what a page shows before a form is sent is a dry run, so a
// command of the page of changes has one, or waits for the answer of a form that is sent at once.
func TestF30_AFormDoesNothingBeforeItIsSent(t *testing.T) {
	for _, c := range changes() {
		params := c.New()
		command.DryOf(params).DryRun = true
		if _, answers := command.WaitOf(params); !answers && !command.DryOf(params).DryRun {
			t.Errorf("%s of a %s has no dry run", c.Name, c.On)
		}
	}
}
