package workers

import "sync"

// Pool runs tasks. It has no limit: a task that finds no idle worker gets a new one.
// The zero Pool is ready for use; it is safe for concurrent use.
type Pool struct {
	mu   sync.Mutex
	idle []chan func()
	done bool
	all  sync.WaitGroup
}

// maxIdle is how many idle workers are kept.
const maxIdle = 256

// Run executes the task on a worker. It does not block.
func (p *Pool) Run(task func()) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		ch := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		ch <- task
		return
	}
	p.mu.Unlock()
	p.all.Go(func() { p.work(task) })
}

// work runs tasks until the pool is stopped or has enough idle workers.
func (p *Pool) work(task func()) {
	ch := make(chan func(), 1)
	for ok := true; ok; task, ok = <-ch {
		task()
		p.mu.Lock()
		if p.done || len(p.idle) >= maxIdle {
			p.mu.Unlock()
			return
		}
		p.idle = append(p.idle, ch)
		p.mu.Unlock()
	}
}

// Stop makes the workers end after their current tasks. It does not wait for them.
func (p *Pool) Stop() {
	p.mu.Lock()
	p.done = true
	for _, ch := range p.idle {
		close(ch)
	}
	p.idle = nil
	p.mu.Unlock()
}

// Wait blocks, after Stop, until the last task has ended.
func (p *Pool) Wait() { p.all.Wait() }
