package message

import (
	"fmt"
	"strconv"
	"strings"
)

// key joins the parts of a key: what the message is, and whatever tells it from others
// of that sort in the same inbox. The length of each part stands before it, so no two
// lists of parts give one key, whatever names and IDs contain. Of two messages with one
// key the store keeps one and acknowledges both, so keys that look alike lose a message.
//
// An inbox may hold messages under the keys of an earlier version, which had no lengths.
// Such a key equals none of these, and its message is read as any other. Runs, gates and
// schedules take what they are sent twice once; the key only spares them the second.
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
