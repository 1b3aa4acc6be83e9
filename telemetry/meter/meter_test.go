package meter_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry"
	"github.com/perdure/perdure/telemetry/meter"
	"github.com/perdure/perdure/workflow"
)

// translated is what a reader of OpenTelemetry has collected, in the names of Prometheus by
// the rules of its exporters, by series.
func translated(t *testing.T, reader sdk.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			name := strings.ReplaceAll(m.Name, ".", "_")
			if m.Unit == "s" {
				name += "_seconds"
			} else if m.Unit != "" {
				t.Errorf("%s has unit %q, which exporters add to the name", m.Name, m.Unit)
			}
			if m.Description == "" {
				t.Errorf("%s has no description", m.Name)
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[float64]:
				if !d.IsMonotonic {
					t.Errorf("%s may fall", m.Name)
				}
				points(got, name+"_total", d.DataPoints)
			case metricdata.Gauge[float64]:
				points(got, name, d.DataPoints)
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					labels := labelsOf(p.Attributes)
					got[name+"_count"+labels], got[name+"_sum"+labels] = float64(p.Count), p.Sum
					if want := map[bool]int{true: 12, false: 16}[p.Attributes.Len() > 0]; len(p.Bounds) != want {
						t.Errorf("%s has %d bounds, want %d", m.Name, len(p.Bounds), want)
					}
				}
			default:
				t.Errorf("%s is %T", m.Name, d)
			}
		}
	}
	return got
}

func points(got map[string]float64, name string, all []metricdata.DataPoint[float64]) {
	for _, p := range all {
		got[name+labelsOf(p.Attributes)] = p.Value
	}
}

func labelsOf(set attribute.Set) string {
	var labels []string
	for _, a := range set.ToSlice() {
		labels = append(labels, strings.ReplaceAll(string(a.Key), ".", "_")+"="+strconv.Quote(a.Value.AsString()))
	}
	slices.Sort(labels)
	return "{" + strings.Join(labels, ",") + "}"
}

// scraped is the page of Prometheus in the same form.
func scraped(t *testing.T, h http.Handler) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	got := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || strings.Contains(line[:at], "_bucket{") {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		name, rest, _ := strings.Cut(line[:at], "{")
		var labels []string
		for _, l := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
			if l != "" && !strings.HasSuffix(l, `=""`) {
				labels = append(labels, l)
			}
		}
		slices.Sort(labels)
		got[name+"{"+strings.Join(labels, ",")+"}"] = value
	}
	return got
}

// TestE63_TwoFaces: what OpenTelemetry's SDK collects of an engine, in the names of
// Prometheus, is what Prometheus scrapes of it: each series, and each value.
func TestE63_TwoFaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdk.NewManualReader()
		provider := sdk.NewMeterProvider(sdk.WithReader(reader))
		other, err := meter.New(provider)
		if err != nil {
			t.Fatal(err)
		}
		prometheus := telemetry.New()
		till := gate.New("till", 1, gate.WithBreaker(gate.Breaker{Failures: 5, Cooldown: time.Hour}))
		charge := activity.New("charge", func(ctx context.Context, fails int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt <= fails {
				return 0, errors.New("refused")
			}
			if fails == 1 {
				<-ctx.Done()
			}
			return 0, ctx.Err()
		}, activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}), activity.Through(till))
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
		eng, err := perdure.Open(t.Context(), memory.New(), prometheus.Engine(), other.Engine(), perdure.Register(charge, flow))
		if err == nil {
			err = errors.Join(eng.Start(t.Context()), other.Watch(eng))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		if err := other.Watch(eng); !errors.Is(err, meter.ErrWatched) {
			t.Errorf("a second Watch: %v", err)
		}
		for n, id := range []string{"a", "b", "c", "d"} {
			if _, err := perdure.Start(t.Context(), eng, flow, id, []int{0, 3, 1, 1}[n]); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
		}
		time.Sleep(time.Millisecond) // between two renewals of the lease
		synctest.Wait()
		page := prometheus.Handler(eng)
		want, got := scraped(t, page), translated(t, reader)
		if want[`perdure_runs{status="failed"}`] != 1 || want[`perdure_waiting{for="gate",gate="till"}`] != 1 || want[`perdure_breaker_open{gate="till"}`] != 0 ||
			want[`perdure_retries_total{activity="charge",error_type="Error"}`] < 3 {
			t.Errorf("the run of this test is another one: %v", want)
		}
		for series, value := range want {
			if v, is := got[series]; !is && !(value == 0 && strings.HasPrefix(series, "perdure_lateness")) || v != value {
				t.Errorf("%s is %v, of OpenTelemetry %v (%v)", series, value, v, is)
			}
			delete(got, series)
		}
		for series := range got {
			t.Errorf("OpenTelemetry alone has %s", series)
		}
		if err := errors.Join(other.Close(), other.Close()); err != nil {
			t.Error(err)
		}
		if left := translated(t, reader); left[`perdure_live{}`] != 0 {
			t.Errorf("after Close there is %v", left)
		}
		if err := other.Watch(eng); !errors.Is(err, meter.ErrWatched) {
			t.Errorf("Watch after Close: %v", err)
		}
	})
}

// TestE63_NamesComeBack: the name and unit of each metric make its name for Prometheus
// again, by the rules of exporters.
func TestE63_NamesComeBack(t *testing.T) {
	for _, m := range telemetry.Catalog() {
		name := strings.ReplaceAll(m.OTel, ".", "_")
		if m.Unit == "s" {
			name += "_seconds"
		}
		if m.Kind == "counter" {
			name += "_total"
		}
		if name != m.Name || strings.ContainsAny(m.OTel, "_") {
			t.Errorf("%s is %s with unit %q, which comes back as %s", m.Name, m.OTel, m.Unit, name)
		}
	}
}

// TestE63_NoProvider: it is refused, in words.
func TestE63_NoProvider(t *testing.T) {
	if _, err := meter.New(nil); err == nil || !strings.Contains(err.Error(), "MeterProvider is nil") {
		t.Error(err)
	}
}
