package eval

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// policyValue is a text that may stand for a value in a policy: a number or a duration.
var policyValue = regexp.MustCompile(`^[0-9][0-9a-zµ.]*$`)

// policy is the policy of a statement or a call, with the values that its variables have;
// nil if there is none.
func (f *frame) policy(x *syntax.Policied) (*retry.Policy, error) {
	if len(x.Vars) == 0 {
		return x.Policy, nil
	}
	text := f.m.file.Text[x.Brackets.From:x.Brackets.To]
	vars := slices.Clone(x.Vars)
	slices.SortFunc(vars, func(a, b syntax.PolicyVar) int { return b.From - a.From }) // the last first
	for _, v := range vars {
		value, err := f.eval(v.Value)
		if err != nil {
			return nil, err
		}
		shown := ""
		switch value := value.(type) {
		case int64:
			shown = strconv.FormatInt(value, 10)
		case float64:
			shown = strconv.FormatFloat(value, 'f', -1, 64)
		case string:
			shown = value
		default:
			return nil, f.at(v, fault(TypeType, "a policy takes a number or a text such as \"2d\", and this is %s", kindOf(value)))
		}
		if !policyValue.MatchString(shown) {
			return nil, f.at(v, fault(TypeValue, "a policy takes a number or a text such as \"2d\", and this is %.40q", shown))
		}
		text = text[:v.From-x.Brackets.From] + shown + text[v.To-x.Brackets.From:]
	}
	p, err := retry.Parse(text)
	if err != nil {
		return nil, f.at(x.Brackets, fault(TypeValue, "the policy %s cannot be used: %v", text, err))
	}
	return &p, nil
}
