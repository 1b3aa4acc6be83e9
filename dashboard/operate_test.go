package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// till is an activity that fails until the test opens it, and a workflow that calls it.
type till struct {
	mu   sync.Mutex
	open map[string]bool

	activity activity.Activity[string, string]
	workflow workflow.Workflow[string, string]
}

func newTill() *till {
	c := &till{open: map[string]bool{}}
	c.activity = activity.New("pay", func(_ context.Context, in string) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[in] {
			return "paid", nil
		}
		return "", fmt.Errorf("the till is closed for %s", in)
	}, activity.Retry(policyOf("[retry: 10, backoff: 1h]")))
	c.workflow = workflow.New("sell", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, c.activity, in) })
	return c
}

func (c *till) let(in string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[in] = true
}

// waits starts runs, and waits until each of them is in backoff.
func waits(t *testing.T, eng *perdure.Engine, c *till, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := perdure.Start(t.Context(), eng, c.workflow, id, id)
		must(t, err)
		for {
			d, err := eng.Workflow(id).Describe(t.Context())
			must(t, err)
			if len(d.Pending) == 1 && d.Pending[0].State == view.CallBackoff {
				break
			}
		}
	}
}

func call(t *testing.T, eng *perdure.Engine, id string) view.Call {
	t.Helper()
	d, err := eng.Workflow(id).Describe(t.Context())
	must(t, err)
	if len(d.Pending) != 1 {
		t.Fatalf("%s has %d open calls and is %s", id, len(d.Pending), d.Status)
	}
	return d.Pending[0]
}

func TestF32_OperationsByForm(t *testing.T) {
	b := browse(t)
	c := newTill()
	srv, eng := served(t, filepath.Join(t.TempDir(), "till.db"), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	waits(t, eng, c, "a", "b", "c", "d", "e")

	// press follows a link of the page by its text, and do sends the form that it leads to.
	press := func(text string) {
		t.Helper()
		before := js[string](b, "location.href")
		b.do(chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//a[normalize-space(.)=%q]`, text))))
		b.wait(`document.readyState === "complete" && location.href !== ` + quoted(before))
	}
	do := func(said string) {
		t.Helper()
		b.do(chromedp.SetValue(chromedp.CSS("form[method=post] input[name=reason]"), "a test"))
		b.do(chromedp.Click(chromedp.CSS("main form[method=post] button")))
		b.wait(`document.querySelector("main [role=status]") !== null`)
		b.calm()
		if text := b.text("main [role=status]"); !strings.Contains(text, said) {
			t.Errorf("the page says %q; want %q", text, said)
		}
	}

	b.open(srv.URL + "/shop/run?id=a")
	press("Pause")
	do("applied")
	if s := call(t, eng, "a").State; s != view.CallPaused {
		t.Errorf("the call is %s", s)
	}
	press("Resume")
	do("applied")
	if s := call(t, eng, "a").State; s != view.CallBackoff {
		t.Errorf("the call is %s", s)
	}

	// The difference of a policy comes first, and then the change.
	press("Edit policy")
	if b.text("form[method=post]") != "(none)" {
		t.Error("the policy can be changed before its difference is shown")
	}
	b.do(chromedp.SendKeys(chromedp.CSS("input[name=policy]"), "[retry: 3]"+kb.Enter))
	b.wait(`document.querySelector(".diff ins") !== null`)
	if text := b.text(".diff"); !strings.Contains(text, "3 attempts are left, instead of 10") || !strings.Contains(text, "retry: 3") {
		t.Errorf("the difference: %s", text)
	}
	if n := call(t, eng, "a").Max; n != 11 {
		t.Errorf("the policy has changed already: %d attempts", n)
	}
	do("applied")
	if n := call(t, eng, "a").Max; n != 4 {
		t.Errorf("the call has %d attempts", n)
	}
	audit, err := eng.Workflow("a").Audit(t.Context())
	must(t, err)
	if last := audit[len(audit)-1]; last.By != "ann" || last.Why != "a test" || last.Operation != "edit-policy" {
		t.Errorf("the audit has %+v", last)
	}

	// A result that is none is refused by the form, which keeps what was written.
	b.open(srv.URL + "/shop/run?id=b")
	press("Skip")
	b.do(chromedp.SetValue(chromedp.CSS("textarea[name=result]"), "no JSON"))
	b.do(chromedp.Click(chromedp.CSS("main form[method=post] button")))
	b.wait(`document.querySelector("main [role=alert]") !== null`)
	if text := b.text("main"); !strings.Contains(text, "must be JSON") || js[string](b, `document.querySelector("textarea[name=result]").value`) != "no JSON" {
		t.Errorf("the form says %s", text)
	}
	b.complaints = nil // the browser notes that the answer has the status of an error
	b.do(chromedp.SetValue(chromedp.CSS("textarea[name=result]"), `"by hand"`))
	do("applied")
	if got, err := perdure.Attach[string](eng, "b").Result(t.Context()); err != nil || got != "by hand" {
		t.Errorf("the run has %q, %v", got, err)
	}

	// Many at a time: the form counts, and then does it.
	for _, id := range []string{"c", "d"} {
		c.let(id)
	}
	b.open(srv.URL + "/shop/runs?call=retrying")
	b.do(chromedp.Click(chromedp.CSS("#bulk summary")))
	press("Retry now calls")
	if text := b.text("main"); !strings.Contains(text, "4 calls in 4 runs") {
		t.Errorf("the dry run says %s", text)
	}
	do("4 retried")
	for _, id := range []string{"c", "d"} {
		if got, err := perdure.Attach[string](eng, id).Result(t.Context()); err != nil || got != "paid" {
			t.Errorf("%s has %q, %v", id, got, err)
		}
	}
	b.open(srv.URL + "/shop/run?id=e")
	press("Terminate")
	do("applied")
	d, err := eng.Workflow("e").Describe(t.Context())
	must(t, err)
	if d.Status != view.StatusTerminated {
		t.Errorf("the run is %s", d.Status)
	}
}

// TestF32_OperationsByKeyboard: from the list to an operation and back without a mouse.
func TestF32_OperationsByKeyboard(t *testing.T) {
	b := browse(t)
	c := newTill()
	srv, eng := served(t, filepath.Join(t.TempDir(), "till.db"), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	waits(t, eng, c, "first", "second")
	c.let("first")
	b.open(srv.URL + "/shop/")
	key := func(keys string) { t.Helper(); b.do(chromedp.KeyEvent(keys)) }
	at := func(js string) { t.Helper(); b.wait(js) }
	key("g")
	key("r")
	at(`location.pathname.endsWith("/runs") && document.readyState === "complete"`)
	// A key whose default is prevented makes no character; chromedp would send one.
	protocol(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "/"})
	at(`document.activeElement.name === "prefix"`)
	key("first" + kb.Enter)
	at(`location.search.includes("prefix=first") && document.readyState === "complete"`)
	key("j")
	at(`document.activeElement.textContent === "first"`)
	key(kb.Enter)
	at(`location.pathname.endsWith("/run") && document.readyState === "complete"`)
	for range 60 { // to the button, as anybody who has no mouse does
		key(kb.Tab)
		if js[string](b, `document.activeElement.textContent`) == "Retry now" {
			break
		}
	}
	key(kb.Enter)
	at(`location.pathname.endsWith("/operate") && document.readyState === "complete"`)
	for range 60 {
		key(kb.Tab)
		if js[string](b, `document.activeElement.name ?? ""`) == "reason" {
			break
		}
	}
	key("the till is open" + kb.Enter)
	at(`location.pathname.endsWith("/run") && document.querySelector("main [role=status]") !== null`)
	b.calm()
	if got, err := perdure.Attach[string](eng, "first").Result(t.Context()); err != nil || got != "paid" {
		t.Errorf("the run has %q, %v", got, err)
	}
}

// TestF6_ReadableWithoutScript: what the server sends says all, also of the page that is
// paused, and nothing in it is obeyed.
func TestF6_ReadableWithoutScript(t *testing.T) {
	srv, _ := served(t, made(t))
	for _, path := range []string{"", "runs", "run?id=bad-1", string(link("run", "id", hostileID)), "history?id=bad-1", "attempts?id=bad-1", "operate?op=pause&id=bad-1&number=2"} {
		resp, err := http.Get(srv.URL + "/shop/" + path)
		must(t, err)
		text := new(strings.Builder)
		_, err = fmt.Fprint(text, body(t, resp))
		must(t, err)
		page := text.String()
		if resp.StatusCode != http.StatusOK || !strings.Contains(page, "<h1>") || !strings.Contains(page, `as of <time datetime="`) {
			t.Errorf("%q: status %d", path, resp.StatusCode)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\x1b", "\x00", "\u2028", " style=", " onerror=\""} {
			if strings.Contains(page, bad) {
				t.Errorf("%q has %q in its page", path, bad)
			}
		}
	}
}

// TestF11_TheOverviewLeadsToTheNextStep: what waits has a link to the form that does something
// about all of it, and what no person decided stands in the heading.
func TestF11_TheOverviewLeadsToTheNextStep(t *testing.T) {
	b := browse(t)
	srv, _ := served(t, infested(t))
	b.open(srv.URL + "/shop/")
	steps := js[[]string](b, `[...document.querySelectorAll("td.step a")].map((a) => a.textContent + " " + a.closest("tr").className)`)
	for _, want := range []string{"Resume held", "Retry now "} {
		if !slices.Contains(steps, want) {
			t.Errorf("the overview has the next steps %q, not %q", steps, want)
		}
	}
	for _, link := range js[[]string](b, `[...document.querySelectorAll("td.step a")].map((a) => a.href)`) {
		b.open(link)
		if text := b.text("main"); strings.Contains(text, "Nothing is selected") || strings.Contains(text, "cannot be understood") || !js[bool](b, `document.querySelector("form.do button.main, form.do button.danger") !== null`) {
			t.Errorf("%s leads to %s", link, text)
		}
	}
}
