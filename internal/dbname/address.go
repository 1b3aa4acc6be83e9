package dbname

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Address is the URL of a PostgreSQL database in its parts, which are as they were
// written. PostgreSQL's own programs and the driver agree where each begins: what
// stands before the first @ is the user, unless a slash comes first.
type Address struct {
	user     string
	password string
	place    string   // host, port and database
	query    []string // parameters of the driver, key=value; those that are no secrets
	secrets  []string // and those that are
	Schema   string   // empty for the default
	Pooled   bool     // the connections go through a pooler in transaction mode
}

const howToEncode = "In user and password, write %40 for @, %2F for /, %3A for : and %25 for %. " +
	"Or leave the password out: PGPASSWORD and ~/.pgpass can hold it."

// ParseURL reads what follows the scheme of a URL.
func ParseURL(kind, rest string) (*Address, error) {
	hidden := kind + "://..."
	rest, isURL := strings.CutPrefix(rest, "//")
	if !isURL {
		return nil, &Error{
			Name: kind + ":...", Why: "a PostgreSQL database is named by a URL.",
			Hint: "Use --db postgres://USER@HOST:PORT/DATABASE",
		}
	}
	var a Address
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		a.user, a.password, _ = strings.Cut(rest[:i], ":")
		rest = rest[i+1:]
	}
	if strings.Contains(rest, "@") {
		return nil, &Error{Name: hidden, Why: "the end of the password is ambiguous.", Hint: howToEncode}
	}
	if _, err := url.PathUnescape(a.password); err != nil {
		return nil, &Error{Name: hidden, Why: "the password has a % that encodes nothing.", Hint: howToEncode}
	}
	var parameters string
	a.place, parameters, _ = strings.Cut(rest, "?")
	if err := a.sort(parameters); err != nil {
		return nil, &Error{Name: hidden, Why: "its parameters cannot be read: " + err.Error() + ".", Hint: howToEncode}
	}
	return &a, nil
}

// sort takes the parameters apart: perdure's own, the driver's and the secrets.
func (a *Address) sort(parameters string) error {
	for p := range strings.SplitSeq(parameters, "&") {
		name, value, _ := strings.Cut(p, "=")
		key, err := url.PathUnescape(name)
		if err != nil {
			return err
		}
		switch key {
		case "":
		case "schema":
			if a.Schema, err = url.PathUnescape(value); err != nil {
				return err
			}
		case "pooled":
			if a.Pooled, err = strconv.ParseBool(value); err != nil {
				return fmt.Errorf("pooled is true or false, not %q", value)
			}
		case "password", "sslpassword":
			a.secrets = append(a.secrets, p)
		default:
			a.query = append(a.query, p)
		}
	}
	return nil
}

// Tables is the schema that holds the tables.
func (a *Address) Tables() string { return cmp.Or(a.Schema, "perdure") }

// DSN is the URL for the driver, which knows nothing of schemas and poolers.
func (a *Address) DSN(secret bool) string {
	return a.write(secret, a.query)
}

// Text is the URL for people and for Parse.
func (a *Address) Text(secret bool) string {
	query := slices.Clone(a.query)
	if a.Schema != "" {
		query = append(query, "schema="+strings.ReplaceAll(url.QueryEscape(a.Schema), "+", "%20")) // in these URLs a plus is a plus
	}
	if a.Pooled {
		query = append(query, "pooled=true")
	}
	return a.write(secret, query)
}

func (a *Address) write(secret bool, query []string) string {
	user := a.user
	if secret {
		if a.password != "" {
			user += ":" + a.password
		}
		query = append(slices.Clone(query), a.secrets...)
	}
	text := "postgres://"
	if user != "" {
		text += user + "@"
	}
	text += a.place
	if len(query) > 0 {
		text += "?" + strings.Join(query, "&")
	}
	return text
}

// route are the parameters that say how to come to the server and as whom.
var route = []string{
	"host", "hostaddr", "port", "dbname", "database", "user", "passfile", "service", "servicefile",
	"sslmode", "sslcert", "sslkey", "sslrootcert", "sslnegotiation", "sslsni", "channel_binding",
}

// Via is the address of the same database by another way, without encryption: as that user at
// these hosts. What else it says of the connection stays.
func (a *Address) Via(user, password, database string, hosts []string) *Address {
	encode := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	b := &Address{user: encode(user), password: encode(password), place: strings.Join(hosts, ",") + "/" + encode(database), Schema: a.Schema, Pooled: a.Pooled}
	for _, p := range a.query {
		name, _, _ := strings.Cut(p, "=")
		if key, err := url.PathUnescape(name); err == nil && !slices.Contains(route, key) {
			b.query = append(b.query, p)
		}
	}
	b.query = append(b.query, "sslmode=disable")
	return b
}
