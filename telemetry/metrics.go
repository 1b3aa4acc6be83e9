package telemetry

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/telemetry/internal/measure"
	"github.com/perdure/perdure/telemetry/internal/metric"
)

// Every is how old the part of a scrape that is read from the database may be, and Limit
// how long reading it may take: what was read last is told after that.
const (
	Every = measure.Every
	Limit = measure.Limit
)

// Metrics counts what an engine does. It is safe for concurrent use.
type Metrics struct{ counted *measure.Metrics }

// New returns Metrics that have counted nothing.
func New() *Metrics { return &Metrics{measure.New()} }

// Engine is the option of perdure.Open by which an engine is counted. One Metrics may
// count several engines: what is counted is then their sum, and a handler for each tells
// how that one stands, and its group.
func (m *Metrics) Engine() perdure.Option { return m.counted.Engine() }

// Handler returns a handler that serves the metrics of an engine in Prometheus' text
// format. A process that only looks at a database needs no more than
//
//	http.Handle("/metrics", telemetry.New().Handler(eng))
//
// It asks for no credentials: mount it where only the scraper comes, or behind a handler
// that does. It is safe for concurrent use; its scrapes share what is read from the
// database.
func (m *Metrics) Handler(e *perdure.Engine) http.Handler {
	source := measure.NewSource(m.counted, e)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		var page bytes.Buffer
		_ = metric.Write(&page, source.Read(r.Context())) // a buffer takes all
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(page.Len()))
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(page.Bytes()) // the client may be gone
	})
}

// Metric says what a metric is.
type Metric struct {
	Name   string
	Kind   string // counter, gauge or histogram
	Labels []string
	Help   string
	// Group says that it is about the whole group, read from the database; else it is
	// about the process.
	Group bool
	// Series is how many series it has at most; what is beyond counts as "other".
	Series int
	// OTel is its name in package telemetry/meter, Unit its unit there, "s" or empty.
	OTel, Unit string
}

// Catalog returns all metrics, in the order in which they are written.
func Catalog() (all []Metric) {
	for _, row := range measure.Table() {
		name, unit := row.OTel()
		all = append(all, Metric{row.Name, row.Kind, slices.Clone(row.Labels), row.Help, row.Group, row.Series, name, unit})
	}
	return all
}
