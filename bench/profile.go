package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

// profiles are those that were asked for, while they are taken.
type profiles struct {
	cpu *os.File
	mem string
}

func startProfiles(o options) (*profiles, error) {
	p := &profiles{mem: o.memProfile}
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
	if p.mem == "" {
		return nil
	}
	f, err := os.Create(p.mem)
	if err != nil {
		return err
	}
	defer f.Close()
	runtime.GC() // the profile shows what was alive after the last collection
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
