package telemetry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry"
)

// promtool runs Prometheus' own tool. It is part of what the tests need: CONTRIBUTING.md
// says how to get it.
func promtool(t *testing.T, input []byte, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		extent.Missing(t, "There is no promtool: apt-get install prometheus, brew install prometheus.")
	}
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestE63_TheRulesOfAlerts: Prometheus takes the rules, they fire and are silent when they
// should, and all metrics in them exist.
func TestE63_TheRulesOfAlerts(t *testing.T) {
	rules := filepath.Join("alerts", "perdure.yml")
	promtool(t, nil, "check", "rules", rules)
	promtool(t, nil, "test", "rules", filepath.Join("alerts", "perdure_test.yml"))
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, expr := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllSubmatch(text, -1) {
		knownMetrics(t, string(expr[1]))
	}
}

var metricName = regexp.MustCompile(`perdure_[a-z_]+`)

// knownMetrics checks that the metrics of an expression are in the catalog.
func knownMetrics(t *testing.T, expr string) {
	t.Helper()
	names := metricName.FindAllString(expr, -1)
	if len(names) == 0 {
		t.Errorf("%s names no metric", expr)
	}
	for _, name := range names {
		known := slices.ContainsFunc(telemetry.Catalog(), func(m telemetry.Metric) bool {
			return m.Name == name && m.Kind != "histogram" || m.Kind == "histogram" && m.Name+"_bucket" == name
		})
		if !known {
			t.Errorf("%s: there is no metric %s", expr, name)
		}
	}
}

type panel struct {
	Title   string
	Type    string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr string }
}

// TestE63_TheDashboard: the file is a dashboard whose panels do not overlap, and each
// expression is one that Prometheus parses, of metrics and labels that exist.
func TestE63_TheDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("grafana", "perdure.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID string
		Panels     []panel
	}
	if err := json.Unmarshal(text, &board); err != nil || board.Title == "" || board.UID == "" {
		t.Fatalf("%+v, %v", board, err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	taken := map[[2]int]string{}
	n := 0
	for _, p := range board.Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, is := taken[[2]int{x, y}]; is {
					t.Fatalf("the panels %q and %q overlap", other, p.Title)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			n++
			knownMetrics(t, target.Expr)
			knownLabels(t, target.Expr)
			expr := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$activity", ".*").Replace(target.Expr)
			fmt.Fprintf(&rules, "  - record: panel:%d\n    expr: %q\n", n, expr)
		}
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, nil, "check", "rules", file)
}

// TestE63_ABreakerThatIsClosedIsNotShownAsOpen: the panel counts those that are open, by
// Prometheus' own arithmetic.
func TestE63_ABreakerThatIsClosedIsNotShownAsOpen(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("grafana", "perdure.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, "perdure_breaker_open") {
				continue
			}
			n++
			for open, series := range map[string]string{"0": "a", "1": "b"} { // a is closed on two processes, b open
				expr := strings.NewReplacer("$job", series).Replace(target.Expr)
				file := filepath.Join(t.TempDir(), "test.yml")
				test := fmt.Sprintf(`rule_files: []
tests:
  - interval: 1m
    input_series:
      - {series: 'perdure_breaker_open{gate="a",job="a",instance="1"}', values: '0 0'}
      - {series: 'perdure_breaker_open{gate="a",job="a",instance="2"}', values: '0 0'}
      - {series: 'perdure_breaker_open{gate="b",job="b",instance="1"}', values: '1 1'}
    promql_expr_test:
      - {expr: %q, eval_time: 1m, exp_samples: [{labels: '{}', value: %s}]}
`, expr, open)
				if err := os.WriteFile(file, []byte(test), 0o600); err != nil {
					t.Fatal(err)
				}
				promtool(t, nil, "test", "rules", file)
			}
		}
	}
	if n == 0 {
		t.Error("no panel shows breakers")
	}
}

var matcher = regexp.MustCompile(`(perdure_[a-z_]+)\{([^}]*)\}`)
var labelName = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)`)

// knownLabels checks that metrics have the labels that an expression selects by; job and
// instance are those of the scraper.
func knownLabels(t *testing.T, expr string) {
	t.Helper()
	for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
		for _, label := range labelName.FindAllStringSubmatch(m[2], -1) {
			has := slices.ContainsFunc(telemetry.Catalog(), func(metric telemetry.Metric) bool {
				return strings.TrimSuffix(m[1], "_bucket") == metric.Name && slices.Contains(metric.Labels, label[1])
			})
			if !has && label[1] != "job" && label[1] != "instance" {
				t.Errorf("%s: %s has no label %s", expr, m[1], label[1])
			}
		}
	}
}

// TestE63_ThePage: Prometheus reads the page and finds nothing to complain of, and the
// handler only reads.
func TestE63_ThePage(t *testing.T) {
	h := telemetry.New().Handler(open(t, memory.New()))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	promtool(t, w.Body.Bytes(), "check", "metrics")
	if got := w.Header().Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("the content type is %q", got)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", w.Code)
	}
}
