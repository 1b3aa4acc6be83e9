package dashboard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// provider takes charges, loses its first answers, and does not say what became of them until
// it is told to.
type provider struct {
	mu      sync.Mutex
	charged map[string]int
	says    bool
}

func (p *provider) charge(_ context.Context, order string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.charged[order]++; p.charged[order] == 1 {
		return "", retry.Unknown(errors.New("POST /v1/charges: connection reset by peer"))
	}
	return "charged again", nil
}

func (p *provider) find(_ context.Context, order string, _ activity.Doubt) (activity.Found[string], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.says {
		return activity.Found[string]{}, errors.New("GET /v1/charges?order=" + order + ": 503 Service Unavailable")
	}
	return retry.Done("the receipt of " + order), nil
}

// TestU5_ACallInDoubtIsOneScreen: what was tried, when, what the probe said, and what a person can
// do; each button does what it says.
func TestU5_ACallInDoubtIsOneScreen(t *testing.T) {
	b := browse(t)
	p := &provider{charged: map[string]int{}}
	charge := activity.New("charge", p.charge, activity.Verify(p.find),
		activity.Retry(policyOf("[retry: 3, fixed: 1s]")), activity.VerifyRetry(retry.Policy{MaxAttempts: 2, Backoff: retry.None}))
	pay := workflow.New("pay", func(wf *workflow.Context, order string) (string, error) { return workflow.Call(wf, charge, order) })
	srv, eng := served(t, filepath.Join(t.TempDir(), "doubt.db"), perdure.Register(pay, charge))
	must(t, eng.Start(t.Context()))
	for _, id := range []string{"ask", "skip", "retry", "fail"} {
		_, err := perdure.Start(t.Context(), eng, pay, id, id)
		must(t, err)
	}
	inDoubt := func(id string) bool {
		d, err := eng.Workflow(id).Describe(t.Context())
		must(t, err)
		return len(d.Pending) == 1 && d.Pending[0].State == view.CallInDoubt
	}
	for _, id := range []string{"ask", "skip", "retry", "fail"} {
		for !inDoubt(id) {
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
		}
	}

	b.open(srv.URL + "/shop/run?id=ask")
	b.looks("doubt")
	b.open(srv.URL + "/shop/run?id=ask")
	page := b.text("main")
	for _, says := range []string{"in-doubt", "attempt 1 may have had its effect", "connection reset by peer", "2 questions had no answer, the latest: GET /v1/charges?order=ask: 503 Service Unavailable", "2 questions"} {
		if !strings.Contains(page, says) {
			t.Errorf("the page does not say %q:\n%s", says, page)
		}
	}
	press := func(id, text string, fill ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		b.open(srv.URL + "/shop/run?id=" + id)
		before := js[string](b, "location.href")
		b.do(chromedp.Click(chromedp.Search(fmt.Sprintf(`//main//a[normalize-space(.)=%q]`, text))))
		b.wait(`document.readyState === "complete" && location.href !== ` + quoted(before))
		b.look("doubt-"+id, 1280, "light")
		b.do(fill...)
		b.do(chromedp.SetValue(chromedp.CSS("form[method=post] input[name=reason]"), "a test"))
		b.do(chromedp.Click(chromedp.CSS("main form[method=post] button")))
		b.wait(`document.querySelector("main [role=status]") !== null`)
		b.calm()
		if said := b.text("main [role=status]"); !strings.Contains(said, "applied") {
			t.Errorf("%s: the page says %q", text, said)
		}
	}
	result := func(id string) string {
		got, err := perdure.Attach[string](eng, id).Result(t.Context())
		if err != nil {
			return "error " + err.Error()
		}
		return got
	}
	press("skip", "Skip", chromedp.SetValue(chromedp.CSS("textarea[name=result]"), `"receipt 17, found by hand"`))
	if got := result("skip"); got != "receipt 17, found by hand" || p.charged["skip"] != 1 {
		t.Errorf("skip: %q after %d charges", got, p.charged["skip"])
	}
	press("retry", "Retry now")
	if got := result("retry"); got != "charged again" || p.charged["retry"] != 2 {
		t.Errorf("retry now: %q after %d charges", got, p.charged["retry"])
	}
	press("fail", "Fail", chromedp.SetValue(chromedp.CSS("input[name=error]"), "the bank is asked by letter"))
	if got := result("fail"); !strings.HasSuffix(got, "the bank is asked by letter") || p.charged["fail"] != 1 {
		t.Errorf("fail: %q after %d charges", got, p.charged["fail"])
	}
	p.mu.Lock()
	p.says = true
	p.mu.Unlock()
	press("ask", "Ask")
	if got := result("ask"); got != "the receipt of ask" || p.charged["ask"] != 1 {
		t.Errorf("ask: %q after %d charges", got, p.charged["ask"])
	}
	b.open(srv.URL + "/shop/run?id=ask")
	b.look("doubt-over", 1280, "light")
}
