package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var pictures = flag.String("pictures", "", "the directory to write the pictures of the documents into")

// rateLimited and unavailable are what a payment provider says.
type (
	rateLimited struct{ error }
	unavailable struct{ error }
)

func (rateLimited) ErrorType() string { return "RateLimited" }
func (unavailable) ErrorType() string { return "Unavailable" }

type (
	order struct {
		Customer string
		Items    int
		Total    string
	}
	receipt struct{ Receipt string }
)

// The shop of the pictures. Its bodies do what the number of the attempt says, which is what
// a provider does on a bad day.
var (
	payments  = gate.New("payments", 10)
	warehouse = gate.New("warehouse", 1)

	reserveItems = activity.New("reserve-items", func(ctx context.Context, o order) (string, error) {
		time.Sleep(120 * time.Millisecond)
		return "shelf 14", nil
	})
	chargeCard = activity.New("charge-card", func(ctx context.Context, o order) (receipt, error) {
		info, _ := activity.FromContext(ctx)
		switch info.Attempt {
		case 1:
			time.Sleep(400 * time.Millisecond)
			return receipt{}, retry.AfterHTTP(rateLimited{errors.New("POST /v1/charges: 429 Too Many Requests")}, "30", time.Now())
		case 4:
			time.Sleep(1200 * time.Millisecond)
			return receipt{}, unavailable{errors.New("POST /v1/charges: 503 Service Unavailable")}
		}
		<-ctx.Done() // the provider does not reply
		return receipt{}, ctx.Err()
	}, activity.Through(payments), activity.Retry(retry.Policy{
		MaxAttempts: 8, Backoff: retry.Exponential(15*time.Second, 4, 10*time.Minute), Jitter: retry.NoJitter, AttemptTimeout: 12 * time.Second,
		NonRetryable: []string{"CardDeclined"},
	}))
	pickItems = activity.New("pick-items", func(ctx context.Context, o order) (string, error) { return "", activity.ErrPending },
		activity.Through(warehouse), activity.Retry(retry.Policy{AttemptTimeout: 24 * time.Hour}))
	payOut = activity.New("pay-out", func(context.Context, order) (receipt, error) {
		time.Sleep(300 * time.Millisecond)
		return receipt{}, retry.Unknown(errors.New("POST /v1/payouts: connection reset by peer"))
	}, activity.Verify(func(context.Context, order, activity.Doubt) (activity.Found[receipt], error) {
		return activity.Found[receipt]{}, errors.New("GET /v1/payouts?reference=refund-77: 503 Service Unavailable")
	}), activity.VerifyRetry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}))
	refunding = workflow.New("refund", func(wf *workflow.Context, o order) (receipt, error) { return workflow.Call(wf, payOut, o) })
	shopping  = workflow.New("checkout", func(wf *workflow.Context, o order) (receipt, error) {
		if _, err := workflow.Call(wf, reserveItems, o); err != nil {
			return receipt{}, err
		}
		picked := workflow.Async(wf, pickItems, o)
		r, err := workflow.Call(wf, chargeCard, o)
		if err != nil {
			return receipt{}, err
		}
		_, err = picked.Get(wf)
		return r, err
	})
)

// pictured is the dashboard of a shop with a live node, in which order-1042 has had a bad
// time, and refund-77 is in doubt: their past is made in virtual time that ends now, with a crash of the process.
func pictured(t *testing.T) *httptest.Server {
	t.Helper()
	now, file := time.Now(), filepath.Join(t.TempDir(), "shop.db")
	definitions := perdure.Register(shopping, reserveItems, chargeCard, pickItems, refunding, payOut)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		time.Sleep(time.Until(now.Add(-135 * time.Second)))
		ctx := t.Context()
		env.Register(shopping, reserveItems, chargeCard, pickItems, refunding, payOut)
		_, err := perdure.Start(ctx, env.Engine(), shopping, "order-1041", order{"grace", 1, "12.00 EUR"})
		must(t, err)
		time.Sleep(time.Second)
		_, err = perdure.Start(ctx, env.Engine(), shopping, "order-1042", order{"ada", 3, "59.90 EUR"})
		must(t, err)
		_, err = perdure.Start(ctx, env.Engine(), refunding, "refund-77", order{"ada", 1, "19.90 EUR"})
		must(t, err)
		time.Sleep(35 * time.Second) // the second attempt runs
		_, err = ops.Control(ctx, env.Engine(), "order-1042", view.CallFilter{Name: "charge-card"}, ops.ChangePolicy("[retry: 11]"),
			ops.By("ann"), ops.Why("the provider is slow today"))
		must(t, err)
		time.Sleep(72 * time.Second) // the third does
		env.Crash()
		time.Sleep(20 * time.Second)
	}, perduretest.Store(func() store.Opener { return sqlite.File(file, sqlite.Exclusive()) }), perduretest.Resident(),
		perduretest.Downtime(6*time.Second), perduretest.Engine(perdure.NodeName("shop-1")))
	srv, eng := served(t, file, definitions, perdure.NodeName("shop-1"))
	must(t, eng.Start(t.Context()))
	return srv
}

// picturedPages are the pages that are pictures in the documents, and what sections of them say.
var picturedPages = []struct {
	name, url string
	says      map[string][]string
}{
	{"overview", "/shop/", map[string][]string{
		"main": {"refund-77", "in-doubt", "warehouse", "connection reset by peer", "1 thing needs attention"},
	}},
	{"run", "/shop/run?id=order-1042", map[string][]string{
		"h1": {"order-1042 ▶ running checkout"},
		"section[aria-labelledby=pending] tbody tr:nth-child(1)": {"2 pick-items activity ○ gated 1 of 5", "waiting at gate warehouse (place 1 of 1)"},
		"section[aria-labelledby=pending] tbody tr:nth-child(2)": {
			"3 charge-card activity ↻ backoff 5 of 12 in DURATION", "Unavailable: POST /v1/charges: 503 Service Unavailable",
			"1 attempt was lost with the process that ran it", "never: CardDeclined", "Retry now Pause Skip Fail Edit policy",
		},
		"section[aria-labelledby=timeline]": {"2 pick-items · gated", "3 charge-card · 4 attempts · backoff"},
		"section[aria-labelledby=calls]":    {"1 reserve-items ✓ completed 1 120ms", "3 charge-card ↻ backoff 4 2 1 1 DURATION"},
		"section[aria-labelledby=audit]":    {"edit-policy call 3, charge-card ann ✓ applied the provider is slow today"},
	}},
	{"doubt", "/shop/run?id=refund-77", map[string][]string{
		"h1":   {"refund-77"},
		"main": {"in-doubt", "connection reset by peer", "3 questions had no answer", "503 Service Unavailable", "Ask Skip Retry now Fail"},
	}},
}

// TestF6_PicturesOfTheReadme: the pages of the pictures say what they show. With -pictures it
// makes them:
//
//	go test ./dashboard -run Pictures -pictures ../docs/pictures
func TestF6_PicturesOfTheReadme(t *testing.T) {
	b := browse(t)
	srv := pictured(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, page := range picturedPages {
			b.appear(1280, scheme)
			b.open(srv.URL + page.url)
			b.fits()
			for section, lines := range page.says {
				text := strings.Join(strings.Fields(b.text(section)), " ")
				for _, line := range lines {
					if !strings.Contains(text, line) && !strings.Contains(steady(text), line) {
						t.Errorf("%s of %s does not say %q, but\n%s", section, page.name, line, text)
					}
				}
			}
			b.picture(page.name + "-" + scheme)
		}
	}
}

// TestF6_PicturesAreOfThePagesAsTheyAre: when a page or its style has changed since its picture was
// taken, the picture is taken again. What the pages were stands in pages.txt beside the pictures,
// which -pictures writes.
func TestF6_PicturesAreOfThePagesAsTheyAre(t *testing.T) {
	srv := pictured(t)
	var now strings.Builder
	for _, page := range picturedPages {
		fmt.Fprintf(&now, "%s %x\n", page.name, sha256.Sum256([]byte(outline(t, srv.URL+page.url))))
	}
	if *pictures != "" {
		must(t, os.WriteFile(filepath.Join(*pictures, "pages.txt"), []byte(now.String()), 0o644))
		return
	}
	then, err := os.ReadFile(filepath.Join("..", "docs", "pictures", "pages.txt"))
	must(t, err)
	if got := strings.ReplaceAll(string(then), "\r\n", "\n"); got != now.String() {
		t.Errorf("The pictures were taken of\n%sand the pages are now\n%sTake them again, and look at them: go test ./dashboard -run Pictures -pictures ../docs/pictures", got, &now)
	}
}

var (
	piece  = regexp.MustCompile(`<[^>]+>|[^<>]+`)
	number = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\d+([.,]\d+)*`)
)

// outline is what a page consists of, each piece once, without numbers, times and lengths; and the
// style that all pages have.
func outline(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	must(t, err)
	defer resp.Body.Close()
	html, err := io.ReadAll(resp.Body)
	must(t, err)
	style, err := os.ReadFile(filepath.Join("static", "app.css"))
	must(t, err)
	pieces := map[string]bool{strings.ReplaceAll(string(style), "\r\n", "\n"): true}
	for _, p := range piece.FindAllString(string(html), -1) {
		p = strings.Join(strings.Fields(number.ReplaceAllString(steady(p), "0")), " ")
		if !strings.HasSuffix(p, "DURATION") || len(p) > len("+DURATION")+4 { // a mark of the timeline
			pieces[strings.ReplaceAll(p, ` text-anchor="end"`, "")] = true // at its edge
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(pieces)), "\n")
}

// picture writes a picture of the page without its foot, sharp on dense screens and with at
// most 256 colours. Without -pictures it looks at the one that is there.
func (b *tab) picture(name string) {
	b.Helper()
	if *pictures == "" {
		file := filepath.Join("..", "docs", "pictures", name+".png")
		data, err := os.ReadFile(file)
		must(b.T, err)
		if _, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || len(data) > 200<<10 {
			b.Errorf("%s has %d bytes: %v", file, len(data), err)
		}
		return
	}
	const density = 1.5
	protocol(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 1280, Height: 800, DeviceScaleFactor: density})
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	must(b.T, err)
	full, err := png.Decode(bytes.NewReader(shot))
	must(b.T, err)
	page := full.Bounds()
	page.Max.Y = min(page.Max.Y, int(density*js[float64](b, `document.querySelector("footer").getBoundingClientRect().top + scrollY`)))
	var out bytes.Buffer
	must(b.T, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduce(full, page)))
	must(b.T, os.WriteFile(filepath.Join(*pictures, name+".png"), out.Bytes(), 0o644))
}

// reduce maps a part of a picture to the 256 colours that it has most of, near ones counted
// together.
func reduce(full image.Image, r image.Rectangle) *image.Paletted {
	near := func(c color.RGBA) color.RGBA { return color.RGBA{c.R &^ 7, c.G &^ 7, c.B &^ 7, 255} }
	count, exact := map[color.RGBA]int{}, map[color.RGBA]map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := at(x, y)
			n := near(c)
			if exact[n] == nil {
				exact[n] = map[color.RGBA]int{}
			}
			count[n]++
			exact[n][c]++
		}
	}
	classes := make([]color.RGBA, 0, len(count))
	for n := range count {
		classes = append(classes, n)
	}
	slices.SortFunc(classes, func(a, b color.RGBA) int { return count[b] - count[a] })
	var colours color.Palette
	for _, n := range classes[:min(256, len(classes))] {
		best := n
		for c, k := range exact[n] {
			if k > exact[n][best] {
				best = c
			}
		}
		colours = append(colours, best)
	}
	small := image.NewPaletted(r, colours)
	index := map[color.RGBA]uint8{}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := at(x, y)
			i, known := index[c]
			if !known {
				i = uint8(colours.Index(c))
				index[c] = i
			}
			small.SetColorIndex(x, y, i)
		}
	}
	return small
}
