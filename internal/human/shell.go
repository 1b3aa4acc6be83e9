package human

import (
	"fmt"
	"strings"
)

// ShellWord makes a text one word for a shell.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@=\\", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "$'" + controls.Replace(s) + "'" // a line break stays in its line
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// controls are the control characters as the shell reads them between $' and '.
var controls = func() *strings.Replacer {
	pairs := []string{"\n", `\n`, "\r", `\r`, "\t", `\t`, `\`, `\\`, "'", `\'`, "\x7f", `\x7f`}
	for c := byte(1); c < ' '; c++ {
		if c != '\n' && c != '\r' && c != '\t' {
			pairs = append(pairs, string(rune(c)), fmt.Sprintf(`\x%02x`, c))
		}
	}
	return strings.NewReplacer(pairs...)
}()
