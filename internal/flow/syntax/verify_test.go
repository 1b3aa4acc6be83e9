package syntax

import (
	"strings"
	"testing"
)

// TestU6_VerifyIsPrintedAsItIsRead, behind the gates and before the policy.
func TestU6_VerifyIsPrintedAsItIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"x = @pay(o=o) [verify: @find(ref=o.id)]\n":                                  "",
		"x = @pay(o=o) [gate: g] [verify:  @find( ref = o.id , n=1 ) ] [retry: 3]\n": "x = @pay(o=o) [gate: g] [verify: @find(ref=o.id, n=1)] [retry: 3]\n",
	} {
		text = "gate g [limit: 1]\n\n" + text
		file, err := Parse("a.flow", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want == "" {
			want = text
		} else {
			want = "gate g [limit: 1]\n\n" + want
		}
		if got := Format(file); got != want {
			t.Errorf("%s is printed as %s", text, got)
		}
	}
	for text, says := range map[string]string{
		"x = @pay(o=o) [verify: find(ref=1)]\n":                 "an action",
		"x = @pay(o=o) [verify: @find(ref=1) [retry: 3]]\n":     "the end of verify",
		"x = @pay(o=o) [retry: 3] [verify: @find(ref=1)]\n":     "",
		"x = @pay(o=o) [verify: @find(ref=1), retry: 3]\n":      "the end of verify",
		"x = @pay(o=o) [verify: @find(ref=1)] [verify: @b()]\n": "",
	} {
		if _, err := Parse("a.flow", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
