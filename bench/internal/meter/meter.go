package meter

import (
	"context"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
)

// Spent is what work has cost between two moments.
type Spent struct {
	Wall      time.Duration
	CPU       time.Duration // of this process, load generator included
	Server    time.Duration // CPU of the database's own processes
	Written   int64         // bytes
	Allocs    int64         // objects on the heap
	Allocated int64         // their bytes
}

// CPUs is the CPU time of this process and of the database's own together.
func (s Spent) CPUs() time.Duration { return s.CPU + s.Server }

// Meter measures from its start on.
type Meter struct {
	db    place.Database
	begin Spent
	at    time.Time
}

// Start begins to measure work on a database.
func Start(ctx context.Context, db place.Database) (*Meter, error) {
	begin, err := read(ctx, db)
	return &Meter{db: db, begin: begin, at: time.Now()}, err
}

// Stop returns what has been spent since Start. It can be called again.
func (m *Meter) Stop(ctx context.Context) (Spent, error) {
	wall := time.Since(m.at)
	end, err := read(ctx, m.db)
	return Spent{
		Wall:      wall,
		CPU:       end.CPU - m.begin.CPU,
		Server:    end.Server - m.begin.Server,
		Written:   end.Written - m.begin.Written,
		Allocs:    end.Allocs - m.begin.Allocs,
		Allocated: end.Allocated - m.begin.Allocated,
	}, err
}

func read(ctx context.Context, db place.Database) (Spent, error) {
	cost, err := db.Cost(ctx)
	if err != nil {
		return Spent{}, err
	}
	cpu, err := processCPU()
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(heap)
	return Spent{
		CPU: cpu, Server: cost.Server, Written: cost.Written,
		Allocs: int64(heap[0].Value.Uint64()), Allocated: int64(heap[1].Value.Uint64()),
	}, err
}

func processCPU() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
