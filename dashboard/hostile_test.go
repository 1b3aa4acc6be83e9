package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// endless is a word that no line breaks.
var endless = strings.Repeat("Donaudampfschifffahrtsgesellschaft", 7)

// worst is a name as bad as most names may be: hostile, and a word that no line breaks.
var worst = hostileName + endless[:100]

// infested makes a database in which whatever may be chosen by others is hostile: names,
// errors and their types, values of a megabyte, memo, attributes, reasons, nodes, builds. Each
// test has a copy of its own: to make one takes three seconds of a processor.
func infested(t *testing.T) string {
	t.Helper()
	infestation.once.Do(func() {
		var err error
		infestation.data, err = os.ReadFile(infest(t))
		must(t, err)
	})
	file := filepath.Join(t.TempDir(), "infested.db")
	must(t, os.WriteFile(file, infestation.data, 0o600))
	return file
}

var infestation struct {
	once sync.Once
	data []byte
}

func infest(t *testing.T) string {
	t.Helper()
	now, file := time.Now(), filepath.Join(t.TempDir(), "infested.db")
	megabyte := strings.Repeat(hostile, 1_000_000/len(hostile))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-2 * time.Hour)))
		ctx := t.Context()
		door := gate.New(worst, 1, gate.WithBreaker(gate.Breaker{Failures: 1000, Cooldown: time.Hour, Wait: true}))
		fails := activity.New(worst, func(ctx context.Context, in string) (string, error) {
			if err := activity.Heartbeat(ctx, megabyte); err != nil {
				return "", err
			}
			return "", fmt.Errorf("%s: %w", megabyte, &odd{hostile + endless})
		}, activity.Retry(policyOf("[retry: 100, fixed: 10m, jitter: none]")))
		waits := activity.New("waits", func(context.Context, string) (string, error) { return "", activity.ErrPending }, activity.Retry(policyOf("[timeout: 1d]")), activity.Through(door))
		ends := activity.New("ends", func(context.Context, string) (string, error) { return "", errors.New(megabyte) }, activity.Retry(policyOf("[retry: 0]")))
		offered := activity.New("offered", func(context.Context, string) (string, error) { return "", errors.New("no worker is there") }, activity.Queue("queue "+worst))
		queued := workflow.New("queued", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, offered, in) })
		child := workflow.New(worst+"/child", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, fails, in) })
		evil := workflow.New(worst, func(wf *workflow.Context, in string) (string, error) {
			workflow.SetStatus(wf, hostile+endless)
			if strings.HasPrefix(in, "end") {
				return workflow.Call(wf, ends, in)
			}
			c := workflow.RunChildAsync(wf, child, in)
			if _, err := workflow.Call(wf, waits, in); err != nil {
				return "", err
			}
			return c.Get(wf)
		})
		eng, err := perdure.Open(ctx, sqlite.File(file, sqlite.Exclusive()), perdure.Register(evil, child, queued, fails, waits, ends, offered), perdure.NodeName(worst), perdure.Build(worst), perdure.Logger(slog.New(slog.DiscardHandler)))
		must(t, err)
		defer eng.Close()
		must(t, eng.Start(ctx))
		for i, in := range []string{"wait " + megabyte, "wait", "end " + megabyte} {
			_, err := perdure.Start(ctx, eng, evil, fmt.Sprint(worst, i), in, workflow.Memo(megabyte[:9_000]), workflow.Attributes(map[string]string{"customer": worst}))
			must(t, err)
			time.Sleep(time.Second)
		}
		_, err = perdure.Start(ctx, eng, queued, worst+"queued", "x")
		must(t, err)
		must(t, perdure.Schedule(ctx, eng, worst, evil, megabyte, schedule.Spec{Every: time.Hour, Overlap: schedule.AllowAll}, workflow.Memo(hostile)))
		time.Sleep(30 * time.Minute)
		by, why := ops.By(strings.ReplaceAll(worst, "\x00", "")), ops.Why(hostileWhy+endless)
		_, err = ops.Control(ctx, eng, worst+"1", view.CallFilter{}, ops.Pause(), by, why)
		must(t, err)
		_, err = ops.ControlRun(ctx, eng, worst+"0", ops.PauseRun(), by, why)
		must(t, err)
		_, err = ops.EditGate(ctx, eng, worst, view.GateEdit{Limit: 2}, by, why)
		must(t, err)
		must(t, ops.PauseGate(ctx, eng, worst, by, why))
		must(t, ops.PauseSchedule(ctx, eng, worst, by, why))
		time.Sleep(time.Minute)
		must(t, eng.Close())
	})
	return file
}

// everyPage are pages on which something of a database is shown, and how they look.
func everyPage(id, step, gate, schedule string) []struct{ name, path string } {
	call := func(path string, more ...string) string {
		return string(link(path, append([]string{"id", id}, more...)...))
	}
	return []struct{ name, path string }{
		{"overview", ""}, {"workflows", "workflows"}, {"start", string(link("change", "kind", "workflow", "do", "start", "name", step, "like", id))}, {"runs", "runs"}, {"runs-retrying", "runs?call=retrying"}, {"run", call("run")}, {"history", call("history")},
		{"history-full", call("history", "form", "full")}, {"attempts", call("attempts")}, {"compare", call("compare", "with", id)},
		{"query", string(link("change", "kind", "run", "do", "query", "name", id, "asked", "yes", "handler", step))}, {"update", string(link("change", "kind", "run", "do", "update", "name", id))}, {"tree", call("tree")},
		{"operate-pause-run", call("operate", "op", "pause-run")}, {"operate-bulk", "operate?op=retry-now&all=yes"},
		{"operate-edit", "operate?op=edit-policy&all=yes&policy=%5Bretry:%203%5D"},
		{"ledger", string(link("ledger", "since", "30d"))}, {"ledger-step", string(link("ledger", "since", "30d", "activity", step))},
		{"gates", "gates"}, {"gate", string(link("gate", "name", gate))}, {"gate-edit", string(link("change", "kind", "gate", "do", "edit", "name", gate))},
		{"schedules", "schedules"}, {"schedule", string(link("schedule", "name", schedule))},
		{"schedule-set", string(link("change", "kind", "schedule", "do", "set", "name", schedule))},
		{"schedule-trigger", string(link("change", "kind", "schedule", "do", "trigger", "name", schedule))},
		{"nodes", "nodes?all=yes"}, {"policy", "policy"}, {"policy-explained", "policy?policy=%5Bretry:%205%5D"}, {"lab", "lab?policy=%5Bretry:%205%5D"},
		{"audit", "audit?since=30d"},
	}
}

// appearances are how people look at pages.
var appearances = []struct {
	width  int64
	scheme string
}{{1280, "light"}, {1280, "dark"}, {380, "light"}}

// appear makes the screen so wide, and light or dark.
func (b *tab) appear(width int64, scheme string) {
	b.Helper()
	protocol(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	protocol(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 500})
}

// fits fails the test if the page is to be scrolled sideways, and says what is too wide.
func (b *tab) fits() {
	b.Helper()
	wide := js[string](b, `(() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width && window.innerWidth <= width + 20) return "";
		const out = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll, header nav, pre, svg"));
		return "the page is " + document.documentElement.scrollWidth + " wide, of " + width + ": " + out.slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(" | ");
	})()`)
	if wide != "" {
		b.Error(wide)
	}
}

// brightness is how much light the background of the page has, from 0 to 255.
const brightness = `Math.max(...getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number))`

// TestF45_HostileQueues: a queue has its name on each page that shows it, as text.
func TestF45_HostileQueues(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes and looks at many pages; the whole check does")
	}
	b := browse(t)
	srv, _ := served(t, infested(t))
	for _, path := range []string{"", "runs", "nodes", string(link("run", "id", worst+"queued"))} {
		b.open(srv.URL + "/shop/" + path)
		if text := b.text("main"); !strings.Contains(text, "queue "+strings.ReplaceAll(hostileName, "\u202e", `\u202e`)) {
			t.Errorf("%q does not show the queue:\n%s", path, text)
		}
		if n := js[int](b, `document.querySelectorAll("main script, main img, main [onerror]").length`); n > 0 {
			t.Errorf("%q: %d elements are of others", path, n)
		}
	}
}

// TestF45_HostilePages: every page, with hostile texts in every field, in light, in dark and on
// a phone, by day in one of them by turns: nothing is obeyed, nothing is wider than the screen, nothing moves, and the browser
// has nothing to say.
func TestF45_HostilePages(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes and looks at many pages; the whole check does")
	}
	b := browse(t)
	srv, _ := served(t, infested(t))
	covered := map[string]bool{}
	for i, p := range everyPage(worst+"0", worst, worst, worst) {
		path, _, _ := strings.Cut(p.path, "?")
		covered[path] = true
		t.Run(p.name, func(t *testing.T) {
			b.T = t
			for k, a := range appearances {
				if k != i%len(appearances) && !extent.Nightly() {
					continue // by turns
				}
				b.appear(a.width, a.scheme)
				b.open(srv.URL + "/shop/" + p.path)
				if text := b.text("main"); strings.Contains(text, "cannot be shown") || strings.Contains(text, "cannot be understood") || strings.Contains(text, "not in the database") {
					t.Fatal(text)
				}
				b.fits()
				if light := js[int](b, brightness); (light < 128) != (a.scheme == "dark") {
					t.Errorf("in %s the page is %d bright", a.scheme, light)
				}
				if n := js[int](b, `document.querySelectorAll("main script, main img, main [onerror]").length`); n > 0 {
					t.Errorf("%d elements are of others", n)
				}
				if size := js[int](b, "document.documentElement.outerHTML.length"); size > 1_000_000 {
					t.Errorf("the page has %d bytes", size)
				}
				// What can be opened fits as well.
				js[bool](b, `(document.querySelectorAll("main details").forEach((d) => d.open = true), true)`)
				b.fits()
				b.shot("hostile-"+p.name, a.width, a.scheme)
			}
		})
	}
	b.T = t
	for _, p := range pages {
		if !covered[p.path] && p.path != "text" { // which is no HTML
			t.Errorf("the page %q is not among those that are looked at", p.path)
		}
	}
}
