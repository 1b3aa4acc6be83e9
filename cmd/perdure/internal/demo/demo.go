package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
)

// Options say what to show.
type Options struct {
	Orders int
	Kills  int    // how often a worker is killed
	Dir    string // where everything is kept
	Fresh  bool   // forget what is there

	Database database.Name // on a PostgreSQL server; else the demo has a file in Dir
	Workers  int           // processes side by side; only one can serve a file

	Command  string        // how the user calls this program
	Out      io.Writer     // for the progress
	Terminal term.Terminal // what Out is
}

// ErrInterrupted says that the demo was stopped before its end; it can continue.
var ErrInterrupted = errors.New("the demo was interrupted")

// Error says that the demo cannot continue, and what to do about it.
type Error struct{ What, Hint string }

func (e *Error) Error() string { return e.What }

// demo is a demo in progress.
type demo struct {
	opt     Options
	dir     directory
	orders  []shop.Order
	state   *state
	db      database.Name // where its runs are
	engine  *perdure.Engine
	service *shop.Service
	screen  screen
	began   time.Time
	before  time.Duration // at work in earlier starts
}

// Run runs the demo and returns its report, which may say that something does not
// hold. If ctx ends first the error is ErrInterrupted, and another Run continues.
func Run(ctx context.Context, opt Options) (*Report, error) {
	// Before an old demo is deleted, it must be known that the new one can begin.
	if err := opt.Database.Reach(ctx); err != nil {
		return nil, err
	}
	d := &demo{opt: opt, dir: directory(opt.Dir), orders: shop.Orders(opt.Orders), began: time.Now()}
	d.screen.Panel = term.Panel{Out: opt.Out, Terminal: opt.Terminal}
	var release func()
	var err error
	if d.state, release, err = d.dir.open(opt); err != nil {
		return nil, err
	}
	defer release()
	d.before, d.db = d.state.Active, d.dir.database(d.state, opt.Database)
	if err := d.stillThere(ctx); err != nil {
		return nil, err
	}
	d.engine, err = perdure.Open(ctx, d.db.Opener(), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	defer d.engine.Close()
	book, err := shop.OpenBook(d.dir.file(bookName))
	if err != nil {
		return nil, err
	}
	defer book.Close()
	d.service = &shop.Service{Book: book, Behaviour: shop.BadDay}
	report, err := d.play(ctx)
	if ctx.Err() != nil {
		err = ErrInterrupted
		d.screen.Say("\nStopped: %d of %s are done. The same command continues from here:\n\n  %s demo%s",
			d.progress().done(), human.Plural(opt.Orders, "order", "orders"), opt.Command, d.flags())
	}
	return report, err
}

// play fulfils the orders that are not done yet, and reviews all.
func (d *demo) play(ctx context.Context) (*Report, error) {
	if d.state.Finished {
		d.screen.Say("This demo is finished already, and its result is below. To see it again from\nthe start: %s demo --fresh%s", d.opt.Command, d.flags())
		return d.review(ctx)
	}
	d.introduce()
	err := d.work(ctx)
	d.screen.Clear()
	d.state.Active = d.elapsed()
	if err = errors.Join(err, d.dir.save(d.state), d.screen.Err); err != nil {
		return nil, err
	}
	return d.review(ctx)
}

// work lets workers fulfil the orders until one of them finds that all are done, and
// kills some on the way.
func (d *demo) work(ctx context.Context) error {
	url, stop, err := d.service.Listen()
	if err != nil {
		return err
	}
	defer stop()
	c := &crew{demo: d, url: url, workers: make([]*worker, d.opt.Workers), ended: make(chan *worker, d.opt.Workers)}
	defer c.end()
	for place := range c.workers {
		if err := c.start(place); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for d.screen.Err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case w := <-c.ended:
			if !w.killed() {
				return w.failure() // nil if all orders are done
			}
			if err := d.survive(c, w); err != nil {
				return err
			}
		case <-ticker.C:
			p := d.progress()
			p.look(ctx, d.engine)
			p.workers = c.pids()
			d.screen.show(p, time.Now())
			if d.killDue(p) {
				c.kill(p)
			}
		}
	}
	return nil
}

// killDue reports whether to kill a worker now: at even distances on the way to the
// end, and when something is in flight.
func (d *demo) killDue(p progress) bool {
	all := len(d.orders) * len(shop.Steps)
	return p.kills < d.opt.Kills && p.steps*(d.opt.Kills+1) >= all*(p.kills+1) && p.running() >= max(1, d.slots()*d.opt.Workers/4)
}

// survive counts the death of a worker, and starts another one in its place.
func (d *demo) survive(c *crew, w *worker) error {
	d.screen.news(d.elapsed(), term.Painted{Text: cmp.Or(w.killedBy, "kill of "+w.called()+" from outside"), Colour: term.Busy})
	d.state.Kills++
	d.state.Active = d.elapsed()
	if err := d.dir.save(d.state); err != nil {
		return err
	}
	if err := c.start(w.place); err != nil {
		return err
	}
	d.screen.news(d.elapsed(), term.Painted{Text: fmt.Sprintf("%s is started again, process %d", w.called(), c.workers[w.place].cmd.Process.Pid)})
	return nil
}

// elapsed is how long the demo has been at work, over all starts.
func (d *demo) elapsed() time.Duration { return d.before + time.Since(d.began) }
