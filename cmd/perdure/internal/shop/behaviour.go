package shop

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Behaviour says how a [Service] misbehaves. The zero Behaviour does not: every
// request is answered at once.
//
// The rates are probabilities from 0 to 1 of what happens to one request; at
// most one of the first five does, so together they must not exceed 1.
type Behaviour struct {
	Seed uint64 // with the number of a request it decides its fate

	RateLimited    float64 // 429 with Retry-After, as seconds or as a date
	Unavailable    float64 // 503
	Reset          float64 // connection reset before the work is done
	ResetAfterWork float64 // connection reset after it: the client cannot know
	Hang           float64 // no answer; one half of these after the work is done

	Slow    float64       // answered late, whatever the answer
	SlowBy  time.Duration // at most so much later
	Latency time.Duration // what any answer takes at most; zero is none
	MaxHang time.Duration // when a hanging request ends although the client waits; zero is a minute

	Capacity int // requests in a second; those above get 429. Zero is no limit.

	// The outage: nothing works from OutageAfter the first request on, for
	// OutageFor; half of the requests get 503, half are reset. The first request
	// is that in the book, so a service that is started again does not repeat its
	// outage. Zero OutageFor is none.
	OutageAfter time.Duration
	OutageFor   time.Duration
}

// BadDay is the behaviour of the demo: about one request in five fails, the
// service has a capacity, and after six seconds it is away for three.
func BadDay(seed uint64) Behaviour {
	return Behaviour{
		Seed:           seed,
		RateLimited:    0.05,
		Unavailable:    0.06,
		Reset:          0.03,
		ResetAfterWork: 0.03,
		Hang:           0.01,
		Slow:           0.08,
		SlowBy:         800 * time.Millisecond,
		Latency:        40 * time.Millisecond,
		Capacity:       150,
		OutageAfter:    6 * time.Second,
		OutageFor:      3 * time.Second,
	}
}

// Validate reports every field that makes no sense.
func (b Behaviour) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	rate := func(name string, p float64) {
		if !(p >= 0 && p <= 1) { // NaN too
			add("%s is %v; it must be a probability from 0 to 1.", name, p)
		}
	}
	rate("RateLimited", b.RateLimited)
	rate("Unavailable", b.Unavailable)
	rate("Reset", b.Reset)
	rate("ResetAfterWork", b.ResetAfterWork)
	rate("Hang", b.Hang)
	rate("Slow", b.Slow)
	const rounding = 1e-9
	if sum := b.RateLimited + b.Unavailable + b.Reset + b.ResetAfterWork + b.Hang; sum > 1+rounding {
		add("RateLimited, Unavailable, Reset, ResetAfterWork and Hang are together %v; they must not exceed 1.", sum)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"SlowBy", b.SlowBy}, {"Latency", b.Latency}, {"MaxHang", b.MaxHang}, {"OutageAfter", b.OutageAfter}, {"OutageFor", b.OutageFor}} {
		if d.value < 0 {
			add("%s is %s; it must not be negative.", d.name, d.value)
		}
	}
	if b.Slow > 0 && b.SlowBy == 0 {
		add("Slow is %v, but SlowBy is 0: slow answers would not be slow.", b.Slow)
	}
	if b.Capacity < 0 {
		add("Capacity is %d; it must not be negative.", b.Capacity)
	}
	return errors.Join(faults...)
}

// fate is what happens to one request.
type fate struct {
	answer    Answer // AnswerOK if the work is done and answered
	works     bool   // the work is done, whatever the answer
	delay     time.Duration
	wait      time.Duration // for a 429: what Retry-After asks for
	waitAsDay bool          // Retry-After is a date, not seconds
}

// fate decides about the request with this number. It draws the same numbers in
// the same order for every request, so that a changed rate changes as few fates
// as it can.
func (b Behaviour) fate(number int64) fate {
	r := rand.New(rand.NewPCG(b.Seed, uint64(number)))
	kind, slow := r.Float64(), r.Float64()
	late, usual := r.Float64(), r.Float64()
	works, date, seconds := r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(3)

	f := fate{answer: AnswerOK, works: true, delay: time.Duration(usual * float64(b.Latency))}
	if slow < b.Slow {
		f.delay += time.Duration(late * float64(b.SlowBy))
	}
	for _, possible := range []struct {
		rate float64
		fate fate
	}{
		{b.RateLimited, fate{answer: AnswerRateLimited, wait: time.Duration(1+seconds/2) * time.Second, waitAsDay: date}},
		{b.Unavailable, fate{answer: AnswerUnavailable}},
		{b.Reset, fate{answer: AnswerReset}},
		{b.ResetAfterWork, fate{answer: AnswerReset, works: true}},
		{b.Hang, fate{answer: AnswerHang, works: works}},
	} {
		if kind < possible.rate {
			possible.fate.delay = f.delay
			return possible.fate
		}
		kind -= possible.rate
	}
	return f
}

func (b Behaviour) maxHang() time.Duration {
	if b.MaxHang == 0 {
		return time.Minute
	}
	return b.MaxHang
}
