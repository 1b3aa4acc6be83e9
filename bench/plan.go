package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/bench/internal/dbosgo"
	"github.com/perdure/perdure/bench/internal/drivers"
	"github.com/perdure/perdure/bench/internal/durable"
	"github.com/perdure/perdure/bench/internal/floor"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/riverqueue"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/bench/internal/workload"
)

// plan is a workload and the systems it runs on, in their order.
type plan struct {
	workload.Workload
	systems []system.System
	against []string
}

// systems are those under test; a workload leaves out what cannot do its work.
func systems() []system.System {
	return []system.System{
		durable.On(place.SQLite),
		floor.On(place.SQLite),
		durable.On(place.Memory),
		durable.On(place.Postgres),
		floor.On(place.Postgres),
	}
}

// libraries are other systems under test, of which a process can take up what another left.
func libraries() []system.System {
	return []system.System{dbosgo.On(place.SQLite), dbosgo.On(place.Postgres)}
}

// Workloads that others than perdure and the floor can do: those of workflows of steps and nothing
// else, and those that have a meaning for chained jobs.
var (
	ofSteps = []string{"W1", "W2", "W4", "W6", "W7", "W1s"}
	ofJobs  = []string{"W1", "W2", "W3"}
)

// plans lists all that can be run.
func plans(scale workload.Scale, runs, grown int) []plan {
	var all []plan
	for i, w := range workload.All(scale, runs) {
		under, against := systems(), []string{"floor", "River"}
		if i == 0 {
			against = append(against, durable.On(place.SQLite).Name()) // of the variants of perdure
			under = append(under, durable.WithSlots(place.SQLite), durable.WithSlots(place.Postgres),
				durable.Measured(place.SQLite), durable.Measured(place.Memory), durable.Measured(place.Postgres),
				durable.Keyed(place.SQLite, 0), durable.Keyed(place.Postgres, 0), durable.Keyed(place.SQLite, 4), durable.Keyed(place.Postgres, 4),
				durable.Intercepted(place.SQLite), durable.Intercepted(place.Memory), durable.Intercepted(place.Postgres),
				durable.Traced(place.SQLite, 1), durable.Traced(place.Memory, 1), durable.Traced(place.Postgres, 1),
				durable.Traced(place.SQLite, 100), durable.Traced(place.Memory, 100), durable.Traced(place.Postgres, 100))
		}
		if slices.Contains(ofSteps, w.About().Name) {
			under, against = append(under, libraries()...), append(against, "DBOS")
		}
		if slices.Contains(ofJobs, w.About().Name) {
			under = append(under, riverqueue.System())
		}
		if _, is := w.(workload.Queues); is {
			under = []system.System{
				durable.Queued(place.SQLite), durable.On(place.SQLite),
				durable.Queued(place.Postgres), durable.On(place.Postgres), riverqueue.WithDefaults(), riverqueue.System(),
			}
			against = []string{riverqueue.WithDefaults().Name(), "perdure"}
		}
		all = append(all, plan{w, under, against})
	}
	w1 := workload.Throughputs(scale, runs)
	return append(all,
		plan{workload.Drivers{Throughput: w1}, drivers.Systems(), []string{drivers.Reference}},
		plan{workload.Grown(scale, grown), systems(), nil},
		plan{workload.Looked(scale, grown), systems(), nil},
		plan{workload.Nodes{Throughput: w1, Lengths: []int{5, 50}}, []system.System{durable.Nodes(1), durable.Nodes(2), durable.Nodes(4)}, []string{durable.OneNode}})
}

// aside are the workloads that run only when they are asked for.
var aside = []string{"drivers", "growth", "nodes", "pages"}

// choose takes from the plans what the options ask for.
func choose(all []plan, o options) ([]plan, error) {
	for _, name := range o.only {
		if !slices.ContainsFunc(all, func(p plan) bool { return strings.EqualFold(p.About().Name, name) }) {
			return nil, fmt.Errorf("-only %s: no such workload exists; -help lists them", name)
		}
	}
	var chosen []plan
	for _, p := range all {
		name := p.About().Name
		if !takes(o.only, name) || o.only == nil && slices.Contains(aside, name) {
			continue
		}
		p.systems = slices.DeleteFunc(p.systems, func(s system.System) bool {
			return !takes(o.stores, string(s.Kind())) || !takes(o.systems, s.Name())
		})
		if len(p.systems) > 0 {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("nothing is left to run: no workload has a system for which -store and -system leave room")
	}
	return chosen, nil
}

func onPostgres(p plan) bool {
	return slices.ContainsFunc(p.systems, func(s system.System) bool { return s.Kind() == place.Postgres })
}
