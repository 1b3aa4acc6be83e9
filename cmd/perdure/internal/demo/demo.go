package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
)

// Options say what to show.
type Options struct {
	Input string // order file; empty is the one that comes along
	Dir   string // where everything is kept
	Fresh bool   // forget what is there
	Kills int    // how often a worker is killed

	Database database.Name // on a PostgreSQL server; else the demo has a file in Dir
	Workers  int           // processes side by side; only one can serve a file

	Command  string        // how the user calls this program, for what is to be done next
	Out      io.Writer     // for the progress
	Terminal term.Terminal // what Out is
}

// ErrInterrupted says that the demo was stopped before its end; it can go on.
var ErrInterrupted = errors.New("the demo was interrupted")

// demo is one that is at work.
type demo struct {
	opt        Options
	dir        directory
	executable string
	input      input
	database   database.Name // where its runs are
	state      *state
	began      time.Time // of this start
	before     time.Duration
	screen     screen
	engine     *perdure.Engine // a client
	url        string          // of the service
	service    *child
	progress   progress
	statuses   map[string]string // of the orders that are done
}

// Run runs the demo and returns its report, which may say that something does not
// hold. If ctx ends first the error is ErrInterrupted, and another Run goes on.
func Run(ctx context.Context, opt Options) (*Report, error) {
	in, err := readInput(opt.Input)
	if err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the demo cannot find its own program, which it starts again for its other processes: %w", err)
	}
	d := &demo{
		opt: opt, dir: directory(opt.Dir), executable: executable, input: in, began: time.Now(),
		screen: screen{lines: term.Panel{Out: opt.Out}, term: opt.Terminal}, statuses: map[string]string{},
	}
	// Before an old demo is deleted it should be known that the new one can begin.
	if err := opt.Database.Reach(ctx); err != nil {
		return nil, err
	}
	var l *lock
	d.state, l, err = d.dir.prepare(in, opt.Database, opt.Fresh)
	if err != nil {
		return nil, err
	}
	defer l.release()
	d.before = d.state.Active
	d.database = d.dir.place(d.state, opt.Database)
	if err := d.stillThere(ctx); err != nil {
		return nil, err
	}
	d.engine, err = perdure.Open(ctx, d.database.Opener(), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	defer d.engine.Close()
	report, err := d.play(ctx)
	if errors.Is(err, ErrInterrupted) {
		d.screen.say("\nStopped in good order: %d of %s are done.\nThe same command goes on from here:\n\n  %s demo%s",
			d.progress.done(), term.Plural(len(in.orders), "order", "orders"), opt.Command, d.flags())
	}
	return report, err
}

// play lets everything happen that has not happened yet, and judges it.
func (d *demo) play(ctx context.Context) (*Report, error) {
	if err := d.recall(ctx); err != nil {
		return nil, d.stopped(ctx, err)
	}
	if d.state.Finished {
		d.screen.say("This demo is finished already, and its result is below. To see it again from\nthe start: %s demo --fresh%s", d.opt.Command, d.flags())
		return d.review(ctx)
	}
	d.introduce()
	err := d.run(ctx)
	d.state.Active = d.elapsed()
	if err = errors.Join(err, d.dir.save(d.state), d.screen.lines.Err); err != nil {
		return nil, err
	}
	return d.review(ctx)
}

// recall finds out how far an earlier start of the demo came.
func (d *demo) recall(ctx context.Context) error {
	d.progress = progress{orders: len(d.input.orders), kills: d.state.Kills, database: d.database.String()}
	if d.state.Active == 0 {
		return nil
	}
	verdicts, err := d.verdicts(ctx)
	for _, v := range verdicts {
		if v.outcome.Status != "" {
			d.orderDone(report{Order: v.order.ID, Status: v.outcome.Status})
		}
	}
	return err
}

// run starts the service and lets a crew do the orders until all are done.
func (d *demo) run(ctx context.Context) error {
	if err := d.startService(ctx); err != nil {
		return err
	}
	defer d.service.end(5 * time.Second)
	sums, err := shop.ReadSums(ctx, d.url)
	if err != nil {
		return d.stopped(ctx, err)
	}
	d.progress.see(look{sums: sums})

	watching, stop := context.WithCancel(ctx)
	looks, over := make(chan look), make(chan struct{})
	go func() {
		defer close(over)
		watch(watching, d.engine, d.url, looks)
	}()
	defer func() { stop(); <-over }()

	plan := &killPlan{
		kills: d.opt.Kills, done: min(d.state.Kills, d.opt.Kills),
		steps: len(d.input.orders) * len(shop.Kinds), slots: d.slots() * d.opt.Workers,
	}
	c := newCrew(d.opt.Workers, d.spawnWorker)
	defer c.dismiss()
	err = d.work(ctx, c, plan, looks)
	d.screen.clear()
	return err
}

// stopped is the error of something that ctx may have ended.
func (d *demo) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return err
}

func (d *demo) startService(ctx context.Context) error {
	var err error
	d.service, err = spawn(d.executable, "service", d.dir.file(serviceLog), nil, "demo", "service", "--dir", string(d.dir))
	if err != nil {
		return err
	}
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	select {
	case r, ok := <-d.service.reports:
		if ok && r.Event == eventReady {
			d.url = r.URL
			return nil
		}
		d.service.end(time.Second)
		return d.service.failure(r.Message)
	case <-late.C:
		d.service.kill()
		return d.service.failure("it did not get ready within 20 seconds")
	case <-ctx.Done():
		d.service.kill()
		return ErrInterrupted
	}
}

// work lets a crew do the orders until all are done. Whoever of it dies is
// replaced.
func (d *demo) work(ctx context.Context, c *crew, plan *killPlan, looks <-chan look) error {
	const grace = 5 * time.Second
	base := d.progress.steps
	for _, h := range c.hands {
		if err := c.start(h); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		d.progress.workers, d.progress.running = c.pids(), c.running()
		d.draw()
		if d.screen.lines.Err != nil {
			c.end(grace)
			return d.screen.lines.Err
		}
		select {
		case t := <-c.news:
			finished, err := d.heed(c, t)
			if finished {
				c.end(grace)
			}
			if finished || err != nil {
				return err
			}
		case l := <-looks:
			d.progress.see(l)
		case <-ticker.C:
		case <-d.service.exited:
			c.end(grace)
			return d.service.failure("")
		case <-ctx.Done():
			c.end(grace)
			return ErrInterrupted
		}
		// What a worker did just before it died it may not have reported, but the
		// service has it in its book.
		if plan.now(max(base+c.steps(), d.progress.steps), c.running(), time.Now()) {
			if err := d.kill(c, c.victim()); err != nil {
				return err
			}
			plan.killed()
		}
	}
}

// heed takes notice of what a worker reports, or that it ended. All orders are done
// when one of them says so: each asks for all.
func (d *demo) heed(c *crew, t tiding) (finished bool, err error) {
	h := t.hand
	switch {
	case t.stale():
		return false, nil
	case t.ended && h.child.wasKilled():
		return false, d.survive(c, h, "somebody else killed "+d.called(h))
	case t.ended:
		return false, h.child.failure(h.message)
	}
	switch r := t.report; r.Event {
	case eventReady:
		if h.again {
			d.screen.news(d.elapsed(), "%s goes on, process %d", d.successor(h), h.child.pid())
		}
	case eventProgress:
		h.running, h.steps = r.Running, r.Steps
	case eventOrder:
		d.orderDone(r)
	case eventFinished:
		return true, nil
	case eventFailed:
		h.message = r.Message
	}
	return false, nil
}

// kill kills a worker as kill -9 does.
func (d *demo) kill(c *crew, h *hand) error {
	h.child.kill()
	return d.survive(c, h, fmt.Sprintf("kill -9 of %s: %s in flight, %s waiting to retry", d.called(h),
		term.Plural(h.running, "request", "requests"), term.Plural(d.progress.waiting, "step", "steps")))
}

// survive counts the death of a worker, and starts another one in its place.
func (d *demo) survive(c *crew, h *hand, news string) error {
	d.state.Kills++
	d.progress.kills = d.state.Kills
	d.screen.news(d.elapsed(), "%s", d.screen.term.Paint(news, term.Busy))
	d.state.Active = d.elapsed()
	if err := d.dir.save(d.state); err != nil {
		return err
	}
	return c.start(h)
}

// called is what the news call a worker, and successor the one that follows it.
func (d *demo) called(h *hand) string {
	if d.opt.Workers == 1 {
		return "the worker"
	}
	return h.name
}

func (d *demo) successor(h *hand) string {
	if d.opt.Workers == 1 {
		return "a new worker"
	}
	return h.name
}

// orderDone counts an order, once: workers tell of those that were done before
// them as well.
func (d *demo) orderDone(r report) {
	if _, known := d.statuses[r.Order]; known {
		return
	}
	d.statuses[r.Order] = r.Status
	switch r.Status {
	case Settled:
		d.progress.settled++
	case Declined:
		d.progress.declined++
	default:
		d.progress.failed++
	}
}

func (d *demo) draw() {
	d.progress.elapsed = d.elapsed()
	d.screen.show(d.progress, time.Now())
}

// elapsed is how long the demo has been at work, over all starts.
func (d *demo) elapsed() time.Duration { return d.before + time.Since(d.began) }
