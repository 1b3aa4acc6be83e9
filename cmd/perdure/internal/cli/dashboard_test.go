package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

const (
	testOperator = "operator-secret-0123456789"
	testViewer   = "viewer-secret-0123456789"
)

// server is "perdure dashboard" in a test.
type server struct {
	t    *testing.T
	url  string
	stop func() int
}

// startServer runs the command with arguments until the test ends or stop is called.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- Run(ctx, Env{
			Args: append([]string{"dashboard", "--listen", "127.0.0.1:0", "-o", "json"}, args...), Stdin: strings.NewReader(""), Stdout: writer, Stderr: &stderr,
			Getenv: func(string) string { return "" }, Now: time.Now,
		})
		_ = writer.Close()
	}()
	var l listening
	if err := json.NewDecoder(reader).Decode(&l); err != nil {
		cancel()
		t.Fatalf("%v, exit code %d\n%s", err, <-ended, stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	s := &server{t: t, url: l.URL}
	s.stop = func() int {
		cancel()
		code := <-ended
		ended <- code
		return code
	}
	t.Cleanup(func() { s.stop() })
	return s
}

// ask sends a request, with a token if it is given one, and returns status and body.
func (s *server) ask(client *http.Client, method, path, token string, change func(*http.Request)) (int, string) {
	s.t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if change != nil {
		change(r)
	}
	res, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// emptyDatabase makes shop.db here.
func emptyDatabase(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	e, err := perdure.Open(t.Context(), sqlite.File("shop.db"))
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestF8_TheServerIsForThisMachineUnlessItHasTokens(t *testing.T) {
	emptyDatabase(t)
	s := startServer(t, "--db", "shop.db", "--read-only")
	plain := http.DefaultClient
	if code, body := s.ask(plain, "GET", "healthz", "", nil); code != 200 {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := s.ask(plain, "GET", "api/status", "", nil); code != 200 || !strings.Contains(body, `"served":false`) {
		t.Errorf("status: %d %s", code, body)
	}
	if code, _ := s.ask(plain, "GET", "api/status", "", func(r *http.Request) { r.Host = "rebound.example" }); code != 421 {
		t.Errorf("a foreign host: %d", code)
	}
	if code, body := s.ask(plain, "POST", "api/activities/charge/pause", "", nil); code != 403 || !strings.Contains(body, `"code":"read-only"`) {
		t.Errorf("read-only: %d %s", code, body)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("an interrupt: exit code %d", code)
	}

	if err := os.WriteFile("tokens", []byte("ann operator "+testOperator+"\nvic viewer "+testViewer+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = startServer(t, "--db", "shop.db", "--token-file", "tokens")
	for _, c := range []struct {
		token string
		want  int
	}{{"", 401}, {testViewer, 403}, {testOperator, 200}} {
		if code, body := s.ask(plain, "POST", "api/activities/charge/pause", c.token, nil); code != c.want {
			t.Errorf("%q: %d %s", c.token, code, body)
		}
	}
	if code, body := s.ask(plain, "GET", "api/activities/paused", testViewer, nil); code != 200 || !strings.Contains(body, `"by":"ann"`) {
		t.Errorf("%d %s", code, body)
	}
	stdout, _, _ := call(t, "audit", "--db", "shop.db", "-o", "json")
	if !strings.Contains(stdout, `"ann"`) {
		t.Errorf("the audit does not say who it was:\n%s", stdout)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("an interrupt: exit code %d", code)
	}
}

func TestF8_TheServerSpeaksTLS(t *testing.T) {
	emptyDatabase(t)
	pool := selfSigned(t)
	s := startServer(t, "--db", "shop.db", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatal(s.url)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	if code, body := s.ask(client, "GET", "api/whoami", "", nil); code != 200 || !strings.Contains(body, `"role":"operator"`) {
		t.Errorf("%d %s", code, body)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("an interrupt: exit code %d", code)
	}
}

// selfSigned writes cert.pem and key.pem, and returns what trusts them.
func selfSigned(t *testing.T) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}
