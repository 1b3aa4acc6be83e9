package sqlite

import (
	"errors"
	"slices"
	"strings"
)

// errEnded refuses statements that would end the transaction of a whole commit.
var errEnded = errors.New("a step transaction is committed by the engine, or undone if the hook returns an error: neither commit it nor roll it back")

// errOutlives refuses statements whose effect does not end with the transaction. The connection
// is the engine's only writer: a lock that it keeps, a limit or a temporary table of the name
// of one of the engine's would be there for everything that is written later.
var errOutlives = errors.New("the connection of a step transaction is the engine's: a PRAGMA that sets something, ATTACH, DETACH and temporary tables, views and triggers are not for it, because they last longer than the transaction; use a connection of your own")

// harmless are the PRAGMAs that only read.
var harmless = []string{
	"COLLATION_LIST", "COMPILE_OPTIONS", "DATABASE_LIST", "DATA_VERSION", "FOREIGN_KEY_CHECK", "FOREIGN_KEY_LIST", "FREELIST_COUNT", "FUNCTION_LIST",
	"INDEX_INFO", "INDEX_LIST", "INDEX_XINFO", "INTEGRITY_CHECK", "PAGE_COUNT", "QUICK_CHECK", "TABLE_INFO", "TABLE_LIST", "TABLE_XINFO",
}

// stays refuses statements that end a transaction or outlive it. Ends that it does not
// recognize are detected afterwards: see lostError.
func stays(query string) error {
	for i, statement := range strings.Split(bare(query), ";") {
		words := strings.Fields(strings.ToUpper(statement))
		if len(words) > 0 && words[0] == "EXPLAIN" { // a PRAGMA takes effect when it is explained
			words = words[1:]
			if len(words) > 1 && words[0] == "QUERY" {
				words = words[2:]
			}
		}
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "COMMIT":
			return errEnded
		case "END":
			if i == 0 { // a later END may be that of a trigger
				return errEnded
			}
		case "ROLLBACK":
			if !slices.Contains(words, "TO") { // TO a savepoint of the hook's own
				return errEnded
			}
		case "PRAGMA":
			name := words[1:]
			if len(name) > 2 && name[1] == "." { // of a schema
				name = name[2:]
			}
			if len(name) > 0 && !slices.Contains(harmless, name[0]) {
				return errOutlives
			}
		case "ATTACH", "DETACH":
			return errOutlives
		case "CREATE":
			if temporary(words) {
				return errOutlives
			}
		}
	}
	return nil
}

// temporary reports whether a CREATE statement makes something in the schema temp.
func temporary(words []string) bool {
	if len(words) > 1 && (words[1] == "TEMP" || words[1] == "TEMPORARY") {
		return true
	}
	at := slices.Index(words, ".")
	return at > 0 && words[at-1] == "TEMP"
}

// bare returns a query without its comments and texts, with names without their quotes, and
// with spaces around what separates words.
func bare(query string) string {
	var b strings.Builder
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case strings.HasPrefix(query[i:], "--"):
			i = after(query, i+2, "\n")
			b.WriteByte(' ')
		case strings.HasPrefix(query[i:], "/*"):
			i = after(query, i+2, "*/")
			b.WriteByte(' ')
		case c == '\'':
			i = after(query, i+1, "'")
			b.WriteByte('?')
		case c == '"', c == '`', c == '[':
			end := after(query, i+1, string(map[byte]byte{'"': '"', '`': '`', '[': ']'}[c]))
			b.WriteString(strings.ReplaceAll(strings.Trim(query[i:end+1], "\"`[]"), ";", "?"))
			i = end
		case strings.IndexByte(".;()=,", c) >= 0:
			b.WriteString(map[bool]string{true: ";", false: " " + string(c) + " "}[c == ';'])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// after returns the index of the last byte of the next end in the query, or of the query.
func after(query string, from int, end string) int {
	from = min(from, len(query))
	at := strings.Index(query[from:], end)
	if at < 0 {
		return len(query) - 1
	}
	return from + at + len(end) - 1
}
