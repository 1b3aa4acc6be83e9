package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// named is an error of a type with a name.
type named struct{ kind string }

func (e named) Error() string     { return "it is " + e.kind }
func (e named) ErrorType() string { return e.kind }

// TestF37_PoliciesFromTheRecord: the simulator and the lab offer policies that the calls on
// record suggest, and find the type that a misspelt one means.
func TestF37_PoliciesFromTheRecord(t *testing.T) {
	b := browse(t)
	now, file := time.Now(), filepath.Join(t.TempDir(), "record.db")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-3 * time.Hour)))
		pay := activity.New("pay", func(ctx context.Context, in string) (string, error) {
			info, _ := activity.FromContext(ctx)
			switch {
			case strings.HasPrefix(in, "stolen"):
				return "", named{"CardDeclined"}
			case strings.HasPrefix(in, "well") && info.Attempt > 2:
				return "paid", nil
			}
			return "", named{"NetworkError"}
		}, activity.Retry(policyOf("[retry: 3, fixed: 1m, jitter: none]")))
		late := activity.New("late", func(context.Context, string) (string, error) { return "", errors.New("late") }, activity.Retry(policyOf("[retry: 9, fixed: 1h, jitter: none]")))
		buy := workflow.New("buy", func(wf *workflow.Context, in string) (string, error) {
			if in == "late" {
				return workflow.Call(wf, late, in)
			}
			return workflow.Call(wf, pay, in)
		})
		eng, err := perdure.Open(t.Context(), sqlite.File(file, sqlite.Exclusive()), perdure.Register(buy, pay, late), perdure.Logger(slog.New(slog.DiscardHandler)))
		must(t, err)
		must(t, eng.Start(t.Context()))
		for i, in := range []string{"stolen 1", "stolen 2", "well 1", "ill", "late"} {
			_, err := perdure.Start(t.Context(), eng, buy, fmt.Sprint("buy-", i), in)
			must(t, err)
		}
		time.Sleep(time.Until(now.Add(-10 * time.Minute)))
		must(t, eng.Close())
	})
	srv, _ := served(t, file)
	for _, page := range []string{"policy", "lab"} {
		b.open(srv.URL + "/shop/" + page)
		b.do(chromedp.Click(chromedp.CSS("#presets summary")))
		presets := b.text("#presets")
		for _, want := range []string{
			"late: as now the policy of its calls that retry at the moment",
			"pay: give up on CardDeclined the standard policy, without retries of an error from which none of 2 calls recovered",
			"pay: twice as many attempts the standard policy; 1 call has recovered by a retry, 3 have not",
		} {
			if !strings.Contains(presets, want) {
				t.Errorf("%s: %q is not among the presets: %s", page, want, presets)
			}
		}
		if strings.Contains(presets, "give up on NetworkError") || strings.Contains(presets, "late: twice") {
			t.Errorf("%s: %s", page, presets)
		}
		b.press("pay: give up on CardDeclined")
		if text := js[string](b, `document.querySelector("textarea[name=policy]").value`); text != retry.Standard.String()+" [never: CardDeclined]" && !strings.Contains(text, "never: CardDeclined") {
			t.Errorf("%s: the preset is %q", page, text)
		}
		if text := b.text("main"); strings.Contains(text, "No error on record") || strings.Contains(text, "cannot be used") {
			t.Errorf("%s: %s", page, text)
		}
		b.open(srv.URL + "/shop/" + page + "?policy=" + url.QueryEscape("[retry: 2] [NetwrkError -> retry: 10] [never: (CardDeclind, Elsewhere)]"))
		b.looks(page + "-hints")
		if hints := b.text("main [role=status]"); hints != "No error on record has the type CardDeclind. Did you mean CardDeclined?\nNo error on record has the type NetwrkError. Did you mean NetworkError?" {
			t.Errorf("%s hints at %q", page, hints)
		}
	}
	if got := b.text("main"); !strings.Contains(got, "Tried on ") {
		t.Errorf("the lab says %s", got)
	}
}
