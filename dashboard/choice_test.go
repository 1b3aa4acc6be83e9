package dashboard

import (
	"strings"
	"testing"
)

// TestF6_WhatAPersonChoosesStays: light or dark, and ages or times, on the next page, too; and what
// is copied is the ID of a run, and the command line that does what a form does.
func TestF6_WhatAPersonChoosesStays(t *testing.T) {
	b := browse(t)
	srv, _ := served(t, made(t))
	press := func(choice, want string) {
		t.Helper()
		js[bool](b, `(document.querySelector("button[data-choice=`+choice+`]").click(), true)`)
		if got := js[string](b, `document.querySelector("button[data-choice=`+choice+`] span").textContent`); got != want {
			t.Errorf("the %s is %q, not %q", choice, got, want)
		}
	}
	b.appear(1280, "light")
	b.open(srv.URL + "/shop/run?id=bad-1")
	if js[int](b, brightness) < 128 {
		t.Error("the page is dark where the system is light")
	}
	press("theme", "light")
	press("theme", "dark")
	press("times", "times")
	b.open(srv.URL + "/shop/run?id=slow-1")
	if n := js[int](b, brightness); n >= 128 {
		t.Errorf("the next page is %d bright", n)
	}
	b.shot("chosen-dark", 1280, "light")
	if js[bool](b, `[...document.querySelectorAll("main time[data-kind]")].some((t) => t.textContent !== t.title)`) {
		t.Errorf("ages are shown: %s", b.text("main"))
	}
	press("times", "ages")
	press("theme", "system")
	if js[int](b, brightness) < 128 {
		t.Error("the page is dark where the system is light again")
	}
	if js[bool](b, `[...document.querySelectorAll("main time[data-kind=ago]")].every((t) => t.textContent === t.title)`) {
		t.Error("times are shown")
	}

	copied := func(within string) string {
		t.Helper()
		js[bool](b, `(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve() }, document.querySelector("`+within+` button.copy").click(), true)`)
		return js[string](b, "window.copied")
	}
	if got := copied("h1"); got != "slow-1" {
		t.Errorf("of the run %q is copied", got)
	}
	for path, want := range map[string]string{
		"operate?op=retry-now&id=bad-1&number=2":                                        "perdure retry-now bad-1 --call 2",
		"operate?op=edit-policy&id=bad-1&number=2&policy=%5Bretry:%203%5D":              "perdure edit-policy bad-1 --call 2 --policy '[retry: 3]'",
		"change?kind=workflow&do=start&name=checkout&asked=yes&id=ok-9&input=%22a+b%22": `perdure start checkout ok-9 '"a b"'`,
		"change?kind=activity&do=pause&name=charge&asked=yes&for=2h":                    "perdure pause --activity charge --for 2h0m0s",
		string(link("change", "kind", "gate", "do", "pause", "name", "bank")):           "perdure gates pause bank",
	} {
		b.open(srv.URL + "/shop/" + path)
		if text := b.text("main"); !strings.Contains(text, "The same from the command line: "+want) {
			t.Errorf("%s says %s", path, text)
		} else if got := copied("main"); got != want {
			t.Errorf("%s copies %q", path, got)
		}
	}
}
