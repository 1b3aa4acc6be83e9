package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/dashboard"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// dimmed is what the verb of TestF30_AVerbIsOneRow needs to know.
type dimmed struct {
	Colour string `json:"colour" enum:"red,blue" help:"{colour} of the light" label:"Colour of the light" need:"choose a colour for the light"`
	command.Reason
}

// dim is its row.
var dim = command.Row(command.Command{
	On: command.Schedule, Name: "dim", Did: "dimmed", Short: "Dim a schedule", Means: "The schedule rests in a light of one colour.", Danger: true,
}, func(a *command.Ask, p *dimmed) (command.Told, command.Effect, error) {
	told := command.Told{Name: a.Name, Operation: "dim", By: a.By, Why: p.Why, DryRun: p.DryRun}
	if p.DryRun {
		return told, command.Effect{Says: []string{"It would rest in a " + p.Colour + " light."}}, nil
	}
	return told, command.Effect{}, ops.PauseSchedule(a.Ctx, a.Engine, a.Name, a.Settings(&p.Reason)...)
})

// TestF30_AVerbIsOneRow: a row of the table of commands is a command with flags, an address with
// its place in the OpenAPI document, a form that is confirmed, and who and why in the audit.
func TestF30_AVerbIsOneRow(t *testing.T) {
	defer func(all []command.Command) { command.All = all }(command.All)
	command.All = append(slices.Clone(command.All), dim)

	file := filepath.Join(t.TempDir(), "shop.db")
	wf := workflow.New("report", func(*workflow.Context, string) (string, error) { return "", nil })
	e, err := perdure.Open(t.Context(), sqlite.File(file), perdure.Register(wf))
	if err == nil {
		err = e.Start(t.Context())
	}
	if err == nil {
		err = perdure.Schedule(t.Context(), e, "nightly", wf, "x", schedule.Spec{Cron: "0 3 1 1 *"})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	who := access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}}
	addresses, err := api.Handler(e, who)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := dashboard.Handler(e, who)
	if err != nil {
		t.Fatal(err)
	}

	// The command line.
	say := func(words ...string) string {
		var out bytes.Buffer
		Run(t.Context(), Env{
			Args: append(words, "--db", "sqlite:"+file), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Now: time.Now,
		})
		return out.String()
	}
	want := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in: %s", part, text)
			}
		}
	}
	want(say("schedules", "dim", "--help"), "Dim a schedule.", "rests in a light of one colour", "--colour colour", "--dry-run", "--by who", "--reason why", "--request key")
	want(say("schedules", "dim", "nightly"), "--colour is missing.", "Choose a colour for the light.")
	want(say("schedules", "dim", "nightly", "--colour", "green"), `--colour is "green".`, "It can be red, blue.")
	want(say("schedules", "dim", "nightly", "--colour", "red", "--dry-run"), "It would rest in a red light.", "Nothing was changed")
	want(say("schedules", "dim", "nightly", "--colour", "red", "--by", "bob", "--reason", "by command"), "The schedule nightly is dimmed as soon as an engine sees this.")

	// HTTP.
	text, _ := json.Marshal(api.OpenAPI().Paths["/api/schedules/{name}/dim"]["post"])
	want(string(text), `"operationId":"dimSchedule"`, "Dim a schedule.", "Dimmed", `"x-perdure-command":"schedules dim"`, "Idempotency-Key")
	ask := func(method, path, media, body string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
		w := httptest.NewRecorder()
		if strings.HasPrefix(path, "/api") {
			addresses.ServeHTTP(w, r)
		} else {
			pages.ServeHTTP(w, r)
		}
		return w.Code, w.Body.String()
	}
	status, body := ask("POST", "/api/schedules/nightly/dim", "application/json", `{}`)
	want(fmt.Sprint(status, body), "400", "The colour is missing; choose a colour for the light.")
	status, body = ask("POST", "/api/schedules/nightly/dim", "application/json", `{"colour": "blue", "why": "by address"}`)
	want(fmt.Sprint(status, body), "200", `"operation":"dim"`, `"by":"ann"`)

	// The dashboard.
	_, body = ask("GET", "/change?kind=schedule&do=dim&name=nightly", "", "")
	want(body, "Colour of the light", `name="colour"`)
	if strings.Contains(body, `method="post" action="change?`) {
		t.Error("the form can be sent before it is shown what it comes to")
	}
	_, body = ask("GET", "/change?kind=schedule&do=dim&name=nightly&asked=yes&colour=blue", "", "")
	want(body, "It would rest in a blue light.", `method="post" action="change?`, `class="danger"`)
	shown := regexp.MustCompile(`name="params" value="([^"]*)"`).FindStringSubmatch(body)
	if shown == nil {
		t.Fatalf("the form does not send what it has shown: %s", body)
	}
	form := url.Values{"kind": {"schedule"}, "do": {"dim"}, "name": {"nightly"}, "params": {html.UnescapeString(shown[1])}, "reason": {"by form"}}
	if status, body = ask("POST", "/change", "application/x-www-form-urlencoded", form.Encode()); status != http.StatusSeeOther {
		t.Errorf("the form is answered with %d: %s", status, body)
	}

	// The audit has all three.
	for range 1000 {
		a, err := ops.Audit(t.Context(), e, view.AuditFilter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		seen := ""
		for _, r := range a.Records {
			seen += r.By + " " + r.Why + "; "
		}
		if strings.Contains(seen, "bob by command") && strings.Contains(seen, "ann by address") && strings.Contains(seen, "ann by form") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the audit does not have who did it by each face, and why")
}
