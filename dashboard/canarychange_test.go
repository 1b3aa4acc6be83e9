package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/memory"
)

// TestE150_TheCanaryByForm: a build is chosen among the live ones, what it comes to is shown
// first, and the audit has who did it and why. It can be changed and ended.
func TestE150_TheCanaryByForm(t *testing.T) {
	b := browse(t)
	db, c := memory.New(), newTill()
	srv, eng := servedBy(t, db, perdure.Register(c.workflow, c.activity), perdure.NodeName("shop-1"), perdure.Build("v1"))
	must(t, eng.Start(t.Context()))
	second, err := perdure.Open(t.Context(), db, perdure.Register(c.workflow, c.activity), perdure.NodeName("shop-2"), perdure.Build("v2"), perdure.Logger(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer second.Close()
	must(t, second.Start(t.Context()))

	press := func(text string) {
		t.Helper()
		b.do(chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//a[normalize-space(.)=%q]`, text))))
		b.wait(`document.readyState === "complete" && location.pathname.endsWith("/change")`)
		b.calm()
	}
	ask := func(build, share string) {
		t.Helper()
		before := js[string](b, "location.href")
		b.do(chromedp.SetValue(chromedp.CSS("form.ask select"), build))
		b.do(chromedp.SetValue(chromedp.CSS("form.ask input[name=share]"), share))
		b.do(chromedp.Click(chromedp.CSS("form.ask button")))
		b.wait(`document.readyState === "complete" && location.href !== ` + quoted(before))
		b.calm()
	}
	send := func(why string) {
		t.Helper()
		b.do(chromedp.SetValue(chromedp.CSS("form[method=post] input[name=reason]"), why))
		b.do(chromedp.Click(chromedp.CSS("main form[method=post] button")))
		b.wait(`document.querySelector("main [role=status]") !== null && location.pathname.endsWith("/nodes")`)
		b.calm()
		if text := b.text("main [role=status]"); !strings.Contains(text, "it is on record") {
			t.Errorf("the page says %q", text)
		}
	}
	says := func(selector string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if text := b.text(selector); !strings.Contains(text, part) {
				t.Errorf("%q is not on the page: %s", part, text)
			}
		}
	}

	b.open(srv.URL + "/shop/nodes")
	if strings.Contains(b.text("main"), "End the canary") {
		t.Error("a canary can be ended where none is set")
	}
	press("Set the canary")
	if b.text("form[method=post]") != "(none)" {
		t.Error("the canary can be set before it is shown what it comes to")
	}
	b.goldens("canary-ask", srv.URL+"/shop/change?kind=canary&do=set", b.tree)
	ask("v2", "1000")
	says("main [role=alert]", "share is 1000 percent; it must be from 0 to 100")
	ask("v2", "a tenth")
	says("main [role=alert]", `The share is "a tenth"`)
	ask("v2", "10 %")
	says("main", "10 % of new workflows begin on build v2, the others on other builds.", "begin on whichever build")
	b.goldens("canary-set", js[string](b, "location.href"), b.tree)
	if current, err := ops.Canary(t.Context(), eng); current != nil || err != nil {
		t.Errorf("before the form is sent the canary is %+v, %v", current, err)
	}
	send("the new tariffs")
	says("main", "10 % of new workflows begin on build v2", "by ann: the new tariffs")
	if current, err := ops.Canary(t.Context(), eng); err != nil || current == nil || current.Build != "v2" || current.Percent != 10 || current.By != "ann" || current.Why != "the new tariffs" {
		t.Errorf("the canary is %+v, %v", current, err)
	}
	b.goldens("canary-nodes", srv.URL+"/shop/nodes", b.outline)

	b.open(srv.URL + "/shop/nodes")
	press("Set the canary")
	ask("v2", "10")
	says("main", "Nothing is different")
	if b.text("form[method=post]") != "(none)" {
		t.Error("the same canary can be set again")
	}
	b.open(srv.URL + "/shop/nodes")
	press("End the canary")
	says("main", "10 % of new workflows begin on build v2", "begin on whichever build")
	send("it pays")
	if current, err := ops.Canary(t.Context(), eng); current != nil || err != nil {
		t.Errorf("after its end the canary is %+v, %v", current, err)
	}
	b.open(srv.URL + "/shop/audit")
	says("main", "the new tariffs", "it pays", "ann", "canary")
}

// TestE150_TheFormOfTheCanaryIsRefused where the database cannot have one, and to those who may
// only look; both see why.
func TestE150_TheFormOfTheCanaryIsRefused(t *testing.T) {
	get := func(address string) string {
		t.Helper()
		resp, err := http.Get(address)
		must(t, err)
		return body(t, resp)
	}
	c := newTill()
	srv, eng := served(t, filepath.Join(t.TempDir(), "till.db"), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	if page := get(srv.URL + "/shop/change?kind=canary&do=set"); !strings.Contains(page, "on SQLite there is one node") || strings.Contains(page, "<form class=\"do\"") {
		t.Errorf("on SQLite: %s", page)
	}

	other, err := perdure.Open(t.Context(), memory.New(), perdure.Build("v1"), perdure.Register(c.workflow, c.activity), perdure.Logger(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer other.Close()
	must(t, other.Start(t.Context()))
	pages, err := Handler(other, access.Rules{Anonymous: access.Identity{Name: "vic", Role: access.Viewer}})
	must(t, err)
	viewed := httptest.NewServer(pages)
	defer viewed.Close()
	if page := get(viewed.URL + "/nodes"); strings.Contains(page, "Set the canary") || !strings.Contains(page, "v1") {
		t.Errorf("a viewer is shown the button, or not the build: %s", page)
	}
	for _, do := range []string{"set", "end"} {
		if page := get(viewed.URL + "/change?kind=canary&do=" + do); !strings.Contains(page, "Only operators may change the canary") || strings.Contains(page, "<form class=\"do\"") {
			t.Errorf("%s for a viewer: %s", do, page)
		}
	}
	resp, err := http.PostForm(viewed.URL+"/change", url.Values{"kind": {"canary"}, "do": {"set"}, "build": {"v1"}, "share": {"50"}})
	must(t, err)
	if text := body(t, resp); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer sends the form: %d, %s", resp.StatusCode, text)
	}
	if current, err := ops.Canary(t.Context(), other); current != nil || err != nil {
		t.Errorf("the canary is %+v, %v", current, err)
	}
}
