package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// hostileName is the worst that a gate or a schedule may be called.
const hostileName = `<script>alert(4)</script>"'&amp;../?a=b#c%2F{{.}} \ ` + "\u202eevil"

// hostileWhy is hostile as far as a reason may be.
var hostileWhy = strings.ReplaceAll(hostile, "\x00", "")

// odd is an error whose type is hostile.
type odd struct{ text string }

func (e *odd) Error() string     { return e.text }
func (e *odd) ErrorType() string { return `<img src=x onerror=alert(5)>` + "\u202eepyt" }

var (
	cards = gate.New("cards", 3, gate.WithRate(20, 5), gate.WithBudget(gate.Budget{Tokens: 40, Refund: 0.1}), gate.WithBreaker(gate.Breaker{Failures: 5, Cooldown: 10 * time.Minute, Wait: true}))
	dock  = gate.New(hostileName, 1)

	pay = activity.New("pay", func(ctx context.Context, in string) (string, error) {
		info, _ := activity.FromContext(ctx)
		switch {
		case strings.HasPrefix(in, "twice") && info.Attempt > 2, strings.HasPrefix(in, "fine"):
			return "paid", nil
		case strings.HasPrefix(in, "odd"):
			return "", &odd{hostile}
		}
		return "", fmt.Errorf("POST https://bank.example/charge: 503 Service Unavailable (attempt %d)", info.Attempt)
	}, activity.Retry(policyOf("[retry: 6, backoff: 1m, max: 20m, jitter: none]")))
	card = activity.New("card", func(ctx context.Context, in string) (string, error) {
		return "", errors.New("503 from the cards' server")
	},
		activity.Retry(policyOf("[retry: 20, backoff: 30s, max: 5m, jitter: none]")), activity.Through(cards))
	load = activity.New("load", func(ctx context.Context, in string) (string, error) { return "", activity.ErrPending },
		activity.Retry(policyOf("[timeout: 1d]")), activity.Through(dock))
	shop = workflow.New("shop", func(wf *workflow.Context, in string) (string, error) {
		switch kind, _, _ := strings.Cut(in, " "); kind {
		case "card":
			return workflow.Call(wf, card, in)
		case "load":
			return workflow.Call(wf, load, in)
		}
		return workflow.Call(wf, pay, in)
	})
)

// explored is the database of a day: attempts that failed and recovered, gates that are
// full, open and paused, schedules, and what people did.
func explored(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	oneDay.Do(func() {
		made := t.TempDir()
		lived(t, filepath.Join(made, "day.db"))
		oneDay.files = map[string][]byte{}
		for _, name := range []string{"day.db", "day.db-wal"} {
			data, err := os.ReadFile(filepath.Join(made, name))
			if !errors.Is(err, os.ErrNotExist) {
				must(t, err)
				oneDay.files[name] = data
			}
		}
	})
	for name, data := range oneDay.files {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return filepath.Join(dir, "day.db")
}

// oneDay is the database, made once.
var oneDay struct {
	sync.Once
	files map[string][]byte
}

func lived(t *testing.T, file string) {
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-12 * time.Hour)))
		ctx := t.Context()
		eng, err := perdure.Open(ctx, sqlite.File(file, sqlite.Exclusive()), perdure.Register(shop, pay, card, load),
			perdure.NodeName("shop-1"), perdure.Build("v1.4.2+abc"), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = eng.Start(ctx)
		}
		must(t, err)
		defer eng.Close()
		start := func(id, in string) {
			_, err := perdure.Start(ctx, eng, shop, id, in)
			must(t, err)
			time.Sleep(time.Second)
		}
		must(t, perdure.Schedule(ctx, eng, "nightly", shop, "fine", schedule.Spec{Cron: "0 3 * * *", TimeZone: "Europe/Paris"}))
		must(t, perdure.Schedule(ctx, eng, "every hour", shop, "twice", schedule.Spec{Every: time.Hour, Jitter: time.Minute, Overlap: schedule.BufferOne}))
		must(t, perdure.Schedule(ctx, eng, hostileName, shop, hostile, schedule.Spec{Every: 12 * time.Hour, Overlap: schedule.AllowAll}))
		for hour := range 8 {
			start(fmt.Sprintf("fine-%d", hour), "fine")
			for i := range (hour * 5) % 7 {
				start(fmt.Sprintf("twice-%d-%d", hour, i), "twice")
			}
			if hour%3 == 2 {
				start(fmt.Sprintf("never-%d", hour), "never")
			}
			time.Sleep(time.Hour)
		}
		start(hostileID, "odd "+hostile)
		must(t, ops.PauseSchedule(ctx, eng, hostileName, ops.By(hostileWhy[:60]), ops.Why(hostileWhy)))

		time.Sleep(2 * time.Hour)
		for i := range 4 {
			start(fmt.Sprintf("load-%d", i), "load")
		}
		for i := range 7 {
			start(fmt.Sprintf("card-%d", i), "card")
		}
		time.Sleep(time.Hour)
		_, err = ops.EditGate(ctx, eng, "cards", view.GateEdit{Limit: 2}, ops.By("ann"), ops.Why("the bank asked for it"))
		must(t, err)
		must(t, ops.PauseGate(ctx, eng, hostileName, ops.By(hostileWhy[:60]), ops.Why(hostileWhy)))
		_, err = ops.Control(ctx, eng, "card-1", view.CallFilter{}, ops.Pause(), ops.By("bob"), ops.Why("he looks at it"))
		must(t, err)
		time.Sleep(time.Minute)
		must(t, eng.Close())
	})
}

func TestF37_ExplorePagesInABrowser(t *testing.T) {
	b := browse(t)
	srv, _ := served(t, explored(t))
	for _, p := range []struct{ name, path string }{
		{"ledger", "ledger"}, {"gates", "gates"}, {"gate", "gate?name=cards"}, {"schedules", "schedules"}, {"schedule", "schedule?name=every%20hour"},
		{"nodes", "nodes?all=yes"}, {"audit", "audit"},
		{"policy", "policy?policy=" + url.QueryEscape("[retry: 5, backoff: 30s, max: 10m] [NetworkError -> retry: 10] [never: Declined] [timeout: 2m]")},
		{"lab", "lab?policy=" + url.QueryEscape("[retry: 3, backoff: 5m, jitter: none]")},
	} {
		b.goldens(p.name, srv.URL+"/shop/"+p.path, b.outline)
	}

	// Hostile names are found by their links, and hostile texts say what is wrong with them.
	for _, path := range []string{"gates", "schedules"} {
		b.open(srv.URL + "/shop/" + path)
		to := js[string](b, `[...document.querySelectorAll("a.row")].find(a => a.innerText.includes("alert(4)")).href`)
		b.open(to)
		if got := b.text("h1"); !strings.HasPrefix(got, strings.ReplaceAll(hostileName, "\u202e", "\\u202e")) {
			t.Errorf("%s leads to %q", to, got)
		}
	}
	wrong := url.QueryEscape(hostile)
	for _, path := range []string{
		"ledger?activity=" + wrong + "&error=" + wrong + "&workflow=" + wrong, "ledger?error=" + url.QueryEscape((&odd{}).ErrorType()), "ledger?since=",
		"audit?name=" + wrong + "&by=" + wrong + "&operation=" + wrong, "policy?policy=" + wrong, "policy?policy=standard&nested=" + wrong,
		"lab?policy=" + wrong, "lab?policy=standard&activity=" + wrong, "policy?policy=" + url.QueryEscape("[retry: unlimited, backoff: 1s] [timeout: forever]"),
		"change?kind=gate&do=edit&name=cards&asked=yes&limit=" + wrong, "change?kind=schedule&do=backfill&name=nightly&asked=yes&from=" + wrong,
	} {
		b.open(srv.URL + "/shop/" + path)
	}
}

// A page that arrives in parts is shown once it is whole: rows that come later would widen and
// narrow the columns of those that are there.
func TestF37_APageOverASlowLineDoesNotJump(t *testing.T) {
	b := browse(t)
	srv, _ := served(t, explored(t))
	b.slowLine()
	for _, path := range []string{"", "runs", "ledger", "gates", "gate?name=cards", "nodes?all=yes", "audit", "schedules"} {
		b.open(srv.URL + "/shop/" + path)
		if jumps := js[float64](b, "window.jumps"); jumps > 0.01 {
			t.Errorf("the layout of %q jumps: %v\n%s", path, jumps, js[string](b, `window.moved.join("\n")`))
		}
	}
}

// outline is the headings, columns, fields and buttons of the page: its rows depend on the time
// of the day.
func (b *tab) outline() string {
	b.Helper()
	var lines []string
	for line := range strings.Lines(b.tree()) {
		role, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if slices.Contains([]string{"RootWebArea", "navigation", "main", "search", "heading", "region", "columnheader", "textbox", "searchbox", "combobox", "button", "image"}, role) {
			lines = append(lines, months.ReplaceAllString(line, "TIME"))
		}
	}
	return strings.Join(slices.Compact(lines), "")
}

// months are the times on charts, and the counts beside them.
var months = regexp.MustCompile(`the most are .* on|[A-Z][a-z][a-z] \d+ \d\d:\d\d|\d+ (at the first try|recovered|gave up)`)

// fill writes into a field of a form.
func (b *tab) fill(name, value string) {
	b.Helper()
	b.do(chromedp.Focus(chromedp.CSS(`main form [name="` + name + `"]:not([type=hidden])`)))
	js[bool](b, `document.activeElement.select?.() ?? true`)
	b.do(chromedp.KeyEvent(value))
}

// press presses a button or a link with a text, and waits for the next page.
func (b *tab) press(text string) {
	b.Helper()
	js[bool](b, `window.left = true`)
	found := js[bool](b, `(() => { for (const e of document.querySelectorAll("main a, main button")) if (e.innerText.trim() === `+quoted(text)+`) { e.focus(); return true } return false })()`)
	if !found {
		b.Fatalf("there is no %q on the page: %s", text, b.text("main"))
	}
	b.do(chromedp.KeyEvent("\r"))
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	for { // while the page changes there is nothing to ask
		there, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.left === undefined && document.readyState === "complete"`))
		if err == nil && there {
			break
		}
		if ctx.Err() != nil {
			b.Fatalf("%q leads nowhere: %v", text, err)
		}
	}
	b.calm()
}

// TestF38_AnotherRunIsStartedFromAPage: the form is filled in as the run began, says what a start
// comes to, an ID in use above all, and starts once, however often it is sent.
func TestF38_AnotherRunIsStartedFromAPage(t *testing.T) {
	b := browse(t)
	srv, eng := served(t, explored(t), perdure.Register(shop, pay, card, load))
	must(t, eng.Start(t.Context()))
	old, err := perdure.Start(t.Context(), eng, shop, "first", "fine", workflow.Priority(3), workflow.WeightedKey("ann", 2),
		workflow.Attributes(map[string]string{"city": "Paris", "street": "Rue <b>"}), workflow.Memo([]int{1, 2}))
	must(t, err)
	_, err = old.Result(t.Context())
	must(t, err)
	b.open(srv.URL + "/shop/run?id=first")
	b.press("Start another")
	if got := js[string](b, `document.querySelector("[name=input]").value + "|" + document.querySelector("[name=attribute]").value + "|" + document.querySelector("[name=memo]").value`); got != `"fine"|city=Paris`+"\n"+`street=Rue <b>|[1,2]` {
		t.Errorf("the form has %q", got)
	}
	b.press("Show what it means")
	if got := b.text(".notice.bad"); !strings.Contains(got, "The id is missing") {
		t.Errorf("without an ID it says %q", got)
	}
	b.fill("id", "first")
	b.press("Show what it means")
	if got := b.text("main"); !strings.Contains(got, "has a run already (completed)") || strings.Contains(got, "for the audit") {
		t.Errorf("with an ID in use it says %q", got)
	}
	b.fill("id", "second")
	b.press("Show what it means")
	if got := b.text("main"); !strings.Contains(got, "A run of shop would begin under the workflow ID second.") {
		t.Errorf("it says %q", got)
	}
	if got := js[string](b, `document.querySelector("[name=attribute]").value`); got != "city=Paris\nstreet=Rue <b>" {
		t.Errorf("the lines have become %q", got)
	}
	b.looks("start")
	if _, err := eng.Workflow("second").Describe(t.Context()); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("it was started before anybody said yes: %v", err)
	}
	b.press("Start")
	if got := b.text("main"); !strings.Contains(got, "second") {
		t.Errorf("the next page is of %q", got)
	}
	d, err := eng.Workflow("second").Describe(t.Context())
	must(t, err)
	if d.Priority != 3 || d.Key != "ann" || d.Weight != 2 || d.Attributes["street"] != "Rue <b>" || string(d.Memo.JSON) != "[1,2]" || string(d.Input.JSON) != `"fine"` {
		t.Errorf("it is %+v", d)
	}
}

func TestF38_ChangesAreShownBeforeTheyAreMade(t *testing.T) {
	b := browse(t)
	srv, eng := served(t, explored(t), perdure.Register(shop, pay, card, load))
	must(t, eng.Start(t.Context()))
	sees := func(selector, want string) {
		t.Helper()
		if got := b.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
	gateIs := func() *view.Gate {
		t.Helper()
		all, err := ops.Gates(t.Context(), eng)
		must(t, err)
		for i := range all {
			if all[i].Name == "cards" {
				return &all[i]
			}
		}
		t.Fatal("the gate is gone")
		return nil
	}

	// An edit: what is wrong is said, the difference is shown, and only it is sent.
	b.open(srv.URL + "/shop/gate?name=cards")
	b.press("Edit")
	b.fill("cooldown", "a while")
	b.press("Show the difference")
	sees(".notice.bad", `The cooldown is "a while"`)
	b.fill("cooldown", "3m")
	b.fill("limit", "7")
	b.press("Show the difference")
	sees(".diff", "limit: 2")
	sees(".diff", "limit: 7")
	sees(".diff", "open for 3m")
	if got := gateIs().Spec.Limit; got != 2 {
		t.Fatalf("the limit is %d before anybody said yes", got)
	}
	b.looks("change")
	b.golden("change")
	_, err := ops.EditGate(t.Context(), eng, "cards", view.GateEdit{Rate: &gate.Rate{PerSecond: 9}}, ops.By("bob"))
	must(t, err)
	b.fill("reason", "it is <b>fine</b>")
	b.press("Edit")
	sees(".notice.good", "it is on record")
	b.wait(`/7\s+edited; in code 3/.test(document.querySelector("dl.facts").innerText)`)
	g := gateIs()
	if g.Spec.Limit != 7 || g.Spec.Breaker.Cooldown != 3*time.Minute || g.Spec.Rate.PerSecond != 9 {
		t.Errorf("the gate is %+v", g.Spec)
	}
	if e := g.Log[0]; e.By != "ann" || e.Why != "it is <b>fine</b>" || e.Operation != "edit" {
		t.Errorf("the log says %+v", e)
	}

	// A pause and its end, in words of the page only.
	b.press("Pause")
	b.press("Pause")
	b.wait(`document.querySelector(".notice.held")?.innerText.includes("Paused")`)
	b.press("Resume")
	b.press("Resume")
	b.wait(`!document.querySelector(".notice.held")`)

	// A schedule is triggered, backfilled, paused and deleted.
	b.open(srv.URL + "/shop/schedule?name=nightly")
	b.press("Trigger now")
	b.press("Show what it means")
	sees("#means + p", "It starts workflow shop.")
	b.press("Trigger now")
	sees(".notice.good", "nightly/")
	b.wait(`/trigger/.test(document.querySelector("main").innerText)`)
	b.press("Backfill")
	b.fill("from", "9d")
	b.fill("until", "4d")
	b.press("Show the times")
	sees("main", "5 times, the first ")
	b.press("Backfill")
	b.wait(`/backfill/.test(document.querySelector("main").innerText)`)
	b.press("Backfill")
	b.fill("from", "never")
	b.press("Show the times")
	sees(".notice.bad", `The from is "never", which is no time.`)
	b.open(srv.URL + "/shop/schedule?name=nightly")
	b.press("Pause")
	b.press("Pause")
	b.wait(`document.querySelector(".notice.held")?.innerText.includes("Paused")`)
	b.press("Delete")
	b.press("Delete")
	b.wait(`!document.querySelector("main").innerText.includes("nightly")`)

	// All of it is in the audit.
	b.open(srv.URL + "/shop/audit?by=ann&kind=gate")
	sees("tbody", "resume")
	if rows := js[int](b, `document.querySelectorAll("tbody tr").length`); rows != 4 {
		t.Errorf("the audit of ann's gates has %d entries: %s", rows, b.text("tbody"))
	}
	b.open(srv.URL + "/shop/audit?kind=schedule&operation=backfill")
	sees("tbody", "nightly")
}

func TestF38_EveryRouteRefusesWhatItMust(t *testing.T) {
	eng, err := perdure.Open(t.Context(), sqlite.File(filepath.Join(t.TempDir(), "empty.db")), perdure.Logger(slog.New(slog.DiscardHandler)))
	must(t, err)
	t.Cleanup(func() { eng.Close() })
	serve := func(rules access.Rules) (http.Handler, error) { return Handler(eng, rules) }
	guard, err := web.New(webtest.Rules())
	must(t, err)
	webtest.Check(t, (&server{engine: eng, guard: guard}).routes(), serve)
}
