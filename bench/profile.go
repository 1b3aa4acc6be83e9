package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profiles are those that were asked for, while they are taken.
type profiles struct {
	cpu        *os.File
	mem, mutex string
}

func startProfiles(o options) (*profiles, error) {
	p := &profiles{mem: o.memProfile, mutex: o.mutexProfile}
	if p.mutex != "" {
		runtime.SetMutexProfileFraction(10) // of the waits; all of them would slow the locks down
	}
	if o.cpuProfile == "" {
		return p, nil
	}
	f, err := os.Create(o.cpuProfile)
	if err != nil {
		return nil, err
	}
	p.cpu = f
	return p, pprof.StartCPUProfile(f)
}

func (p *profiles) write() error {
	if p.cpu != nil {
		pprof.StopCPUProfile()
		if err := p.cpu.Close(); err != nil {
			return err
		}
	}
	runtime.GC() // the profile of allocations shows what was alive after the last collection
	return errors.Join(writeProfile("allocs", p.mem), writeProfile("mutex", p.mutex))
}

// writeProfile writes a profile into a file, if that has a name.
func writeProfile(of, name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup(of).WriteTo(f, 0)
}
