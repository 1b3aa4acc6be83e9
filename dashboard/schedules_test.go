package dashboard

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// TestE49_ASchedulesForms: a schedule is made, and another one edited, by forms that show first
// what comes of it. What the form of an edit shows and nobody changes stays as it was.
func TestE49_ASchedulesForms(t *testing.T) {
	b := browse(t)
	c := newTill()
	srv, eng := servedBy(t, memory.New(), perdure.Register(c.workflow, c.activity))
	must(t, eng.Start(t.Context()))
	must(t, perdure.Schedule(t.Context(), eng, "nightly", c.workflow, "grinder", schedule.Spec{Cron: "30 2 * * *", TimeZone: "Europe/Paris", Jitter: time.Minute, Overlap: schedule.BufferOne},
		workflow.Priority(7), workflow.Attributes(map[string]string{"region": "eu", "team": "till"}), workflow.ChainTimeout(48*time.Hour), workflow.RetryPolicy(retry.Policy{MaxAttempts: 3}), workflow.WeightedKey("ann", 2)))

	field := func(name, value string) {
		t.Helper()
		js[string](b, fmt.Sprintf("document.querySelector('form.ask [name=%s]').value = %s", name, quoted(value)))
	}
	send := func(button string) {
		t.Helper()
		before := js[string](b, "location.href")
		b.do(chromedp.Click(chromedp.CSS(button)))
		b.wait(`document.readyState === "complete" && location.href !== ` + quoted(before))
		b.calm()
	}
	says := func(selector string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if text := b.text(selector); !strings.Contains(text, part) {
				t.Errorf("%q is not on the page: %s", part, text)
			}
		}
	}

	b.open(srv.URL + "/shop/schedules")
	b.do(chromedp.Click(chromedp.Search(`//main//a[normalize-space(.)="New schedule"]`)))
	b.wait(`document.readyState === "complete" && location.pathname.endsWith("/change")`)
	b.calm()
	b.goldens("schedule-new", srv.URL+"/shop/change?kind=schedule&do=set&new=yes", b.tree)
	field("workflow", c.workflow.Name())
	field("every", "90s")
	send("form.ask button")
	says("main [role=alert]", "The name is missing")
	field("name", "hourly")
	field("every", "an hour")
	send("form.ask button")
	says("main [role=alert]", `The every is "an hour"`)
	field("every", "1h")
	field("cron", "0 * * * *")
	send("form.ask button")
	says("main [role=alert]", "The interval is set beside Cron")
	field("cron", "")
	field("input", `"kettle"`)
	send("form.ask button")
	says("main", "There is no schedule of that name yet.", "Its next times: ")
	send("main form[method=post] button")
	says("main [role=status]", "The schedule hourly is on record")
	made, err := ops.DescribeSchedule(t.Context(), eng, "hourly")
	must(t, err)
	if made.Spec.Every != time.Hour || made.Workflow != c.workflow.Name() || !strings.Contains(string(made.Input.JSON), "kettle") {
		t.Errorf("the schedule is %+v", made)
	}

	before, err := ops.DescribeSchedule(t.Context(), eng, "nightly")
	must(t, err)
	b.open(srv.URL + "/shop/schedule?name=nightly")
	b.do(chromedp.Click(chromedp.Search(`//main//a[normalize-space(.)="Edit"]`)))
	b.wait(`document.readyState === "complete" && location.pathname.endsWith("/change")`)
	b.calm()
	b.goldens("schedule-edit", srv.URL+"/shop/change?kind=schedule&do=set&name=nightly", b.tree)
	field("cron", "0 4 * * *")
	send("form.ask button")
	says("main .diff", "Cron expression: 30 2 * * *", "Cron expression: 0 4 * * *")
	if text := b.text("main .diff"); strings.Count(text, ":") != 4 { // two lines, each with "before:" or "after:"
		t.Errorf("more would be changed than was entered: %s", text)
	}
	says("main", "perdure schedules create nightly")
	send("main form[method=post] button")
	after, err := ops.DescribeSchedule(t.Context(), eng, "nightly")
	must(t, err)
	if after.Spec.Cron != "0 4 * * *" {
		t.Errorf("it fires at %+v", after.Spec)
	}
	after.Spec.Cron, after.Set, after.Next, after.Log = before.Spec.Cron, before.Set, before.Next, before.Log
	if a, b := fmt.Sprintf("%+v", *after), fmt.Sprintf("%+v", *before); after.Retry == nil || after.Retry.MaxAttempts != 3 || strings.ReplaceAll(a, fmt.Sprintf("%p", after.Retry), "") != strings.ReplaceAll(b, fmt.Sprintf("%p", before.Retry), "") {
		t.Errorf("an edit of the times left\n%s of\n%s", a, b)
	}

	// Two persons open the form. The second one is told of the first, before and when it is sent.
	edit := func(cron string) {
		b.open(srv.URL + "/shop/change?kind=schedule&do=set&name=nightly")
		field("cron", cron)
	}
	bob := func(cron string) {
		t.Helper()
		set := ops.ScheduleSetting{Workflow: after.Workflow, Input: json.RawMessage(after.Input.JSON), Spec: schedule.Spec{Cron: cron}}
		must(t, ops.SetSchedule(t.Context(), eng, "nightly", set, ops.By("bob"), ops.Why("it is <b>late</b>")))
	}
	edit("0 5 * * *")
	bob("0 6 * * *")
	send("form.ask button")
	says("main [role=alert]", `Schedule "nightly" was changed meanwhile`, "(bob: it is <b>late</b>)")
	edit("0 5 * * *")
	send("form.ask button")
	bob("0 7 * * *")
	b.do(chromedp.Click(chromedp.CSS("main form[method=post] button")))
	b.wait(`document.querySelector("main [role=alert]") !== null`)
	says("main [role=alert]", `Schedule "nightly" was changed meanwhile`)
	b.complaints = nil // the browser notes that the answer has the status of an error
	if is, err := ops.DescribeSchedule(t.Context(), eng, "nightly"); err != nil || is.Spec.Cron != "0 7 * * *" {
		t.Errorf("the edit of the other is gone: %+v, %v", is, err)
	}
	field("cron", "0 5 * * *") // the form shows how it is now
	send("form.ask button")
	says("main .diff", "Cron expression: 0 7 * * *", "Cron expression: 0 5 * * *")
	send("main form[method=post] button")
	if is, err := ops.DescribeSchedule(t.Context(), eng, "nightly"); err != nil || is.Spec.Cron != "0 5 * * *" || is.Log[0].By != "ann" {
		t.Errorf("it is not edited: %+v, %v", is, err)
	}

	b.open(srv.URL + "/shop/change?kind=schedule&do=set&name=nightly&asked=yes&workflow=" + c.workflow.Name())
	says("main [role=alert]", "The spec is missing")
}
