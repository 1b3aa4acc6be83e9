package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/telemetry"
	"github.com/perdure/perdure/telemetry/tracing"
)

// TestE63_TheTableOfSpans: the page has all kinds of spans, with their attributes.
func TestE63_TheTableOfSpans(t *testing.T) {
	var rows [][]string
	for _, s := range tracing.Catalog() {
		var keys []string
		for _, key := range s.Attributes {
			keys = append(keys, code(key))
		}
		rows = append(rows, []string{code(s.Name), s.Kind, s.Below, strings.Join(keys, ", "), s.Help})
	}
	Section(t, *update, "telemetry.md", "telemetry:spans", table([]string{"span", "kind", "below", "attributes it may have", "what"}, rows))
}

// TestE63_TheTableOfMetrics: the page has all metrics.
func TestE63_TheTableOfMetrics(t *testing.T) {
	var rows [][]string
	for _, m := range telemetry.Catalog() {
		of := "process"
		if m.Group {
			of = "group"
		}
		rows = append(rows, []string{code(m.Name), code(m.OTel), m.Kind, of, strings.Join(m.Labels, ", "), fmt.Sprint(m.Series), m.Help})
	}
	Section(t, *update, "telemetry.md", "telemetry:metrics", table([]string{"metric", "in OpenTelemetry", "kind", "of", "labels", "series at most", "what"}, rows))
}
