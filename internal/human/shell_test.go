package human

import (
	"os/exec"
	"strings"
	"testing"
)

// TestF2_AQuotedTextIsOneLine: whatever a text holds, it is printed as one word of one line,
// which a shell reads back as the text.
func TestF2_AQuotedTextIsOneLine(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to read it back")
	}
	for _, text := range []string{"", "order-17", "two words", "it's", "a\nb", "a\r\n'b'\t\\n\x01\x1b[31m\x7f", "$(touch x)`y`", "ü \\"} {
		quoted := ShellWord(text)
		if strings.ContainsFunc(quoted, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q is quoted with a control character: %q", text, quoted)
		}
		back, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+quoted).Output()
		if err != nil || string(back) != text {
			t.Errorf("%q is quoted as %s, which is %q: %v", text, quoted, back, err)
		}
	}
}

func TestCommandsCanBePasted(t *testing.T) {
	for in, want := range map[string]string{
		"perdure-demo/demo.db": "perdure-demo/demo.db", "my demo": "'my demo'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'",
		"postgres://shop@db/shop?schema=x": "'postgres://shop@db/shop?schema=x'",
	} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) is %s; want %s", in, got, want)
		}
	}
}
