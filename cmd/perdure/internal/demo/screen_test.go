package demo

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/goldenfile"
)

func someProgress(now time.Time) progress {
	return progress{
		orders: 300, settled: 118, declined: 9, steps: 812, requests: 1104, inFlight: map[string]int{"worker": 14}, waiting: 61,
		next: now.Add(400 * time.Millisecond), kills: 2, workers: []string{"4711"}, elapsed: 12300 * time.Millisecond,
	}
}

func TestProgressInAPipeIsALineASecond(t *testing.T) {
	now := time.Unix(1000, 0)
	var out bytes.Buffer
	s := screen{Panel: term.Panel{Out: &out}}
	for range 25 {
		s.show(someProgress(now), now)
		now = now.Add(100 * time.Millisecond)
	}
	s.news(13*time.Second, term.Painted{Text: "something happened"})
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("what is piped has escapes: %q", out.String())
	}
	goldenfile.Compare(t, filepath.Join("testdata", "progress-pipe.txt"), out.String())
}

func TestProgressOnATerminalIsRedrawnInPlace(t *testing.T) {
	now := time.Unix(1000, 0)
	var out bytes.Buffer
	s := screen{Panel: term.Panel{Out: &out, Terminal: term.Terminal{Moves: true}}}
	p := someProgress(now)
	s.show(p, now)
	p.workers, p.next = strings.Split(strings.Repeat("70001 ", 32), " "), time.Time{}
	s.news(13*time.Second, term.Painted{Text: "something happened"})
	s.show(p, now.Add(time.Second))
	s.Clear()
	goldenfile.Compare(t, filepath.Join("testdata", "progress-terminal.txt"), strings.ReplaceAll(out.String(), "\x1b", "ESC"))
	for line := range strings.SplitSeq(out.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("a line of the panel is wider than a terminal of 80 columns: %q", line)
		}
	}
}

func TestNothingIsWrittenAfterAWriteFailed(t *testing.T) {
	broken := errors.New("broken pipe")
	w := &failing{err: broken}
	s := screen{Panel: term.Panel{Out: w}}
	s.Say("one")
	s.Say("two")
	if !errors.Is(s.Err, broken) || w.calls != 1 {
		t.Errorf("%v after %d writes", s.Err, w.calls)
	}
}

type failing struct {
	err   error
	calls int
}

func (f *failing) Write([]byte) (int, error) {
	f.calls++
	return 0, f.err
}

func someReport() *Report {
	return &Report{
		Orders: 300, Settled: 293, Declined: 7, Violations: []string{}, Workers: 1, Crashes: 3, Seconds: 18.4, Database: "my demo/demo.db",
		Steps: 1186, Attempts: 3530, Lost: 37, Longest: "order-086", Most: 12,
		Reasons:  map[string]int{"server_delay": 1194, "succeeded": 1179, "backoff": 1113, "worker_lost": 37, "terminal": 7},
		Errors:   map[string]int{"HTTP429": 1194, "HTTPNetwork": 554, "HTTP503": 552, "HTTP402": 7, "Timeout": 7},
		Service:  ServiceReport{Requests: 3528, Charges: 293, Duplicates: 68, LostAnswers: 43, InOutage: 900},
		Outcomes: map[string]int{},
	}
}

func TestReportForAPerson(t *testing.T) {
	var out bytes.Buffer
	if err := someReport().Write(&out, term.Style{}, "perdure"); err != nil {
		t.Fatal(err)
	}
	goldenfile.Compare(t, filepath.Join("testdata", "report.txt"), out.String())
}

func TestReportOfADemoOnAServer(t *testing.T) {
	r := someReport()
	r.Workers, r.Database, r.hidesPassword = 2, "postgres://shop@db/shop?schema=perdure_demo_1234abcd", true
	r.removal = (&state{Server: "postgres://shop@db/shop", Schema: "perdure_demo_1234abcd"}).dropping()
	var out bytes.Buffer
	if err := r.Write(&out, term.Style{}, "perdure"); err != nil {
		t.Fatal(err)
	}
	goldenfile.Compare(t, filepath.Join("testdata", "report-server.txt"), out.String())
}

func TestReportThatDoesNotHoldSaysSoLoudly(t *testing.T) {
	r := someReport()
	r.Settled--
	for range 22 {
		r.Violations = append(r.Violations, "order-001: by the book of the service charge was done 2 times instead of 1")
	}
	var out bytes.Buffer
	if err := r.Write(&out, term.Style{}, "perdure"); err != nil {
		t.Fatal(err)
	}
	goldenfile.Compare(t, filepath.Join("testdata", "report-violated.txt"), out.String())
}

func TestEveryReasonAndErrorOfTheDemoIsExplained(t *testing.T) {
	r := someReport()
	for name := range r.Reasons {
		found := false
		for reason, text := range meaning {
			found = found || string(reason) == name && text != ""
		}
		if !found {
			t.Errorf("the reason %s is not explained", name)
		}
	}
	for name := range r.Errors {
		if errorMeaning[name] == "" {
			t.Errorf("the error type %s is not explained", name)
		}
	}
}

func TestFlagsNameTheDemoAgain(t *testing.T) {
	server, err := database.Parse("postgres://shop:secret@db/shop")
	if err != nil {
		t.Fatal(err)
	}
	for want, opt := range map[string]Options{
		"":                                   {Orders: DefaultOrders, Dir: DefaultDir, Kills: DefaultKills, Workers: 1},
		" --orders 20 --dir 'a b' --kills 5": {Orders: 20, Dir: "a b", Kills: 5, Workers: 1},
		" --db postgres://shop@db/shop":      {Orders: DefaultOrders, Dir: DefaultDir, Kills: DefaultKills, Database: server, Workers: 2},
		" --db postgres://shop@db/shop --workers 3": {Orders: DefaultOrders, Dir: DefaultDir, Kills: DefaultKills, Database: server, Workers: 3},
	} {
		d := demo{opt: opt}
		if got := d.flags(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
