package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/goldenfile"
)

// tab is a page of a real browser. What the browser complains of fails the test.
type tab struct {
	*testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	expect     string // what a complaint may say: the status of a page that is an error
}

// browsers are the names of a browser that these tests can drive, on the systems that have one.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// findBrowser returns the program of a browser, or skips the test.
func findBrowser(t *testing.T) string {
	t.Helper()
	extent.NotInShort(t, "a browser")
	for _, name := range browsers {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	extent.Missing(t, "The dashboard is tested in a real browser, Chromium or Chrome. Install it: apt-get install chromium, brew install --cask chromium.")
	return ""
}

// browser is started once, without a screen, when the first test wants it. TestMain ends it.
var browser struct {
	once sync.Once
	ctx  context.Context
	end  context.CancelFunc
	err  error
}

func startBrowser(program string) {
	data, err := os.MkdirTemp("", "browser")
	if err != nil {
		browser.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("force-device-scale-factor", "1"),
		chromedp.UserDataDir(data), chromedp.WindowSize(1280, 800))
	started, endProcess := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeFirst := chromedp.NewContext(started)
	browser.ctx, browser.err = ctx, chromedp.Do(ctx)
	browser.end = func() { closeFirst(); endProcess(); os.RemoveAll(data) }
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.end != nil {
		browser.end()
	}
	os.Exit(code)
}

// browse opens a tab of a browser that has seen nothing yet: no cookies, no storage, no cache.
func browse(t *testing.T) *tab {
	t.Helper()
	program := findBrowser(t)
	browser.once.Do(func() { startBrowser(program) })
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	return newTab(t, browser.ctx, chromedp.WithNewBrowserContext())
}

// beside is another tab of the same browser, with what that has seen.
func (b *tab) beside() *tab { return newTab(b.T, b.ctx) }

func newTab(t *testing.T, ctx context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx, options...)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if strings.HasPrefix(e.Entry.Text, "Autofocus processing was blocked") {
				return // the keys of the test came before the page's own choice
			}
			b.complain(string(e.Entry.Level) + ": " + e.Entry.Text + " " + e.Entry.URL)
		case *runtime.EventConsoleAPICalled:
			b.complain("console: " + string(e.Type))
		case *runtime.EventExceptionThrown:
			b.complain("exception: " + e.ExceptionDetails.Text)
		case *browserpage.EventJavascriptDialogOpening:
			b.complain("dialog: " + e.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	protocol(b, log.Enable, cdp.Empty{})
	// A layout that jumps is seen by the browser itself, which says what moved.
	protocol(b, browserpage.AddScriptToEvaluateOnNewDocument, browserpage.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.jumps = 0; window.moved = []; new PerformanceObserver(l => { for (const e of l.getEntries()) if (!e.hadRecentInput) { window.jumps += e.value; window.moved.push(e.value.toFixed(3) + ": " + e.sources.map(s => s.node?.nodeName + " " + (s.node?.textContent ?? "").trim().slice(0, 30)).join(", ")) } }).observe({type: "layout-shift", buffered: true})`,
	})
	return b
}

func (b *tab) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, text)
}

// protocol sends a command of the browser's own protocol.
func protocol[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.Helper()
	r, err := chromedp.Call(b.ctx, c, params)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// do does things in the browser.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// js is the value of an expression in the page.
func js[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text is the text of the first element that a CSS selector finds.
func (b *tab) text(selector string) string {
	b.Helper()
	return js[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? "(none)"`, selector))
}

// open opens a page, and fails the test if the browser has something to say about it.
func (b *tab) open(url string) {
	b.Helper()
	b.do(chromedp.Navigate(url))
	b.calm()
}

// slowLine makes the browser receive as over a bad mobile network, until the test ends.
func (b *tab) slowLine() {
	b.Helper()
	protocol(b, network.Enable, network.EnableParams{})
	protocol(b, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Latency: 20, DownloadThroughput: 60_000, UploadThroughput: 60_000}},
	})
}

// calm fails the test if the browser has complained, or the layout has jumped.
func (b *tab) calm() {
	b.Helper()
	// A tenth is what browsers call good.
	if jumps := js[float64](b, "window.jumps"); jumps > 0.1 {
		b.Errorf("the layout jumps: %v\n%s", jumps, js[string](b, `window.moved.join("\n")`))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		if b.expect == "" || !strings.Contains(c, b.expect) {
			b.Error(c)
		}
	}
	b.complaints = nil
}

// shot takes a picture of the whole page as it is, for a person. It goes to the directory that
// PERDURE_SHOTS names.
func (b *tab) shot(name string, width int64, scheme string) {
	b.Helper()
	dir := os.Getenv("PERDURE_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)), png, 0o644); err != nil {
		b.Fatal(err)
	}
}

// look takes a picture in light or dark, with a width.
func (b *tab) look(name string, width int64, scheme string) {
	b.Helper()
	if os.Getenv("PERDURE_SHOTS") == "" {
		return
	}
	b.appear(width, scheme)
	b.shot(name, width, scheme)
	protocol(b, emulation.ClearDeviceMetricsOverride, cdp.Empty{})
}

// looks are the pictures of a page that people look at.
func (b *tab) looks(name string) {
	b.Helper()
	b.look(name, 1280, "light")
	b.look(name, 1280, "dark")
	b.look(name, 380, "light")
}

// tree is the page as a screen reader has it: roles, names and states, without what differs
// from run to run.
func (b *tab) tree() string {
	b.Helper()
	nodes := protocol(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var out strings.Builder
	var walk func(n *accessibility.Node, depth int, outer string)
	walk = func(n *accessibility.Node, depth int, outer string) {
		role, name := axText(n.Role), axText(n.Name)
		if role == "InlineTextBox" {
			return
		}
		shown := !n.Ignored && !anHour.MatchString(name) && role != "none" && role != "generic" && !(role == "StaticText" && name == outer) &&
			!(role == "form" && name == "") // no landmark, which only some versions of the browser leave out
		if shown {
			line := role
			if name != "" {
				line += fmt.Sprintf(" %q", steady(name))
			}
			for _, p := range n.Properties {
				if v := axText(p.Value); slices.Contains([]string{"level", "pressed", "expanded", "checked", "disabled", "required"}, string(p.Name)) && v != "" && v != "false" {
					line += fmt.Sprintf(" %s=%s", p.Name, v)
				}
			}
			out.WriteString(strings.Repeat("  ", depth) + line + "\n")
			depth, outer = depth+1, name
		}
		for _, id := range n.ChildIDs {
			if c := byID[id]; c != nil {
				walk(c, depth, outer)
			}
		}
	}
	walk(nodes[0], 0, "")
	return out.String()
}

// goldens opens a page as people look at it and holds it to files: in light and in dark it says
// the same, on a phone its outline is that of another file, and it fits the screen. By day it is
// light or dark, by turns.
func (b *tab) goldens(name, url string, is func() string) {
	b.Helper()
	for _, a := range appearances {
		if dark := len(name)%2 == 1; a.width > 500 && (a.scheme == "dark") != dark && !extent.Nightly() {
			continue
		}
		b.appear(a.width, a.scheme)
		b.open(url)
		b.fits()
		b.shot(name, a.width, a.scheme)
		if a.width < 500 {
			goldenfile.Compare(b.T, filepath.Join("testdata", name+"-phone.txt"), b.outline())
		} else {
			goldenfile.Compare(b.T, filepath.Join("testdata", name+".txt"), is())
		}
	}
	protocol(b, emulation.ClearDeviceMetricsOverride, cdp.Empty{})
}

// golden holds the tree of the page to a file.
func (b *tab) golden(name string) {
	b.Helper()
	goldenfile.Compare(b.T, filepath.Join("testdata", name+".txt"), b.tree())
}

func axText(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(v.Value, &text) != nil {
		return string(v.Value) // a number, true or false
	}
	return text
}

// anHour is a bar of a chart by the hour: what is in it depends on when the hours begin.
var anHour = regexp.MustCompile(`^\d\d:\d\d, (started|completed|failed): `)

var unsteady = []struct {
	is *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"},
	{regexp.MustCompile(`\b\d\d-\d\d \d\d:\d\d(Z|[+-]\d\d:\d\d)`), "HOUR"},
	{regexp.MustCompile(`\b\d+(\.\d)?(µs|ms|s|m\d\ds|h\d\dm|d\d\dh)\b`), "DURATION"},
	{regexp.MustCompile(`\bUTC[+-]\d\d:\d\d\b`), "ZONE"},
	{regexp.MustCompile(`that start, per [^:]+:`), "that start, per SPAN:"}, // which depends on when the hours begin
	{regexp.MustCompile(`per hour, at most \d+; those that ended from \d\d:\d\d on`), "per hour, at most N; those that ended from HOUR on"},
	{regexp.MustCompile(`the most are \d+ (runs|calls) from \d\d:\d\d on`), "the most are N $1 from HOUR on"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-z]{20,40}\b`), "ID"},
	{regexp.MustCompile(`[-/]([0-9a-f]{12}|[0-9a-f]{8})\b`), "-ID"},
	{regexp.MustCompile(`/\S*\.db`), "FILE"},
}

// steady is a text without what differs from run to run.
func steady(s string) string {
	for _, u := range unsteady {
		s = u.is.ReplaceAllString(s, u.to)
	}
	return s
}

// wait waits until a condition of the page holds, also of the page that comes next.
func (b *tab) wait(condition string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	holds := chromedp.Evaluate[bool](`new Promise((answer) => {
		let looks = 0;
		(function look() { Boolean(`+condition+`) ? answer(true) : ++looks > 50 ? answer(false) : setTimeout(look, 10) })();
	})`, chromedp.EvalAwaitPromise)
	for ctx.Err() == nil {
		// Between two pages there is nothing to ask.
		if ok, err := chromedp.Run(ctx, holds); err == nil && ok {
			return
		}
	}
	b.Fatalf("it does not come to: %s\nat %s\n%s", condition, js[string](b, "location.href"), b.text("main"))
}

// quoted is a text as a literal of JavaScript.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}
