package database

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

func TestNamesAreReadAndWritten(t *testing.T) {
	for _, c := range []struct{ text, shown, secret, schema string }{
		{text: "shop.db", shown: "shop.db", secret: "sqlite:shop.db"},
		{text: "sqlite:shop.db", shown: "shop.db", secret: "sqlite:shop.db"},
		{text: `C:\shop.db`, shown: `C:\shop.db`, secret: `sqlite:C:\shop.db`},
		{text: "./postgres:shop", shown: "./postgres:shop", secret: "sqlite:./postgres:shop"},
		{text: "postgres://db/shop", shown: "postgres://db/shop"},
		{text: "postgres://", shown: "postgres://"},
		{text: "PostgreSQL://me@db:5433/shop", shown: "postgres://me@db:5433/shop"},
		{text: "postgres://me:secret@db/shop", shown: "postgres://me@db/shop", secret: "postgres://me:secret@db/shop"},
		{text: "postgres://:secret@db/shop", shown: "postgres://db/shop", secret: "postgres://:secret@db/shop"},
		{text: "postgres://me:se?c#r%2Fet@db/shop", shown: "postgres://me@db/shop", secret: "postgres://me:se?c#r%2Fet@db/shop"},
		{text: "postgres://me:secret@a:1,b:2/shop", shown: "postgres://me@a:1,b:2/shop", secret: "postgres://me:secret@a:1,b:2/shop"},
		{text: "postgres:///shop?host=/run/pg&password=secret&sslmode=disable", shown: "postgres:///shop?host=/run/pg&sslmode=disable",
			secret: "postgres:///shop?host=/run/pg&sslmode=disable&password=secret"},
		{text: "postgres:///shop?pass%77ord=secret&sslpassword=hidden", shown: "postgres:///shop", secret: "postgres:///shop?pass%77ord=secret&sslpassword=hidden"},
		{text: "postgres://db/shop?schema=mine", shown: "postgres://db/shop?schema=mine", schema: "mine"},
		{text: "postgres://db/shop?schema=a%26b%2B+c&pool_max_conns=3", shown: "postgres://db/shop?pool_max_conns=3&schema=a%26b%2B%2Bc", schema: "a&b++c"},
	} {
		n, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		secret := c.secret
		if secret == "" {
			secret = c.shown
		}
		if n.String() != c.shown || n.Secret() != secret || n.Schema() != c.schema || n.HidesPassword() != (n.Shared() && c.secret != "") {
			t.Errorf("%s is %q (with the password %q, hidden: %v), schema %q", c.text, n, n.Secret(), n.HidesPassword(), n.Schema())
		}
		if again, err := Parse(n.Secret()); err != nil || again.Secret() != n.Secret() || again.String() != n.String() {
			t.Errorf("%s: written and read it is %q, %v", c.text, again.Secret(), err)
		}
	}
}

// TestTheDriverIsToldThePasswordAndNoSchema: what is for the driver has all that
// was written, except what the driver does not know.
func TestTheDriverIsToldThePasswordAndNoSchema(t *testing.T) {
	n, err := Parse("postgres://me:s%40cret@db:5433/shop?schema=mine&sslmode=disable&application_name=x")
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(n.url.DSN(true))
	if err != nil {
		t.Fatal(err)
	}
	c := config.ConnConfig
	if c.User != "me" || c.Password != "s@cret" || c.Host != "db" || c.Port != 5433 || c.Database != "shop" ||
		len(c.RuntimeParams) != 1 || c.RuntimeParams["application_name"] != "x" {
		t.Errorf("the driver is told %+v", c)
	}
	other := n.InSchema("theirs")
	if n.Schema() != "mine" || other.Schema() != "theirs" || other.String() != "postgres://me@db:5433/shop?sslmode=disable&application_name=x&schema=theirs" {
		t.Errorf("%s in another schema is %s", n, other)
	}
}

// FuzzNoPasswordIsShown: whatever follows a password, and whatever is wrong with
// it, no text for people holds the password.
func FuzzNoPasswordIsShown(f *testing.F) {
	for _, after := range []string{"@db/shop", "@db:port/shop", "/x@db/shop", "@x@db/shop", "#x@db/shop", "?x@db/shop", "%zz@db/shop",
		"@db/shop?sslmode=nope", "@[::1/shop", "@db:1,db/shop?schema=%", "@?schema=&a=b%", "&schema=x", "&pass%77ord=", ""} {
		for which := range uint(3) {
			f.Add(which, after)
		}
	}
	f.Fuzz(func(t *testing.T, which uint, after string) {
		const password = "hunter2"
		before := []string{"postgres://me:", "postgres:///shop?password=", "postgresql://me@db/shop?sslmode=disable&password="}[which%3]
		if strings.Contains(after, "hunter") || which%3 == 0 && !strings.Contains(after, "@") { // then it is a port
			return
		}
		n, err := Parse(before + password + after)
		shown := n.String()
		if wrong, ok := errors.AsType[*NameError](err); ok {
			shown = wrong.Name + wrong.Why + wrong.Hint
		} else if err != nil {
			t.Fatalf("%q: %v", after, err)
		}
		if strings.Contains(shown, password) {
			t.Errorf("%s...%q: %s", before, after, shown)
		}
	})
}

func TestWhatIsNoNameIsRefusedWithAHint(t *testing.T) {
	for text, want := range map[string]string{
		"mysql://me:secret@db/shop":            "mysql://...@db/shop",
		"sqlite:":                              "the name of the file is missing",
		"sqlite:///shop.db":                    "a file is not named by a URL",
		"postgres:host=db password=secret":     "is named by a URL",
		"postgres://me:sec/ret@db/shop":        "the end of the password is ambiguous",
		"postgres://me:sec%ret@db/shop":        "a % that encodes nothing",
		"postgres://me:secret@db:x/shop":       "postgres://me@db:x/shop: invalid port.",
		"postgres://me:secret@db/?sslmode=odd": "sslmode is invalid",
	} {
		_, err := Parse(text)
		wrong, ok := errors.AsType[*NameError](err)
		if !ok || !strings.Contains(err.Error(), want) || wrong.Hint == "" || strings.Contains(err.Error()+wrong.Hint, "secret") {
			t.Errorf("%s: %v; want an error that says %q", text, err, want)
		}
	}
}
