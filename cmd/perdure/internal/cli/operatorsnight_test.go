package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// vigil is an application in a bad night, with a book of what its activities have done.
type vigil struct {
	t      *testing.T
	mu     sync.Mutex
	done   map[string]int // effects, by workflow ID
	mended bool           // what the code depends on
	plan   *faulty.Plan
	eng    *perdure.Engine
	typed  []string // commands that were tried
}

// effect notes what an activity has done, unless what it needs is away.
func (v *vigil) effect(ctx context.Context) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.mended {
		return 0, &unavailable{"dial tcp 10.0.0.7:443: connection refused"}
	}
	info, _ := activity.FromContext(ctx)
	v.done[info.WorkflowID]++
	return 0, nil
}

func (v *vigil) effects(id string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.done[id]
}

// calls is a workflow that makes one call.
func calls(a activity.Activity[int, int]) perdure.Definition {
	return workflow.New("of-"+a.Name(), func(wf *workflow.Context, _ int) (int, error) { return workflow.Call(wf, a, 0) })
}

// code is what the application has registered in its builds v1, v2 and v3.
func (v *vigil) code(build string) (all []perdure.Definition) {
	crash := func(ctx context.Context, _ int) (int, error) {
		if build == "v1" { // it runs while the process dies
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return v.effect(ctx)
	}
	works := func(ctx context.Context, _ int) (int, error) { return v.effect(ctx) }
	once := retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}
	bank := gate.New("bank", 5, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}))
	for _, a := range []activity.Activity[int, int]{
		activity.New("crash-a", crash, activity.Retry(retry.Policy{CrashLimit: 1})),
		activity.New("crash-b", crash, activity.Retry(retry.Policy{CrashLimit: 1})),
		activity.New("crash-c", crash, activity.Retry(retry.Policy{CrashLimit: 1})),
		activity.New("mail", works),
		activity.New("debit", works, activity.Retry(retry.Policy{MaxAttempts: 20, Backoff: retry.Fixed(20 * time.Second), Jitter: retry.NoJitter}), activity.Through(bank)),
		activity.New("render", works, activity.Retry(once)),
		activity.New("refund", works, activity.Retry(retry.Never)),
	} {
		all = append(all, a, calls(a))
	}
	last := activity.New("last", works)
	all = append(all, last,
		workflow.New("letter", func(wf *workflow.Context, _ int) (int, error) {
			if err := workflow.Sleep(wf, 24*time.Hour); err != nil {
				return 0, err
			}
			return workflow.Call(wf, last, 0)
		}, workflow.Pinned()),
		workflow.New("boom", func(wf *workflow.Context, _ int) (int, error) {
			if build != "v3" {
				panic("index out of range [3]")
			}
			return workflow.Call(wf, last, 0)
		}))
	if build != "v2" {
		all = append(all, workflow.New("monthly", func(wf *workflow.Context, _ int) (int, error) {
			if err := workflow.Sleep(wf, 10*time.Second); err != nil {
				return 0, err
			}
			return workflow.Call(wf, last, 0)
		}))
	}
	return all
}

// deploy starts a build. The process before it has died if the plan says so, else it stops.
func (v *vigil) deploy(build string) {
	v.t.Helper()
	if v.eng != nil {
		_ = v.eng.Close()
	}
	v.plan = faulty.NewPlan()
	e, err := perdure.Open(v.t.Context(), faulty.Wrap(shopFile(), v.plan), perdure.Register(v.code(build)...), perdure.NodeName("web-1"), perdure.Build(build), perdure.Logger(slog.New(slog.DiscardHandler)))
	must(v.t, err)
	must(v.t, e.Start(v.t.Context()))
	v.eng = e
	time.Sleep(15 * time.Second)
}

// die ends the process as kill -9 does.
func (v *vigil) die() {
	v.t.Helper()
	v.plan.Crash()
	must(v.t, v.plan.Reap())
}

// begin starts the runs that the incidents happen to.
func (v *vigil) begin() {
	v.t.Helper()
	for _, name := range []string{"of-crash-a", "of-crash-b", "of-crash-c", "of-debit", "of-render", "of-refund", "letter", "boom", "monthly"} {
		begin(v.t, v.eng, workflow.Declare[int, int](name), strings.TrimPrefix(name, "of-")+"-1", 0)
	}
	time.Sleep(5 * time.Second)
}

// run types a command.
func (v *vigil) run(command string) (out string, code int) {
	v.t.Helper()
	words := words(command)
	if words[0] != "perdure" {
		v.t.Fatalf("%q is no command of ours", command)
	}
	v.typed = append(v.typed, command)
	out, complaint, code := call(v.t, words[1:]...)
	time.Sleep(15 * time.Second)
	return out + complaint, code
}

// words splits a command as a shell does that knows single quotes only.
func words(command string) (all []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// change sends a form of the dashboard about an activity.
func (v *vigil) change(do, name string) {
	v.t.Helper()
	h, err := webHandler(v.eng, access.Rules{Anonymous: access.Identity{Name: "zoe", Role: access.Operator}})
	must(v.t, err)
	if page := v.face("/change?kind=activity&name=" + name + "&do=" + do + "&asked=1"); !strings.Contains(page, `method="post"`) {
		v.t.Errorf("there is no form to %s %s", do, name)
	}
	form := url.Values{"kind": {"activity"}, "do": {do}, "name": {name}, "reason": {"by form"}}
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodPost, "/change", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= 400 {
		v.t.Errorf("to %s %s is answered with %d: %.300s", do, name, w.Code, w.Body)
	}
	time.Sleep(time.Second)
}

// face returns a page of the dashboard or a document of the API.
func (v *vigil) face(path string) string {
	v.t.Helper()
	h, err := webHandler(v.eng, access.Rules{Anonymous: access.Identity{Name: "zoe", Role: access.Operator}})
	must(v.t, err)
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodGet, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		v.t.Fatalf("%s is %d: %.500s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// suggested returns the lines to type that contain a text, in their order.
func suggested(status, about string) (lines []string) {
	_, text, _ := strings.Cut(status, "What to type:")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(line, about) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestF11_AnOperatorsNight: what happened is said on each face with its cause and the next step,
// and each step that is suggested is typed and does what it says, by the application's own book.
func TestF11_AnOperatorsNight(t *testing.T) {
	extent.NotInShort(t, "many commands, one after the other")
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		v := &vigil{t: t, done: map[string]int{}}
		v.deploy("v1")
		v.begin()
		v.die()
		v.deploy("v2")
		defer func() { _ = v.eng.Close() }()
		if out, code := v.run("perdure pause --activity mail --reason 'the list is wrong' --db shop.db"); code != 0 {
			t.Fatal(code, out)
		}
		begin(t, v.eng, workflow.Declare[int, int]("of-mail"), "mail-1", 0)
		time.Sleep(time.Second)
		status := v.facesTell()
		if !strings.Contains(status, see.Probation) {
			t.Errorf("status does not say what to read of quarantined calls:\n%s", status)
		}
		v.typesWhatIsSuggested(status)
		v.pausesByForm()
		v.die() // the mend of what is to be done elsewhere is a deployment
		v.deploy("v3")
		if out, code := v.run("perdure move-runs --all --from v2 --to v3 --db shop.db"); code != 0 { // the letter's build is gone again
			t.Error(code, out)
		}
		out, code := v.run("perdure status --db shop.db")
		if code != 0 || !strings.Contains(out, "Nothing waits") || !strings.Contains(v.face("/"), "All is well") {
			t.Errorf("in the morning, exit %d:\n%s", code, out)
		}
		if !strings.Contains(out, "web-1 died 2 times, last") || !strings.Contains(out, "; it is back.") {
			t.Errorf("what died is not told:\n%s", out)
		}
		for _, id := range []string{"crash-a-1", "mail-1", "debit-1", "render-1", "boom-1", "monthly-1"} {
			if n := v.effects(id); n != 1 {
				t.Errorf("%s was done %d times", id, n)
			}
		}
		for _, id := range []string{"crash-b-1", "crash-c-1", "refund-1", "letter-1"} { // failed, skipped, given up, asleep
			if n := v.effects(id); n != 0 {
				t.Errorf("%s was done %d times", id, n)
			}
		}
	})
}

// facesTell looks at all faces at midnight, and returns what the command says.
func (v *vigil) facesTell() string {
	v.t.Helper()
	status, code := v.run("perdure status --db shop.db")
	if code != exitAttention {
		v.t.Errorf("status has exit code %d", code)
	}
	overview, document := v.face("/"), v.face("/api/status")
	for _, want := range []struct{ command, page, api string }{
		{"quarantined", "quarantined", `"for":"quarantined"`},
		{"paused activity", "paused activity", `"for":"activity-paused"`},
		{"the list is wrong", "the list is wrong", "the list is wrong"},
		{"open breaker", "open breaker", `"for":"breaker"`},
		{"connection refused", "connection refused", "connection refused"},
		{"workflow \"monthly\" is not registered", "monthly", `"for":"code"`},
		{"the workflow's code panicked: index out of range [3]", "index out of range [3]", `"broken":"panicked"`},
		{"# boom: fix the code where it panicked", "Fix the code where it panicked", ""},
		{"it stays on build v1", "it stays on build v1", `"for":"build"`},
		{"# letter: keep a node of build v1", "Keep a node of build v1", ""},
		{"web-1 died", "web-1 died", `"died":1`},
		{"Pause of activity mail", "Pause of activity mail", `"operation":"pause"`},
		{"refund-1", "refund-1", `"refund-1"`}, // it gave up
		{"lost", "with their process", `"outcome":"lost"`},
	} {
		for face, text := range map[string][2]string{"status": {status, want.command}, "the overview": {overview, want.page}, "the API": {strings.ReplaceAll(document, `": `, `":`), want.api}} {
			if !strings.Contains(strings.ReplaceAll(text[0], "&#39;", "'"), text[1]) {
				v.t.Errorf("%s does not say %q", face, text[1])
			}
		}
	}
	if v.t.Failed() {
		v.t.Log(status)
	}
	for id, want := range map[string][2]string{
		"crash-a-1": {"quarantined", "quarantined"}, "boom-1": {"panicked", "panicked"}, "refund-1": {"connection refused", "connection refused"}, "mail-1": {"mail", "mail"},
	} {
		if out, _ := v.run("perdure show " + id + " --db shop.db"); !strings.Contains(out, want[0]) {
			v.t.Errorf("show %s does not say %q:\n%s", id, want[0], out)
		}
		if page := v.face("/run?id=" + id); !strings.Contains(page, want[1]) {
			v.t.Errorf("the page of %s does not say %q", id, want[1])
		}
	}
	_, head, _ := strings.Cut(v.face("/run?id=crash-a-1"), "<h1")
	if _, badge, _ := strings.Cut(head, `class="badge `); !strings.Contains(badge[:min(len(badge), 120)], "> quarantined</span>") {
		v.t.Errorf("a run whose only call is quarantined has the badge %.120q", badge)
	}
	return status
}

// typesWhatIsSuggested types each command that the status suggests, and asks for its effect.
func (v *vigil) typesWhatIsSuggested(status string) {
	v.t.Helper()
	v.mu.Lock()
	v.mended = true // the bank is back
	v.mu.Unlock()
	nth := func(about string, n int) string {
		lines := suggested(status, about)
		if n >= len(lines) {
			v.t.Fatalf("of %s it suggests %q only:\n%s", about, lines, status)
		}
		return strings.Replace(lines[n], "--to BUILD", "--to v2", 1)
	}
	for _, c := range []struct {
		command string
		effect  func() error
	}{
		{"perdure retry-now crash-a-1 --call 1 --db shop.db", v.did("crash-a-1")}, // once one has found out why
		{nth("crash-b", 1), v.shows("crash-b-1", "given up by hand")},
		{nth("crash-c", 2), v.shows("crash-c-1", "completed")},
		{nth("resume --activity mail", 0), v.did("mail-1")},
		{nth("gates probe bank", 0), v.did("debit-1")},
		{nth("render", 0), v.did("render-1")},
		{nth("move-runs", 0), v.shows("letter-1", "v2")},
	} {
		if strings.HasPrefix(c.command, "#") {
			v.t.Errorf("%q cannot be typed", c.command)
			continue
		}
		out, code := v.run(c.command)
		if code == 0 && strings.Contains(c.command, "--dry-run") {
			if err := c.effect(); err == nil {
				v.t.Errorf("the dry run %s did it", c.command)
			}
			out, code = v.run(strings.Replace(c.command, " --dry-run", "", 1))
		}
		if err := c.effect(); code != 0 || err != nil {
			v.t.Errorf("%s: exit %d, %v\n%s", c.command, code, err, out)
		}
	}
}

// pausesByForm pauses an activity in the dashboard, sees that it holds a call and that a person is
// called, and resumes it there.
func (v *vigil) pausesByForm() {
	v.t.Helper()
	v.change("pause", "refund")
	begin(v.t, v.eng, workflow.Declare[int, int]("of-refund"), "refund-2", 0)
	time.Sleep(time.Second)
	out, code := v.run("perdure status --db shop.db")
	if code != exitAttention || !strings.Contains(out, "by zoe: by form") || strings.Contains(v.face("/"), "All is well") || v.effects("refund-2") != 0 {
		v.t.Errorf("with a paused activity, exit %d:\n%s", code, out)
	}
	v.change("resume", "refund")
	if err := v.did("refund-2")(); err != nil {
		v.t.Error(err)
	}
}

// did asks the book whether a run has had its effect.
func (v *vigil) did(id string) func() error {
	return func() error {
		if n := v.effects(id); n != 1 {
			return fmt.Errorf("%s was done %d times", id, n)
		}
		return nil
	}
}

// shows asks whether perdure show says something of a run.
func (v *vigil) shows(id, want string) func() error {
	return func() error {
		if out, _ := v.run("perdure show " + id + " --db shop.db"); !strings.Contains(out, want) {
			return errors.New("it shows " + out)
		}
		return nil
	}
}
