package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/witness"
)

// Troubles are what was done, by how often.
type Troubles struct {
	Kills       int `json:"kills"` // kill -9
	Freezes     int `json:"freezes"`
	Leaves      int `json:"leaves"` // in good order
	Deploys     int `json:"deploys"`
	Rivals      int `json:"rivals,omitempty"` // second processes that were refused the file
	Cuts        int `json:"network_cuts"`     // connections cut, refused, or mute in one or both directions
	Delays      int `json:"network_delays"`
	LostAnswers int `json:"lost_answers"` // of COMMIT
	Restarts    int `json:"server_troubles"`
}

// trouble is one kind of what is done to a member.
type trouble struct {
	weight int
	begin  func(*member)
}

// hurt does one thing after the other until the time is up, or nothing moves any more. However
// short the time is, a process is killed and the server is hurt.
func (t *torture) hurt(ctx context.Context) error {
	defer t.countLosses()
	kinds := t.kinds()
	var lots []trouble
	for _, k := range kinds {
		for range k.weight {
			lots = append(lots, k)
		}
	}
	end := t.began.Add(t.For)
	var nextServer time.Time
	for n := 1; (n <= 2 || time.Now().Before(end)) && ctx.Err() == nil; n++ {
		if t.Hurt != nil && n > 1 && time.Now().After(nextServer) {
			if err := t.hurtServer(ctx); err != nil {
				return err
			}
			nextServer = time.Now().Add(15*time.Second + time.Duration(t.fate.Int64N(int64(15*time.Second))))
		} else {
			lot := lots[t.random.IntN(len(lots))]
			if n == 1 {
				lot.begin = t.kill
			}
			lot.begin(t.members[t.random.IntN(len(t.members))])
		}
		if n%10 == 0 {
			t.relieve()
			if t.awaitProgress(ctx, 10); t.stuck {
				return nil
			}
		}
		t.sleep(ctx, t.moment(t.place.pace()))
	}
	return nil
}

// kinds are what is done on this machine to this place.
func (t *torture) kinds() []trouble {
	all := []trouble{{4, t.kill}, {1, t.goAway}}
	if CanFreeze {
		all = append(all, trouble{2, t.freeze})
	}
	if !t.place.shared() {
		return append(all, trouble{1, t.rival})
	}
	return append(all,
		trouble{1, t.onNetwork("is cut", func(n *Network) { n.Reset() }, cutting)},
		trouble{1, t.onNetwork("lets nothing pass", (*Network).Mute, cutting)},
		trouble{1, t.onNetwork("brings no answers", (*Network).Deafen, cutting)},
		trouble{1, t.onNetwork("accepts nothing", (*Network).Refuse, cutting)},
		trouble{1, t.onNetwork("is slow", func(n *Network) { n.Delay(time.Duration(1+rand.IntN(50)) * time.Millisecond) }, func(d *Troubles) { d.Delays++ })},
		trouble{3, t.onNetwork("loses answers of COMMIT", t.losing, func(*Troubles) {})},
	)
}

func cutting(d *Troubles) { d.Cuts++ }

// moment is a random time, shorter than the given one.
func (t *torture) moment(shorter time.Duration) time.Duration {
	return time.Duration(t.random.Int64N(int64(shorter)))
}

func (t *torture) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// kill is kill -9 of a process that has not ended by itself, and its next life.
func (t *torture) kill(m *member) {
	t.say("kill -9 of %s, process %d", m.Label, m.PID())
	t.count(func(d *Troubles) { d.Kills++ })
	t.bury(m)
	t.must(t.bear(m))
}

// goAway lets a process leave in good order, and starts its next life.
func (t *torture) goAway(m *member) {
	t.relieveOne(m)
	t.say("%s leaves in good order", m.Label)
	t.count(func(d *Troubles) { d.Leaves++ })
	select {
	case <-m.Dead:
		t.bury(m)
	default:
		if err := t.leaveOne(m); err != nil && t.Hurt == nil { // without the database it may end with an error
			t.find(witness.Wrong, "%s left with %v", m.Label, err)
		}
		t.listen(m)
	}
	t.must(t.bear(m))
}

// freeze makes a process stand still, for less than its lease or for longer: until it is relieved
// or killed, or its turn comes again.
func (t *torture) freeze(m *member) {
	if m.frozen {
		t.must(m.Thaw())
		m.frozen = false
		return
	}
	t.say("%s stands still", m.Label)
	t.count(func(d *Troubles) { d.Freezes++ })
	t.must(m.Freeze())
	m.frozen = true
	if !t.place.shared() || t.random.IntN(2) == 0 {
		time.Sleep(t.moment(2 * lease))
		t.must(m.Thaw())
		m.frozen = false
	}
}

// rival starts a second process on the file while the first one stands still: it must be refused.
func (t *torture) rival(m *member) {
	t.relieveOne(m)
	if CanFreeze && t.random.IntN(2) == 0 {
		t.must(m.Freeze())
		m.frozen = true
		defer t.relieveOne(m)
	}
	t.say("a second process wants the file of %s", m.Label)
	t.count(func(d *Troubles) { d.Rivals++ })
	t.lives++
	p, err := Spawn(fmt.Sprint("rival ", t.lives), t.command(), IsComplaint)
	if err != nil {
		t.must(err)
		return
	}
	defer p.Kill()
	told := make(chan error, 1)
	go func() {
		told <- p.Open(Setup{Book: t.book.Address(), Database: t.place.Database, Postings: t.place.Postings, Queue: 4})
	}()
	select {
	case err := <-told:
		if !refused(err) || !strings.Contains(err.Error(), "serve") {
			t.find(witness.Wrong, "a second process was not refused the file that %s serves: %v", m.Label, err)
		}
	case <-time.After(2 * lease): // it waits, as for a writer that stands still
	}
}

// onNetwork is a trouble of the networks of a process, which relieve ends.
func (t *torture) onNetwork(what string, begin func(*Network), count func(*Troubles)) func(*member) {
	return func(m *member) {
		t.say("the network of %s %s", m.Label, what)
		t.count(count)
		for _, n := range m.networks {
			begin(n)
		}
	}
}

// losing loses one of six answers of COMMIT.
func (t *torture) losing(n *Network) {
	lots := rand.New(rand.NewPCG(t.Seed, uint64(t.lives)))
	n.Lose(func() Lot { return Lot(lots.IntN(12) / 10) })
}

// countLosses sums up what the networks lost.
func (t *torture) countLosses() {
	lost := 0
	for _, m := range t.members {
		for _, n := range m.networks {
			lost += n.Losses()
		}
	}
	t.count(func(d *Troubles) { d.LostAnswers = lost })
}

// hurtServer runs the command of whoever owns the server.
func (t *torture) hurtServer(ctx context.Context) error {
	t.say("the server is in trouble")
	t.count(func(d *Troubles) { d.Restarts++ })
	limited, cancel := context.WithTimeout(ctx, 5*patience)
	defer cancel()
	if err := t.Hurt(limited); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// awaitProgress waits until a number of further runs have ended. If they do not, all is stuck.
func (t *torture) awaitProgress(ctx context.Context, runs int) {
	before := t.load.Finished()
	for end := time.Now().Add(patience); t.load.Finished() < before+runs && ctx.Err() == nil; t.sleep(ctx, 20*time.Millisecond) {
		if time.Now().After(end) {
			t.find(witness.Lost, "no more than %d runs have ended within %s after all troubles", t.load.Finished()-before, patience)
			t.stuck = true
			return
		}
	}
}
