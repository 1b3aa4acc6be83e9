package migration

import "strings"

// Statements cuts a script into its statements, at the semicolons that stand in no text,
// name, comment or body of a function, as psql does. Comments stay with the statement that
// follows; what has nothing else is left out. Escapes by a backslash are not known.
func Statements(sql string) []string {
	var all []string
	begin, said := 0, false // where the statement begins, and whether there is more than comments
	cut := func(end int) {
		if said {
			all = append(all, strings.TrimSpace(sql[begin:end]))
		}
		begin, said = end, false
	}
	for i := 0; i < len(sql); {
		rest := sql[i:]
		switch {
		case rest[0] == ';':
			i++
			cut(i)
		case strings.HasPrefix(rest, "--"):
			i += through(rest, 2, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += through(rest, 2, "*/")
		case rest[0] == '\'' || rest[0] == '"':
			said = true
			i += through(rest, 1, rest[:1]) // a doubled quote ends one text and begins the next
		case dollar(rest) != "":
			said = true
			tag := dollar(rest)
			i += through(rest, len(tag), tag)
		default:
			said = said || !strings.ContainsAny(rest[:1], " \t\r\n")
			i++
		}
	}
	cut(len(sql))
	return all
}

// through is how far it is to behind the end of what begins a text, after so many bytes.
func through(text string, after int, end string) int {
	if at := strings.Index(text[after:], end); at >= 0 {
		return after + at + len(end)
	}
	return len(text)
}

// dollar is the tag with which a text begins that stands between two of them, "" if none.
func dollar(text string) string {
	if text[0] != '$' {
		return ""
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '$':
			return text[:i+1]
		case c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 1 || c < '0' || c > '9'):
			return ""
		}
	}
	return ""
}
