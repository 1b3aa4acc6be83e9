package dashboard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// key presses keys, as somebody does who has no mouse.
func (b *tab) key(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// tabTo goes with the Tab key to the element of which a condition holds; it is called e.
func (b *tab) tabTo(condition string) {
	b.Helper()
	for range 300 {
		b.key(kb.Tab)
		if js[bool](b, `(e => Boolean(`+condition+`))(document.activeElement)`) {
			return
		}
	}
	b.Fatalf("the Tab key does not lead to: %s\n%s", condition, b.text("main"))
}

// enter presses Enter on the link or button with a text, which Tab reaches, and waits for the
// page that follows.
func (b *tab) enter(text string) {
	b.Helper()
	b.tabTo(`e.closest("main") && e.innerText.trim() === ` + quoted(text))
	b.follow()
}

// follow presses Enter and waits for the page that follows.
func (b *tab) follow() {
	b.Helper()
	js[bool](b, `window.left = true`)
	b.key(kb.Enter)
	b.wait(`window.left === undefined && document.readyState === "complete"`)
	b.calm()
}

// write writes into a field that Tab reaches, instead of what is in it.
func (b *tab) write(field, text string) {
	b.Helper()
	b.tabTo(`e.closest("main") && e.name === ` + quoted(field))
	js[bool](b, `document.activeElement.select?.() ?? true`)
	b.key(text)
}

// option goes to the operations on those chosen, and down to one of them.
func (b *tab) option(text string) {
	b.Helper()
	b.key("b")
	for range 20 {
		if js[string](b, `document.activeElement.selectedOptions?.[0].text ?? ""`) == text {
			return
		}
		b.key(kb.ArrowDown)
	}
	b.Fatalf("there is no operation %q: %s", text, b.text("#chosen"))
}

// sees fails the test unless the page says something.
func (b *tab) sees(selector, want string) {
	b.Helper()
	if got := b.text(selector); !strings.Contains(got, want) {
		b.Errorf("%s says %q, want %q", selector, got, want)
	}
}

// TestF44_ChosenRunsByKeyboard: runs are chosen one by one in the list, and only they are
// operated on, without a mouse.
func TestF44_ChosenRunsByKeyboard(t *testing.T) {
	b := browse(t)
	c := newTill()
	srv, eng := served(t, filepath.Join(t.TempDir(), "till.db"), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	waits(t, eng, c, "a", "b", "c", "d")
	states := func() (all string) {
		t.Helper()
		for _, id := range []string{"a", "b", "c", "d"} {
			d, err := eng.Workflow(id).Describe(t.Context())
			must(t, err)
			if len(d.Pending) == 0 {
				all += id + " " + d.Status + ", "
				continue
			}
			all += fmt.Sprintf("%s %s of %d, ", id, d.Pending[0].State, d.Pending[0].Max)
		}
		return all
	}
	// choose goes to the list, chooses rows by keys and an operation by its first letters.
	choose := func(operation string, ids ...string) {
		t.Helper()
		b.open(srv.URL + "/shop/runs?call=retrying")
		for i, id := range ids {
			for at := ""; at != id; at = js[string](b, `document.activeElement.textContent`) {
				b.key("j")
			}
			b.key("x")
			b.wait(fmt.Sprintf(`document.querySelector("#many").textContent === "%d chosen"`, i+1))
		}
		b.option(operation)
		b.enter("Go on")
	}

	// The choice outlives live updates, in which rows move.
	b.open(srv.URL + "/shop/runs?call=retrying")
	b.key("j")
	b.key("x")
	waits(t, eng, c, "later")
	b.wait(`document.querySelectorAll("main tbody tr").length === 5`)
	if picked := js[string](b, `[...document.querySelectorAll("input[name=pick]:checked")].map(p => p.value).join()`); picked != "d" {
		t.Errorf("after a live update %q is chosen", picked)
	}

	choose("Pause calls", "d", "b")
	b.sees("main", "2 calls in 2 runs")
	b.sees("main", "2 runs that you have chosen")
	b.looks("operate-chosen")
	b.write("reason", "two of four")
	b.enter("Pause")
	b.sees("main [role=status]", "2 paused.")
	if got := states(); got != "a backoff of 11, b paused of 11, c backoff of 11, d paused of 11, " {
		t.Errorf("the calls are %s", got)
	}
	audit, err := eng.Workflow("b").Audit(t.Context())
	must(t, err)
	if last := audit[len(audit)-1]; last.By != "ann" || last.Why != "two of four" {
		t.Errorf("the audit has %+v", last)
	}

	// An edit of the policy of those chosen shows its difference first.
	choose("Edit policy calls", "c", "a")
	if b.text("main form[method=post]:not(.ask)") != "(none)" {
		t.Error("the policy can be changed before its difference is shown")
	}
	b.write("policy", "[retry: 3]")
	b.follow()
	b.sees(".diff", "2 calls of pay")
	b.sees(".diff ins", "retry: 3")
	b.write("reason", "enough")
	b.enter("Edit policy")
	b.sees("main [role=status]", "2 given the policy.")
	if got := states(); got != "a backoff of 4, b paused of 11, c backoff of 4, d paused of 11, " {
		t.Errorf("the calls are %s", got)
	}

	// A skip and a retry of single calls.
	choose("Skip calls", "c")
	b.write("result", `"by hand"`)
	b.enter("Skip")
	b.sees("main [role=status]", "1 skipped.")
	c.let("a")
	choose("Retry now calls", "a")
	b.enter("Retry now")
	b.sees("main [role=status]", "1 retried.")
	for id, want := range map[string]string{"a": "paid", "c": "by hand"} {
		if got, err := perdure.Attach[string](eng, id).Result(t.Context()); err != nil || got != want {
			t.Errorf("%s has %q, %v", id, got, err)
		}
	}

	// Without a choice there is nothing to operate on; all of the page is one key.
	b.open(srv.URL + "/shop/runs?status=running")
	b.option("Cancel")
	b.tabTo(`e.innerText === "Go on"`)
	b.key(kb.Enter)
	b.wait(`document.querySelector("h1")?.textContent === "The request cannot be understood"`)
	b.sees("main", "Choose one in the list of runs")
	b.complaints = nil // the browser notes that the answer has the status of an error
	b.open(srv.URL + "/shop/runs?status=running")
	b.tabTo(`e.closest("#every")`)
	b.key(" ")
	b.wait(`document.querySelector("#many").textContent === "3 chosen"`)
	b.option("Terminate")
	b.enter("Go on")
	b.sees("main", "3 runs")
	b.enter("Terminate: 3 runs")
	b.sees("main [role=status]", "3 terminated.")
}

// TestF44_GatesAndSchedulesByKeyboard: a breaker is reset and probed, a gate edited, a schedule
// triggered and paused, without a mouse.
func TestF44_GatesAndSchedulesByKeyboard(t *testing.T) {
	b := browse(t)
	var well atomic.Bool
	bank := gate.New("bank", 3, gate.WithBreaker(gate.Breaker{Failures: 2, Cooldown: time.Hour, Wait: true}))
	pay := activity.New("pay", func(context.Context, string) (string, error) {
		if well.Load() {
			return "paid", nil
		}
		return "", errors.New("503 Service Unavailable")
	}, activity.Retry(policyOf("[retry: 1000, fixed: 1ms, jitter: none]")), activity.Through(bank))
	sell := workflow.New("sell", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, pay, in) })
	srv, eng := served(t, filepath.Join(t.TempDir(), "bank.db"), perdure.Register(sell, pay))
	must(t, eng.Start(t.Context()))
	must(t, perdure.Schedule(t.Context(), eng, "nightly", sell, "x", schedule.Spec{Cron: "0 3 1 1 *"}))
	for i := range 3 {
		_, err := perdure.Start(t.Context(), eng, sell, fmt.Sprint("sale-", i), "x")
		must(t, err)
	}
	bankIs := func() (g view.Gate) {
		t.Helper()
		all, err := ops.Gates(t.Context(), eng)
		must(t, err)
		for _, one := range all {
			if one.Name == "bank" {
				g = one
			}
		}
		return g
	}
	until := func(what string, is func(view.Gate) bool) view.Gate {
		t.Helper()
		for {
			if g := bankIs(); is(g) {
				return g
			}
			if t.Context().Err() != nil {
				t.Fatal("the gate never was: " + what)
			}
		}
	}
	opened := until("open", func(g view.Gate) bool { return g.Breaker == "open" })

	// From the list to the gate, and the limit is edited.
	b.open(srv.URL + "/shop/")
	b.key("g")
	js[bool](b, `window.left = true`)
	b.key("a")
	b.wait(`window.left === undefined && document.readyState === "complete"`)
	b.key("j")
	b.follow()
	b.sees("h1", "bank")
	b.enter("Edit")
	b.write("limit", "2")
	b.enter("Show the difference")
	b.sees(".diff", "limit: 2")
	b.write("reason", "less")
	b.enter("Edit")
	until("edited", func(g view.Gate) bool { return g.Spec.Limit == 2 })

	// A reset closes the breaker. The bank is still ill, so it opens again.
	b.enter("Reset")
	b.tabTo(`e.name === "breaker"`)
	b.key(" ")
	b.enter("Show what it means")
	b.sees("main", "start now")
	b.enter("Reset")
	b.sees(".notice.good", "it is on record")
	until("opened again", func(g view.Gate) bool {
		return g.Breaker == "open" && g.OpenUntil != nil && g.OpenUntil.After(*opened.OpenUntil)
	})

	// When it is well, a probe finds out, and the sales are made.
	well.Store(true)
	b.wait(`[...document.querySelectorAll("main a")].some(a => a.innerText === "Probe")`)
	if says := b.text(".notice.bad"); !strings.HasPrefix(says, "The circuit breaker is open: no attempt passes. The first call in line tries again in ") || !strings.HasSuffix(says, "; Probe lets it try now.") {
		t.Errorf("the page of an open breaker says %q", says)
	}
	b.enter("Probe")
	b.write("reason", "they say it is well")
	b.enter("Probe")
	b.sees(".notice.good", "it is on record")
	for i := range 3 {
		if got, err := perdure.Attach[string](eng, fmt.Sprint("sale-", i)).Result(t.Context()); err != nil || got != "paid" {
			t.Errorf("sale %d has %q, %v", i, got, err)
		}
	}
	g := until("closed", func(g view.Gate) bool { return g.Breaker == "closed" })
	var did []string
	for _, r := range g.Log {
		did = append(did, r.Operation+" by "+r.By+": "+r.Why)
	}
	if got := strings.Join(did, "; "); got != "probe by ann: they say it is well; reset by ann: ; edit by ann: less" {
		t.Errorf("the log has %s", got)
	}

	// A schedule.
	b.open(srv.URL + "/shop/schedules")
	b.key("j")
	b.follow()
	b.enter("Trigger now")
	b.enter("Show what it means")
	b.sees("#means + p", "It starts workflow sell.")
	b.enter("Trigger now")
	b.sees(".notice.good", "nightly/")
	b.wait(`document.querySelector("main").innerText.includes("completed")`)
	b.enter("Pause")
	b.enter("Pause")
	b.wait(`document.querySelector(".notice.held")?.innerText.includes("Paused")`)
}

// TestF44_HostileNames: what is operated on is what was chosen, whatever it is called.
func TestF44_HostileNames(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes and looks at many pages; the whole check does")
	}
	b := browse(t)
	srv, _ := served(t, made(t))
	b.open(srv.URL + "/shop/runs?call=retrying")
	js[bool](b, `(document.querySelector('input[name=pick][value*="alert"]').checked = true)`)
	b.key("b")
	b.enter("Go on")
	b.sees("main", "1 call in 1 run")
	b.sees("main tbody", "alert(3)")

	srv, eng := served(t, explored(t), perdure.Register(shop, pay, card, load))
	must(t, eng.Start(t.Context()))
	b.open(srv.URL + string(link("/shop/gate", "name", hostileName)))
	b.enter("Resume")
	b.enter("Resume")
	b.sees(".notice.good", "it is on record")
	b.wait(`!document.querySelector(".notice.held")`)
	b.open(srv.URL + string(link("/shop/schedule", "name", hostileName)))
	b.enter("Trigger now")
	b.enter("Show what it means")
	b.enter("Trigger now")
	b.sees(".notice.good", "it is on record")
}
