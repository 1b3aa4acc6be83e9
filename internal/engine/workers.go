package engine

import "sync"

// workers runs short tasks on goroutines that are kept for a while: a new
// goroutine has to grow its stack through workflow code, JSON and SQL each time,
// which was a fifth of a step's work. There is no limit: a task that finds no
// idle worker gets a new one.
type workers struct {
	mu   sync.Mutex
	idle []chan func()
	done bool
	all  sync.WaitGroup
}

// maxIdle is how many idle workers are kept.
const maxIdle = 256

// run executes the task on some worker, soon.
func (w *workers) run(task func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		ch := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		ch <- task
		return
	}
	w.mu.Unlock()
	w.all.Go(func() { w.work(task) })
}

// work runs tasks until there is nothing to do and enough others wait for more.
func (w *workers) work(task func()) {
	ch := make(chan func(), 1)
	for ok := true; ok; task, ok = <-ch {
		task()
		w.mu.Lock()
		if w.done || len(w.idle) >= maxIdle {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, ch)
		w.mu.Unlock()
	}
}

// stop lets the workers end when their tasks have.
func (w *workers) stop() {
	w.mu.Lock()
	w.done = true
	for _, ch := range w.idle {
		close(ch)
	}
	w.idle = nil
	w.mu.Unlock()
}

// wait waits, after stop, until the last task has ended.
func (w *workers) wait() { w.all.Wait() }
