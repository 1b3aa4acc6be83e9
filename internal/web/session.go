package web

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/access"
)

// sessionCookie is the name of the cookie of a login.
const sessionCookie = "perdure_session"

// identify returns the caller of a request. ambient reports whether a browser may have
// added the credentials by itself, whichever page made it send the request. A wrong token
// identifies no caller, even together with a valid cookie.
func (g *Guard) identify(r *http.Request) (who access.Identity, ambient bool) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, secret, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") {
			return g.bearer(strings.TrimSpace(secret)), false
		}
	}
	if g.rules.Identify != nil {
		if who := g.rules.Identify(r); who.Role != "" {
			return who, true
		}
	}
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		if who := g.session(cookie.Value, time.Now()); who.Role != "" {
			return who, true
		}
	}
	if local(r) {
		return g.rules.Anonymous, false
	}
	return access.Identity{}, false
}

// bearer returns the holder of a secret. It compares all tokens, even after a match.
func (g *Guard) bearer(secret string) (who access.Identity) {
	sum := sha256.Sum256([]byte(secret))
	for _, t := range g.tokens {
		if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 {
			who = t.who
		}
	}
	return who
}

// local reports whether a request comes from this machine, and not through a proxy on it. A
// proxy adds a header, or passes on the host name by which others reach it.
func local(r *http.Request) bool {
	for _, proxied := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} {
		if len(r.Header.Values(proxied)) > 0 {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && access.IsLoopback(host) && access.IsLoopback(hostname(r.Host))
}

// Login exchanges the secret of a token for a cookie. The problem says that there is no such
// token, or that its role may not use the route.
// The cookie is signed with a key derived from the secret, so that every server with the
// token accepts it, and none does once the token is removed.
func (g *Guard) Login(w http.ResponseWriter, r *http.Request, secret string, to Route) *Problem {
	who := g.bearer(secret)
	switch {
	case who.Role == "":
		return NoToken.Of("The token does not belong to this server.")
	case !to.Admits(who.Role):
		return TooLittle(who, to.Needs(""))
	}
	lasts := cmp.Or(g.rules.Session, access.DefaultSession)
	expires := time.Now().Add(lasts)
	value := sign(sha256.Sum256([]byte(secret)), who.Name, expires, rand.Text())
	http.SetCookie(w, cookie(r, value, int(lasts/time.Second)))
	return nil
}

// Logout makes the browser delete the cookie.
func (g *Guard) Logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(r, "", -1))
}

func cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}

// sign returns the value of a cookie: the name, the expiry, a nonce, and the signature.
func sign(key [sha256.Size]byte, name string, expires time.Time, nonce string) string {
	text := fmt.Sprintf("1.%s.%d.%s", base64.RawURLEncoding.EncodeToString([]byte(name)), expires.Unix(), nonce)
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("perdure session "))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// session returns the holder of a session cookie, or the zero Identity if the cookie is
// invalid.
func (g *Guard) session(value string, now time.Time) (who access.Identity) {
	parts := strings.Split(value, ".")
	if len(parts) != 5 {
		return who
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[1])
	seconds, failed := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || failed != nil || now.Unix() >= seconds {
		return who
	}
	for _, t := range g.tokens {
		if t.who.Name == string(name) && hmac.Equal([]byte(sign(t.sum, t.who.Name, time.Unix(seconds, 0), parts[3])), []byte(value)) {
			who = t.who
		}
	}
	return who
}
