package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/telemetry"
)

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
