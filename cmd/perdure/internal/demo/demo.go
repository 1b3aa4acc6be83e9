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
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/store/sqlite"
)

// Options say what to show.
type Options struct {
	Input string // order file; empty is the one that comes along
	Dir   string // where everything is kept
	Fresh bool   // forget what is there
	Kills int    // how often the worker is killed

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
		screen: screen{out: opt.Out, term: opt.Terminal}, statuses: map[string]string{},
	}
	var l *lock
	d.state, l, err = d.dir.prepare(in, opt.Fresh)
	if err != nil {
		return nil, err
	}
	defer l.release()
	d.before = d.state.Active
	d.engine, err = perdure.Open(ctx, sqlite.File(d.dir.database()), perdure.Logger(slog.New(slog.DiscardHandler)))
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
	if err = errors.Join(err, d.dir.save(d.state), d.screen.err); err != nil {
		return nil, err
	}
	return d.review(ctx)
}

// recall finds out how far an earlier start of the demo came.
func (d *demo) recall(ctx context.Context) error {
	d.progress = progress{orders: len(d.input.orders), kills: d.state.Kills, database: d.dir.database()}
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

// run starts the service and lets workers do the orders until all are done.
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
		steps: len(d.input.orders) * len(shop.Kinds), slots: slots(len(d.input.orders)),
	}
	for again := false; ; again = true {
		finished, err := d.oneWorker(ctx, plan, looks, again)
		if err != nil || finished {
			d.screen.clear()
			return err
		}
	}
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
	d.service, err = spawn(d.executable, "service", d.dir.file(serviceLog), "demo", "service", "--dir", string(d.dir))
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

// oneWorker starts a worker and follows it until it has done all orders, which is
// finished, or has been killed.
func (d *demo) oneWorker(ctx context.Context, plan *killPlan, looks <-chan look, again bool) (finished bool, err error) {
	base := d.progress.steps
	w, err := spawn(d.executable, "worker", d.dir.file(workerLog), "demo", "worker", "--dir", string(d.dir), "--service", d.url)
	if err != nil {
		return false, err
	}
	defer w.kill()
	d.progress.worker, d.progress.running = w.pid(), 0
	defer func() { d.progress.worker, d.progress.running = 0, 0 }()
	message := ""
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for steps := 0; ; {
		d.draw()
		if d.screen.err != nil {
			w.end(5 * time.Second)
			return false, d.screen.err
		}
		select {
		case r, ok := <-w.reports:
			if !ok {
				<-w.exited
				return finished, d.workerEnded(w, finished, message)
			}
			switch r.Event {
			case eventReady:
				if again {
					d.screen.news(d.elapsed(), "a new worker goes on, process %d", w.pid())
				}
			case eventProgress:
				d.progress.running, steps = r.Running, r.Steps
			case eventOrder:
				d.orderDone(r)
			case eventFinished:
				finished = true
			case eventFailed:
				message = r.Message
			}
		case l := <-looks:
			d.progress.see(l)
		case <-ticker.C:
		case <-d.service.exited:
			w.end(5 * time.Second)
			return false, d.service.failure("")
		case <-ctx.Done():
			w.end(5 * time.Second)
			return false, ErrInterrupted
		}
		if !finished && plan.now(base+steps, d.progress.running, time.Now()) {
			w.kill()
			plan.killed()
			return false, d.survive(fmt.Sprintf("kill -9 of the worker: %s in flight, %s waiting to retry",
				term.Plural(d.progress.running, "request", "requests"), term.Plural(d.progress.waiting, "step", "steps")))
		}
	}
}

// workerEnded judges the end of a worker that the demo did not kill.
func (d *demo) workerEnded(w *child, finished bool, message string) error {
	switch {
	case finished:
		return nil
	case w.wasKilled():
		return d.survive("somebody else killed the worker")
	}
	return w.failure(message)
}

// survive counts a death of the worker.
func (d *demo) survive(news string) error {
	d.state.Kills++
	d.progress.kills = d.state.Kills
	d.screen.news(d.elapsed(), "%s", d.screen.term.Paint(news, term.Busy))
	d.state.Active = d.elapsed()
	return d.dir.save(d.state)
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
