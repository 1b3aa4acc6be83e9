package request

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
)

// nowhere is a database that keeps nothing.
type nowhere struct{ Database }

func (nowhere) Create(context.Context, store.Run) error   { return nil }
func (nowhere) Post(context.Context, store.Message) error { return nil }

func beside(chain *around.Chain) *Client {
	return New(Config{DB: nowhere{}, Read: inspect.Refusing(nil), Group: store.Group{Partitions: 1}, Node: "n", Now: func() int64 { return time.Now().UnixNano() }, Around: chain})
}

// TestE110_WithoutInterceptorsAStartCostsNoMore: what decorates a start allocates nothing if
// there is nothing to decorate it with.
func TestE110_WithoutInterceptorsAStartCostsNoMore(t *testing.T) {
	c := beside(nil)
	defer c.Close()
	req := Start{WorkflowID: "a", Type: "w"}
	fewest := func(f func()) float64 { // what else the process does is counted, too
		n := testing.AllocsPerRun(100, f)
		for range 4 {
			n = min(n, testing.AllocsPerRun(100, f))
		}
		return n
	}
	bare := fewest(func() { _, _ = c.startRun(t.Context(), req) })
	decorated := fewest(func() { _, _, _ = c.StartRun(t.Context(), req) })
	if decorated > bare {
		t.Errorf("a start allocates %v times, and %v times without what decorates it", decorated, bare)
	}
}

// BenchmarkVerbs measures what a client adds to its database, without interceptors and with one.
func BenchmarkVerbs(b *testing.B) {
	one, err := around.New([]intercept.Interceptor{intercept.New("none", func(ctx context.Context, _ *intercept.Op, next intercept.Next) error { return next(ctx) })}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, chain := range map[string]*around.Chain{"plain": nil, "intercepted": one} {
		c := beside(chain)
		defer c.Close()
		input := history.Payload{Encoding: history.EncodingJSON, Data: []byte("1")}
		b.Run(name+"/start", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, _, err := c.StartRun(b.Context(), Start{WorkflowID: fmt.Sprint(i), Type: "w", Input: input}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/signal", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := c.Signal(b.Context(), "a", "s", "", input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
