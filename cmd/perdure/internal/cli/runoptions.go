package cli

import (
	"time"

	"github.com/perdure/perdure/workflow"
	"github.com/spf13/pflag"
)

// runFlags are the flags for the settings of a run that is started now or by a schedule.
type runFlags struct {
	runTimeout, chainTimeout time.Duration

	priority int
	key      string
	weight   int
	memo     string
	attrs    []string
}

// add gives a command the flags.
func (r *runFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&r.runTimeout, "run-timeout", 0, "close a run that takes longer than this `duration`; its retry policy decides what follows")
	flags.DurationVar(&r.chainTimeout, "chain-timeout", 0, "close the workflow if all its runs together take longer than this `duration`")
	flags.IntVar(&r.priority, "priority", 0, "`number` from -1000 to 1000: waiting calls of higher workflows run first")
	flags.StringVar(&r.key, "key", "", "its `key`, for instance a customer: where runs and calls wait, keys take turns")
	flags.IntVar(&r.weight, "weight", 0, "`number` from 1 to 1000: the key takes as many turns where others take one")
	flags.StringVar(&r.memo, "memo", "", "a `JSON` value to keep with the workflow")
	flags.StringArrayVar(&r.attrs, "attribute", nil, "an attribute to find it by, as `NAME=VALUE`; repeatable")
}

// options returns the options that the flags set.
func (r *runFlags) options(scr *screen) (options []workflow.RunOption, err error) {
	if r.runTimeout != 0 {
		options = append(options, workflow.RunTimeout(r.runTimeout))
	}
	if r.chainTimeout != 0 {
		options = append(options, workflow.ChainTimeout(r.chainTimeout))
	}
	if r.priority != 0 {
		options = append(options, workflow.Priority(r.priority))
	}
	if r.key != "" || r.weight != 0 {
		options = append(options, workflow.WeightedKey(r.key, r.weight))
	}
	if r.memo != "" {
		memo, err := scr.jsonValue("memo", r.memo)
		if err != nil {
			return nil, err
		}
		options = append(options, workflow.Memo(memo))
	}
	for _, text := range r.attrs {
		name, value, err := attribute(text)
		if err != nil {
			return nil, err
		}
		options = append(options, workflow.Attributes(map[string]string{name: value}))
	}
	return options, nil
}
