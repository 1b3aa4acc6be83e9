package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/retry"
)

// TestF4_TheMarkStandsBelowTheBadToken in texts of any form.
func TestF4_TheMarkStandsBelowTheBadToken(t *testing.T) {
	for text, want := range map[string]string{
		"[retry: x]":                   "x]",
		"[retry: 1]\n\t[speed: 2]\r\n": "speed: 2]",
		"[\x1b[31m -> retry: 1]":       `\u001b[31m`,
		"[\xff]":                       "\ufffd]",
		"[retry: 1":                    "",
		"[né, né -> retry: ü]":         "ü]",
		"[" + strings.Repeat("a, ", 100) + "b -> retry: !" + strings.Repeat("z", 200) + "]": "!z",
		"[" + strings.Repeat("ü", 500) + "]":                                                "üü",
	} {
		_, err := retry.Parse(text)
		e, ok := errors.AsType[*retry.NotationError](err)
		if !ok {
			t.Fatalf("%q: %v", text, err)
		}
		line, mark, _ := strings.Cut(underlined(text, e), "\n")
		column := len([]rune(mark)) - 1
		if shown := []rune(line); column > len(shown) || !strings.HasPrefix(string(shown[column:]), want) || len(shown) > 130 {
			t.Errorf("%q:\n%s\n%s", text, line, mark)
		}
	}
}

func TestR6_PresetsHaveNames(t *testing.T) {
	if len(policyedit.Presets) != 6 {
		t.Errorf("got %q", presetNames())
	}
	for _, name := range presetNames() {
		if p, err := readPolicy(name); err != nil || p.Validate() != nil {
			t.Errorf("%s is %s, %v", name, p, err)
		}
	}
	if p, err := readPolicy("standard"); err != nil || p.String() != retry.Standard.String() {
		t.Errorf("standard is %s, %v", p, err)
	}
	if _, err := readPolicy("Standard"); err == nil {
		t.Error("names have one spelling")
	}
}
