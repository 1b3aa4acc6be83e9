package dashboard

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// sent sends a form as a browser does and returns the page that comes.
func sent(t *testing.T, srv *httptest.Server, address string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/shop/"+address, strings.NewReader(form.Encode()))
	must(t, err)
	req.Header.Set("Content-Type", formMedia)
	req.Header.Set("Origin", srv.URL)
	if n := len(req.URL.RequestURI()); n > 2<<10 {
		t.Errorf("the address has %d bytes", n)
	}
	resp, err := srv.Client().Do(req)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, text)
	}
	return string(text)
}

// inForm finds one thing of a page.
func inForm(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no %s:\n%s", pattern, page)
	}
	return html.UnescapeString(m[1])
}

const (
	actionOf    = `<form class="do" method="post" action="([^"]*)"`
	selectionOf = `name="selection" value="([^"]+)"`
	requestOf   = `name="request" value="([^"]+)"`
	counted     = `<p><strong>([^<]*)</strong></p>`
)

// TestF34_TheDashboardDoesWhatItHasShown: of all runs that a filter selects and of some that
// were chosen, the form does what it has shown, not what came since, and says what is gone.
// The longest workflow IDs of a whole page of runs make no request that a server or a proxy
// refuses.
func TestF34_TheDashboardDoesWhatItHasShown(t *testing.T) {
	c := newTill()
	srv, eng := served(t, filepath.Join(t.TempDir(), "till.db"), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	var ids []string
	for i := range pageRuns {
		ids = append(ids, fmt.Sprintf("%02d-%s", i, strings.Repeat("ü%&", 200)))
	}
	waits(t, eng, c, ids...)
	ctx := t.Context()
	state := func(id string) string {
		t.Helper()
		d, err := eng.Workflow(id).Describe(ctx)
		must(t, err)
		if len(d.Pending) == 0 {
			return d.Status
		}
		return d.Pending[0].State
	}
	// What a form shows, and what it sends.
	send := func(page string) string {
		t.Helper()
		form := url.Values{"selection": {inForm(t, page, selectionOf)}, "request": {inForm(t, page, requestOf)}, "reason": {"a test"}}
		return sent(t, srv, inForm(t, page, actionOf), form)
	}

	// All but one of a page are chosen. One of them is terminated before the form is sent.
	page := sent(t, srv, "operate", url.Values{"op": {"pause"}, "call": {"retrying"}, pick: ids[1:]})
	if got := inForm(t, page, counted); got != "49 calls in 49 runs" || !strings.Contains(page, "49 runs that you have chosen") {
		t.Errorf("the form is about %s: %s", got, page)
	}
	if s := state(ids[1]); s != view.CallBackoff {
		t.Fatalf("before the form was sent a call is %s", s)
	}
	_, err := ops.ControlRun(ctx, eng, ids[2], ops.TerminateRun())
	must(t, err)
	page = send(page)
	if got := inForm(t, page, `role="status"><p><strong>([^<]*)<`); got != "48 paused, 1 no longer as it was shown." || inForm(t, page, `<h1>([^<]*)<`) != "Pause: done in part" {
		t.Errorf("done: %s", got)
	}
	for i, want := range []string{view.CallBackoff, view.CallPaused, view.StatusTerminated, view.CallPaused} {
		if got := state(ids[i]); got != want {
			t.Errorf("run %d is %s, want %s", i, got, want)
		}
	}

	// All that are selected: one that comes later is not meant.
	resp, err := srv.Client().Get(srv.URL + "/shop/operate?all=yes&op=cancel&q=0")
	must(t, err)
	page = body(t, resp)
	if got := inForm(t, page, counted); got != "9 runs" {
		t.Errorf("the form is about %s", got)
	}
	waits(t, eng, c, "0-later")
	page = send(page)
	if got := inForm(t, page, `role="status"><p><strong>([^<]*)<`); got != "9 canceled." || !strings.HasSuffix(inForm(t, page, `<h1>([^<]*)<`), ": done") {
		t.Errorf("done: %s", got)
	}
	if got := state("0-later"); got != view.CallBackoff {
		t.Errorf("a run that came later is %s", got)
	}

	// An edit of a policy shows its difference for the same selection, and does nothing else.
	page = sent(t, srv, "operate", url.Values{"op": {"edit-policy"}, pick: {ids[11], ids[12]}})
	if strings.Contains(page, `<form class="do" method="post"`) {
		t.Error("the policy can be changed before its difference is shown")
	}
	ask := url.Values{"selection": {inForm(t, page, selectionOf)}, "show": {"yes"}, "policy": {"[retry: 3]"}}
	page = sent(t, srv, inForm(t, page, `<form class="do ask" method="post" action="([^"]*)"`), ask)
	if !strings.Contains(page, "retry: 3") || call(t, eng, ids[11]).Max != 11 {
		t.Errorf("the difference: %s", page)
	}
	page = send(page)
	if got := inForm(t, page, `role="status"><p><strong>([^<]*)<`); got != "2 given the policy." || call(t, eng, ids[11]).Max != 4 || call(t, eng, ids[13]).Max != 11 {
		t.Errorf("done: %s", got)
	}

	// A form without what it has shown does nothing but show it.
	page = sent(t, srv, "operate?op=terminate&all=yes", url.Values{"reason": {"a script"}})
	if n := inForm(t, page, counted); !strings.HasSuffix(n, " runs") || state("0-later") != view.CallBackoff {
		t.Errorf("a form without a selection: %s", page)
	}
}

// TestF32_AFormThatIsSentTwice: a schedule is triggered once by it, and an edit of somebody
// else meanwhile stays.
func TestF32_AFormThatIsSentTwice(t *testing.T) {
	c := newTill()
	srv, eng := served(t, filepath.Join(t.TempDir(), "till.db"), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	must(t, perdure.Schedule(t.Context(), eng, "nightly", c.workflow, "x", schedule.Spec{Cron: "0 3 1 1 *", Overlap: schedule.AllowAll}))
	form := func(do string) url.Values {
		t.Helper()
		resp, err := srv.Client().Get(srv.URL + "/shop/change?kind=schedule&name=nightly&asked=yes&overlap=allow_all&do=" + do)
		must(t, err)
		return url.Values{"kind": {"schedule"}, "do": {do}, "name": {"nightly"}, "request": {inForm(t, body(t, resp), requestOf)}}
	}
	// by is the log of the schedule once the latest request in it is an operation.
	by := func(latest string) (all string) {
		t.Helper()
		for !strings.HasPrefix(all, latest) {
			d, err := ops.DescribeSchedule(t.Context(), eng, "nightly")
			must(t, err)
			all = ""
			for _, r := range d.Log {
				all += r.Operation + " "
			}
		}
		return all
	}
	twice := form("trigger")
	sent(t, srv, "change", twice)
	by("trigger ")
	pause := form("pause")
	sent(t, srv, "change", pause)
	by("pause ")
	sent(t, srv, "change", form("resume"))
	by("resume ")
	sent(t, srv, "change", pause)
	sent(t, srv, "change", twice)
	sent(t, srv, "change", form("trigger")) // another form, which comes last
	if got := strings.TrimSuffix(by("trigger "), "set "); got != "trigger resume pause trigger " {
		t.Errorf("the schedule was told: %s", got)
	}
}
