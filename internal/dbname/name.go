package dbname

import (
	"net/url"
	"regexp"
	"strings"
)

// Error means that a text names no database.
type Error struct {
	Name string // without a password
	Why  string
	Hint string // what to do
}

func (e *Error) Error() string { return e.Name + ": " + e.Why }

// scheme is how a name begins that says its kind. One letter is the drive of a path on
// Windows.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// keywords is how the keyword form of PostgreSQL begins: host=db password=secret.
var keywords = regexp.MustCompile(`^\s*(host|hostaddr|port|dbname|database|user|password|passfile|service|servicefile|sslmode|sslcert|sslkey|sslrootcert|sslpassword|connect_timeout|application_name|options|target_session_attrs)\s*=`)

// Kind returns the kind of database that a name says, in lower case, and the rest of the
// name: "sqlite" for the name of a file, "postgres" for a URL or keywords, and whatever
// other scheme there is.
func Kind(text string) (kind, rest string) {
	if keywords.MatchString(text) {
		return "postgres", text
	}
	m := scheme.FindStringSubmatch(text)
	if m == nil {
		return "sqlite", text
	}
	kind = strings.ToLower(m[1])
	if kind == "postgresql" {
		kind = "postgres"
	}
	return kind, text[len(m[0]):]
}

// File returns the path that the name of an SQLite file says.
func File(text string) (path string, err error) {
	_, path = Kind(text)
	switch {
	case path == "":
		return "", &Error{
			Name: `"` + text + `"`, Why: "the name of the file is missing.",
			Hint: "Use --db sqlite:FILE, for instance --db sqlite:perdure.db",
		}
	case path != text && strings.HasPrefix(path, "//"):
		return "", &Error{
			Name: text, Why: "a file is not named by a URL.",
			Hint: "Write sqlite: and the path as it is, for instance sqlite:perdure.db or sqlite:/var/lib/perdure.db",
		}
	}
	return path, nil
}

// Server returns the address that the name of a PostgreSQL database says, as a URL or by
// keywords.
func Server(text string) (*Address, error) {
	if keywords.MatchString(text) {
		return parseKeywords(text)
	}
	m := scheme.FindStringSubmatch(text)
	if m == nil {
		return ParseURL("postgres", text)
	}
	return ParseURL(m[1], text[len(m[0]):])
}

// Unknown is the error for a name of a kind that no package registered.
func Unknown(text string) error {
	m := scheme.FindStringSubmatch(text)
	hidden := regexp.MustCompile(`://[^@]*@`).ReplaceAllString(text, "://...@")
	return &Error{
		Name: hidden, Why: `"` + m[1] + `" is not a kind of database that perdure knows.`,
		Hint: "Use --db sqlite:FILE or --db postgres://USER@HOST/DATABASE; or ./" + hidden + " if that is the name of a file.",
	}
}

// pair is a keyword and its value, which may be quoted.
var pair = regexp.MustCompile(`^\s*([A-Za-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?:\s+|$)`)

// parseKeywords reads keywords and values as libpq takes them, as a URL with parameters.
func parseKeywords(text string) (*Address, error) {
	var parameters []string
	database := ""
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := pair.FindStringSubmatch(rest)
		if m == nil {
			return nil, &Error{
				Name: "PostgreSQL keywords", Why: "they cannot be read: each is key=value, and a value with spaces stands in single quotes.",
				Hint: "A URL is easier: postgres://USER@HOST:PORT/DATABASE",
			}
		}
		value := regexp.MustCompile(`\\(.)`).ReplaceAllString(m[2]+m[3], "$1")
		value = strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		switch m[1] {
		case "dbname", "database":
			database = value
		default:
			parameters = append(parameters, m[1]+"="+value)
		}
		rest = rest[len(m[0]):]
	}
	return ParseURL("postgres", "///"+database+"?"+strings.Join(parameters, "&"))
}
