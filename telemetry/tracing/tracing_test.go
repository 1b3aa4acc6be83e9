package tracing_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry/tracing"
	"github.com/perdure/perdure/workflow"
)

// recorder is a TracerProvider that keeps spans in memory.
type recorder struct {
	noop.TracerProvider
	mu  sync.Mutex
	all []*span
}

type span struct {
	noop.Span
	name       string
	context    trace.SpanContext
	parent     trace.SpanContext
	kind       trace.SpanKind
	attributes map[string]string
	status     codes.Code
	began      time.Time
	took       time.Duration
	ended      int
}

type recording struct {
	noop.Tracer
	*recorder
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return recording{recorder: r} }

func (r recording) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	config := trace.NewSpanStartConfig(options...)
	s := &span{name: name, parent: trace.SpanContextFromContext(ctx), kind: config.SpanKind(), attributes: map[string]string{}, began: time.Now()}
	s.SetAttributes(config.Attributes()...)
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(len(r.all)+1))
	traceID := s.parent.TraceID()
	if !traceID.IsValid() {
		traceID = trace.TraceID{15: byte(len(r.all) + 1)}
	}
	s.context = trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: id, TraceFlags: trace.FlagsSampled})
	r.all = append(r.all, s)
	return trace.ContextWithSpan(ctx, s), s
}

func (s *span) SpanContext() trace.SpanContext      { return s.context }
func (s *span) IsRecording() bool                   { return true }
func (s *span) SetStatus(code codes.Code, _ string) { s.status = code }
func (s *span) End(...trace.SpanEndOption)          { s.took = time.Since(s.began); s.ended++ }
func (s *span) SetAttributes(all ...attribute.KeyValue) {
	for _, a := range all {
		s.attributes[string(a.Key)] = a.Value.String()
	}
}

// TestE63_OneTrace: the attempts of a run, of its child and after a restart are spans of
// the trace of the caller, below the span of the start; backoff is in none.
func TestE63_OneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside []string
		charge := activity.New("charge", func(ctx context.Context, n int) (int, error) {
			inside = append(inside, trace.SpanContextFromContext(ctx).SpanID().String())
			time.Sleep(time.Second)
			switch info, _ := activity.FromContext(ctx); {
			case n == 2:
				panic("secret")
			case info.Attempt == 1:
				return 0, errors.New("secret")
			}
			return n, nil
		}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter}))
		child := workflow.New("child", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
		parent := workflow.New("parent", func(wf *workflow.Context, n int) (int, error) {
			if _, err := workflow.Call(wf, charge, n); err != nil {
				return 0, err
			}
			return workflow.RunChild(wf, child, 2)
		})
		var r recorder
		db := memory.New()
		open := func() *perdure.Engine {
			e, err := perdure.Open(t.Context(), db, perdure.NodeName("n"), perdure.Register(charge, child, parent), perdure.Intercept(tracing.Interceptor(&r)))
			if err == nil {
				err = e.Start(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e := open()
		ctx, caller := r.Tracer("test").Start(t.Context(), "request")
		if _, err := perdure.Start(ctx, e, parent, "p", 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open()
		defer e.Close()
		_, err := perdure.Attach[int](e, "p").Result(ctx)
		if panicked := (*retry.PanicError)(nil); !errors.As(err, &panicked) {
			t.Errorf("the error is %v", err)
		}
		var got []string
		for _, s := range r.all {
			if s.ended != 1 && s.name != "request" {
				t.Errorf("%s was ended %d times", s.name, s.ended)
			}
			if s.context.TraceID() != caller.SpanContext().TraceID() {
				t.Errorf("%s is in another trace", s.name)
			}
			above := ""
			for _, p := range r.all {
				if p.context.SpanID() == s.parent.SpanID() {
					above = p.name
				}
			}
			line := fmt.Sprintf("%s < %s, %s", s.name, above, s.kind)
			if s.name == "perdure.attempt charge" {
				line += fmt.Sprintf(", %s of %s, %s, %s %s", s.attributes[tracing.Attempt], s.attributes[tracing.Workflow], s.took, s.status, s.attributes[tracing.ErrorType])
				if !slices.Contains(inside, s.context.SpanID().String()) {
					t.Error("a body did not see its span")
				}
			}
			got = append(got, strings.TrimSpace(line))
			if strings.Contains(fmt.Sprint(s.attributes), "secret") {
				t.Errorf("%s tells the text of an error: %v", s.name, s.attributes)
			}
		}
		want := []string{
			"request < , unspecified",
			"perdure.start parent < request, producer",
			"perdure.attempt charge < perdure.start parent, consumer, 1 of parent, 1s, Error Error",
			"perdure.result < request, client",
			"perdure.attempt charge < perdure.start parent, consumer, 2 of parent, 1s, Unset",
			"perdure.attempt charge < perdure.start parent, consumer, 1 of child, 1s, Error Panic",
			"perdure.attempt charge < perdure.start parent, consumer, 2 of child, 1s, Error Panic",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
