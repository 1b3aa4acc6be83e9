// Package clean keeps the rules: nothing is reported here.
package clean

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/workflows/helpers"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

var errEmpty = errors.New("empty")

var weights = map[string]int{"a": 1}

var fetch = activity.New("fetch", func(ctx context.Context, name string) (string, error) {
	data, err := os.ReadFile(name)
	return string(data), err
}, activity.Retry(retry.Policy{MaxAttempts: 3}))

var orders = workflow.NewSignal[int]("orders")

var flow = workflow.New("flow", func(wf *workflow.Context, names []string) (int, error) {
	if len(names) == 0 {
		return 0, errEmpty
	}
	log := workflow.Logger(wf).With("names", len(names))
	log.Info("it begins")
	workflow.Logger(wf).Debug("it begins")
	began := workflow.Now(wf)
	m := map[string]int{}
	for i, name := range names {
		text, err := workflow.Call(wf, fetch, name)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		m[text] = i + weights[name]
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	n := 0
	for _, v := range m {
		n += v
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		n += len(strings.ToUpper(k))
	}
	for range m {
		n++
	}
	stamp := workflow.SideEffect(wf, "stamp", func() int64 { return time.Now().Unix() })
	host, err := workflow.Do(wf, "host", func(ctx context.Context) (string, error) {
		go func() {}()
		return os.Hostname()
	})
	if err != nil {
		return 0, err
	}
	c := workflow.NewChannel[int](wf, 1)
	workflow.Go(wf, func(wf *workflow.Context) { _ = c.Send(wf, rand.New(rand.NewPCG(1, 2)).IntN(3)) })
	if _, err := workflow.Receive(wf, orders); err != nil {
		return 0, err
	}
	_ = helpers.Excused()
	fmt.Fprintf(&strings.Builder{}, "%s %v %v %s %d", host, helpers.Even(n), helpers.Names, helpers.Pure(n), stamp)
	//perdure:deterministic it is only compared with itself
	_ = time.Now()
	return n, workflow.Sleep(wf, time.Until(began.Add(time.Hour))) //perdure:deterministic for this test only
})

// Setup is not workflow code.
func Setup() perdure.Option { // want Setup:"prints"
	fmt.Println(time.Now())
	return perdure.Register(flow, fetch)
}
