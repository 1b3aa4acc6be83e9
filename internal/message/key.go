package message

import (
	"fmt"
	"strconv"
	"strings"
)

// key joins the parts of a key: the sort of message, and whatever distinguishes it from others
// of that sort in the same inbox. Each part is preceded by its length, so different lists of
// parts never give the same key, whatever names and IDs contain. Of two messages with one key
// the store keeps one and acknowledges both, so an accidental collision would lose a message.
func key(what string, parts ...any) string {
	var b strings.Builder
	b.WriteString(what)
	for _, part := range parts {
		text := fmt.Sprint(part)
		b.WriteByte('/')
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}
