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

// Every is the maximum age of the metrics that are read from the database, and Limit the
// longest time that reading them may take: after that a scrape returns the previous ones.
const (
	Every = measure.Every
	Limit = measure.Limit
)

// Metrics counts the work of an engine. It is safe for concurrent use.
type Metrics struct{ counted *measure.Metrics }

// New returns Metrics that have counted nothing.
func New() *Metrics { return &Metrics{measure.New()} }

// Engine returns the option of perdure.Open that counts an engine. One Metrics may count
// several engines: the counts are then their sum, and a handler for each engine shows the
// state of that engine and its group.
func (m *Metrics) Engine() perdure.Option { return m.counted.Engine() }

// Handler returns a handler that serves the metrics of an engine in Prometheus' text
// format. A process that only looks at a database needs no more than
//
//	http.Handle("/metrics", telemetry.New().Handler(eng))
//
// It requires no credentials: mount it where only the scraper has access, or behind a
// handler that checks them. It is safe for concurrent use; concurrent scrapes share what
// is read from the database.
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

// Metric describes a metric.
type Metric struct {
	Name   string
	Kind   string // counter, gauge or histogram
	Labels []string
	Help   string
	// Group says that the metric is about the whole group and read from the database;
	// otherwise it is about the process.
	Group bool
	// Series is the maximum number of series; values beyond it count as "other".
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
