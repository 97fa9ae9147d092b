package events

import (
	"fmt"
	"slices"
)

// MaxSelectors bounds a list of selectors, MaxValues the values of one.
const (
	MaxSelectors = 16
	MaxValues    = 64
)

// Operator is how a selector compares a label.
type Operator string

// The operators of a selector.
const (
	OpEqual     Operator = "equal"      // the label is there and has the one value
	OpNotEqual  Operator = "not-equal"  // the label is not there, or has another value than the one
	OpExists    Operator = "exists"     // the label is there
	OpNotExists Operator = "not-exists" // the label is not there
	OpIn        Operator = "in"         // the label is there and has one of the values
	OpNotIn     Operator = "not-in"     // the label is not there, or has none of the values
)

// Selector chooses services by one of their labels. Of a list of selectors all must match.
type Selector struct {
	Label    string   `json:"label" jsonschema:"minLength=1,maxLength=4096"`
	Operator Operator `json:"operator"`
	// Values are those to compare with: one for equal and not-equal, none for exists and not-exists.
	Values []string `json:"values,omitempty"`
}

// Matches reports whether the labels are such as the selector chooses.
func (s Selector) Matches(labels map[string]string) bool {
	value, there := labels[s.Label]
	switch s.Operator {
	case OpEqual, OpIn:
		return there && slices.Contains(s.Values, value)
	case OpNotEqual, OpNotIn:
		return !there || !slices.Contains(s.Values, value)
	case OpExists:
		return there
	case OpNotExists:
		return !there
	}
	return false
}

// MatchAll reports whether every selector matches; a list without selectors matches nothing.
func MatchAll(selectors []Selector, labels map[string]string) bool {
	for _, s := range selectors {
		if !s.Matches(labels) {
			return false
		}
	}
	return len(selectors) > 0
}

func checkSelectors(field string, selectors []Selector) error {
	if len(selectors) > MaxSelectors {
		return Reject(CodeOutOfRange, field, "%s has %d entries, more than %d", field, len(selectors), MaxSelectors)
	}
	for i, s := range selectors {
		if err := s.check(fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return err
		}
	}
	return nil
}

func (s Selector) check(field string) error {
	if s.Label == "" {
		return Reject(CodeMissingField, field+".label", "%s.label is missing: name the label to compare", field)
	}
	if err := checkText(field+".label", s.Label); err != nil {
		return err
	}
	least, most := 0, 0
	switch s.Operator {
	case OpEqual, OpNotEqual:
		least, most = 1, 1
	case OpIn, OpNotIn:
		least, most = 1, MaxValues
	case OpExists, OpNotExists:
	default:
		return Reject(CodeInvalidValue, field+".operator",
			"%s.operator %s is unknown: want equal, not-equal, exists, not-exists, in or not-in", field, quote(string(s.Operator)))
	}
	if n := len(s.Values); n < least || n > most {
		return Reject(CodeOutOfRange, field+".values", "%s.values has %d entries: %s takes %s", field, n, s.Operator, between(least, most))
	}
	return checkList(field+".values", s.Values)
}

// between says in words how many are taken.
func between(least, most int) string {
	switch {
	case most == 0:
		return "none"
	case least == most:
		return fmt.Sprintf("exactly %d", least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
