package shop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

// childVariable makes this test binary a service whose book is in the file that
// the variable names.
const childVariable = "PERDURE_SHOP_TEST_BOOK"

func TestMain(m *testing.M) {
	file := os.Getenv(childVariable)
	if file == "" {
		os.Exit(m.Run())
	}
	err := Serve(context.Background(), ServeOptions{
		BookFile:  file,
		Behaviour: Behaviour{Seed: 1, Reset: 0.1, ResetAfterWork: 0.2, Unavailable: 0.1},
		Ready:     func(url string) { fmt.Println(url) },
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// startChild starts a service in a process of its own.
func startChild(t *testing.T, book string) (url string, child *exec.Cmd) {
	t.Helper()
	child = exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+book)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the service did not say where it is: %v", err)
	}
	return strings.TrimSpace(line), child
}

// TestBookSurvivesKills kills the service again and again while orders are being
// charged, and finds each charged once.
func TestBookSurvivesKills(t *testing.T) {
	book := filepath.Join(t.TempDir(), "book")
	orders, _, err := ReadOrders(strings.NewReader(SampleOrders), "orders.csv")
	if err != nil {
		t.Fatal(err)
	}
	orders = orders[:40]
	url, child := startChild(t, book)
	kill := func() {
		t.Helper()
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it says that the process was killed
	}
	declined, unanswered := 0, 0
	for i, o := range orders {
		if i%10 == 9 { // in the middle of a request
			ctx, leave := context.WithCancel(t.Context())
			asked := make(chan error, 1)
			go func() { asked <- Post(ctx, url, Charge, "charge "+o.ID, o, nil) }()
			kill()
			leave()
			<-asked
			url, child = startChild(t, book)
		}
		err := errors.New("not asked yet")
		for err != nil && !retry.IsTerminal(err) {
			if err = Post(t.Context(), url, Charge, "charge "+o.ID, o, nil); err != nil {
				unanswered++
			}
		}
		if retry.IsTerminal(err) {
			declined++
		}
	}
	kill()
	b := openBook(t, book)
	got := b.Totals()
	if got.Effects[Charge] != len(orders)-declined || len(got.Repeated()) > 0 {
		t.Errorf("%d charges, %d declined of %d orders; repeated: %v", got.Effects[Charge], declined, len(orders), got.Repeated())
	}
	if got.LostAnswers == 0 || got.Duplicates == 0 || unanswered == 0 {
		t.Errorf("%d lost answers, %d duplicates: nothing went wrong, so nothing is proved", got.LostAnswers, got.Duplicates)
	}
}

func TestServeStopsWithItsContextAndCutsOffWhatHangs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "book")
	ctx, stop := context.WithCancel(t.Context())
	ready := make(chan string, 1)
	stopped := make(chan error, 1)
	go func() {
		stopped <- Serve(ctx, ServeOptions{BookFile: file, Behaviour: Behaviour{Hang: 1, MaxHang: time.Hour}, Ready: func(url string) { ready <- url }})
	}()
	url := <-ready
	answered := make(chan error, 1)
	go func() { answered <- Post(t.Context(), url, Charge, "k", goodOrder("A"), nil) }()
	for {
		totals, err := ReadBook(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if totals.Answers[AnswerHang] == 1 {
			break
		}
	}
	stop()
	if err := <-stopped; err != nil {
		t.Errorf("Serve returns %v; want nil", err)
	}
	if _, ok := errors.AsType[*NetworkError](<-answered); !ok {
		t.Error("the hanging request was not cut off")
	}
	if got := openBook(t, file).Totals(); got.Answers[AnswerHang] != 1 {
		t.Errorf("the book holds %+v", got)
	}
}

func TestServeSaysWhyItCannotRun(t *testing.T) {
	novel := filepath.Join(t.TempDir(), "novel")
	if err := os.WriteFile(novel, []byte("It was a dark and stormy night.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, opt := range map[string]ServeOptions{
		"no entry of a book": {BookFile: novel},
		"Slow is 2":          {Behaviour: Behaviour{Slow: 2, SlowBy: 1}},
		"cannot listen":      {Addr: "127.0.0.1:99999"},
	} {
		if err := Serve(t.Context(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error with %q", err, want)
		}
	}
}
