package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
)

// TestP5_ThePageOfATorture: what was done, what was found, and the command to repeat it; the
// exit code says whether anything was found.
func TestP5_ThePageOfATorture(t *testing.T) {
	work := witness.Tally{
		Runs: 1618, Activities: 8144, Signals: 885, Timers: 701, Gates: 383, Queue: 1, Steps: 478, Cancels: 95,
		Attempts: map[string]int{"lost": 288, "drained": 19, "failed": 1002, "completed": 6835},
	}
	clean := &torture.Report{
		Seed: 17, Asked: "3m0s", Seconds: 180.2, Work: work, Still: torture.Still{Seconds: 3.81, At: 95.2, Amid: []string{"kill -9 of node 1.2, process 88", "the server is in trouble"}},
		Hurt: torture.Troubles{Kills: 82, Freezes: 45, Leaves: 24, Deploys: 59, Cuts: 30, Delays: 9, LostAnswers: 70, Restarts: 1},
	}
	dirty := *clean
	dirty.Interrupted, dirty.Lost, dirty.Doubled, dirty.Wrong = true, 2, 1, 120
	dirty.Findings = []witness.Finding{
		{Kind: witness.Lost, What: "sequence 1.2: attempt 3/4/1 of act is on record as completed and not in the book"},
		{Kind: witness.Doubled, What: "entry 7: attempt 3/4/1 ran twice"},
		{Kind: witness.Wrong, What: "node 1.2 says: panic: \x1b[31mred\nand more"},
	}
	said := ""
	for _, r := range []*torture.Report{clean, &dirty} {
		scr, _, output := printer(time.Now())
		err := tellTorture(scr, tortured{Report: r, Database: "postgres://me@db/shop", Own: "postgres://me@db/shop?schema=perdure_torture_1", Kept: r == &dirty, Again: "perdure torture --db postgres://me@db/shop --for 3m --seed 17"})
		failed, is := errors.AsType[*Error](err)
		if is != (r == &dirty) || is && failed.Code != exitAttention {
			t.Errorf("a torture that found %d things ends with %v", len(r.Findings), err)
		}
		said += output() + strings.Repeat("=", 80) + "\n"
	}
	goldenfile.Compare(t, filepath.Join("testdata", "words", "torture.txt"), said)
}
