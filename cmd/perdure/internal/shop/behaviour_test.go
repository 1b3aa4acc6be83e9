package shop

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestFateFollowsFromSeedAndNumber(t *testing.T) {
	a, b, other := BadDay(1), BadDay(1), BadDay(2)
	differ := 0
	for n := int64(1); n <= 1000; n++ {
		if a.fate(n) != b.fate(n) {
			t.Fatalf("request %d has two fates", n)
		}
		if a.fate(n) != other.fate(n) {
			differ++
		}
	}
	if differ < 900 {
		t.Errorf("another seed changes only %d of 1000 fates", differ)
	}
}

func TestFatesComeAsOftenAsTheirRates(t *testing.T) {
	b := Behaviour{Seed: 7, RateLimited: 0.1, Unavailable: 0.2, Reset: 0.05, ResetAfterWork: 0.15, Hang: 0.1,
		Slow: 0.25, SlowBy: time.Second}
	const requests = 20_000
	count := map[string]int{}
	for n := int64(1); n <= requests; n++ {
		f := b.fate(n)
		name := string(f.answer)
		if f.works && f.answer != AnswerOK {
			name += " after work"
		}
		count[name]++
		if f.delay > 0 {
			count["slow"]++
		}
		if f.answer == AnswerRateLimited {
			if f.wait < time.Second || f.wait > 2*time.Second {
				t.Fatalf("Retry-After of %s", f.wait)
			}
			if f.waitAsDay {
				count["date"]++
			}
		}
	}
	for name, want := range map[string]float64{
		"ok": 0.4, "rate_limited": 0.1, "unavailable": 0.2, "reset": 0.05, "reset after work": 0.15,
		"hang": 0.05, "hang after work": 0.05, "slow": 0.25, "date": 0.1 / 3,
	} {
		if got := float64(count[name]) / requests; math.Abs(got-want) > 0.01 {
			t.Errorf("%s: %.3f of the requests; want %.3f", name, got, want)
		}
	}
}

func TestZeroBehaviourBehaves(t *testing.T) {
	var b Behaviour
	for n := int64(1); n <= 1000; n++ {
		if f := b.fate(n); f != (fate{answer: AnswerOK, works: true}) {
			t.Fatalf("request %d: %+v", n, f)
		}
	}
	if err := BadDay(3).Validate(); err != nil {
		t.Error(err)
	}
}

func TestBehaviourIsValidated(t *testing.T) {
	err := Behaviour{
		RateLimited: -0.1, Unavailable: 1.5, Hang: math.NaN(), Slow: 0.5,
		Latency: -1, OutageFor: -1, Capacity: -1,
	}.Validate()
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{"RateLimited is -0.1", "Unavailable is 1.5", "Hang is NaN", "SlowBy is 0", "Latency is", "OutageFor is", "Capacity is -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if err := (Behaviour{Reset: 0.6, Hang: 0.6}).Validate(); err == nil || !strings.Contains(err.Error(), "1.2") {
		t.Errorf("rates above 1 together give %v", err)
	}
	if _, err := NewService(nil, Behaviour{Slow: 2}); err == nil {
		t.Error("a service takes an invalid behaviour")
	}
}
