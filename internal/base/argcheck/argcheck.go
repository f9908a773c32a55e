// Package argcheck holds rules for the arguments of TensorFlow's operations whose
// kernels end the process for some shapes, values or handles: a table, rules.txt.
//
//	rules := argcheck.Of("TensorListReserve")        // value(1)<=4194304
//	err := rules[0].Check(func(i int) argcheck.Arg { // of input i
//		return argcheck.Arg{DType: dtype.Int32, Data: size}
//	})
//
// Package graph/internal/judge puts an operation that checks the rules in front of
// the ones in the table.
package argcheck

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"millrace/dtype"
)

//go:embed rules.txt
var text string

// Arg is an argument of an operation.
type Arg struct {
	DType dtype.DataType
	Shape []int64
	Data  []byte // the elements, if they are numbers
}

// Rule is a condition that the arguments of an operation must meet.
type Rule struct {
	text        string
	attr        string // the rule holds for nodes that have this attribute unset or at attrIs; "": for all
	attrIs      int64
	left, right term
	relation    string
}

// term is a number that a rule compares.
type term struct {
	function string // rank, size, value, last, fills; "": a constant; dtype: what the handle's variable holds
	input    int
	add      int64
	attr     string // on the right of a dtype
}

// String returns the rule as the table has it.
func (r Rule) String() string { return r.text }

// Attr returns the attribute that has to be unset or have a value for the rule to
// apply. The name is empty if the rule always applies.
func (r Rule) Attr() (name string, value int64) { return r.attr, r.attrIs }

// Handle returns the input whose handle the rule is about, and the attribute with
// the dtype that its variable must have.
func (r Rule) Handle() (input int, attr string, ok bool) {
	return r.left.input, r.right.attr, r.left.function == "dtype"
}

// Rank returns the input that must have a rank, if the rule is about one that is
// a number.
func (r Rule) Rank() (input, rank int, ok bool) {
	return r.left.input, int(r.right.add), r.left.function == "rank" && r.relation == "=" && r.right.function == ""
}

// Inputs returns the inputs that the rule reads.
func (r Rule) Inputs() []int {
	inputs := []int{r.left.input}
	if r.left.function == "fills" {
		inputs = append(inputs, 0)
	}
	if r.right.function != "" {
		inputs = append(inputs, r.right.input)
	}
	return inputs
}

var table = sync.OnceValues(func() (map[string][]Rule, error) { return parse(text) })

// All returns the rules by operation.
func All() map[string][]Rule {
	all, err := table()
	if err != nil {
		return nil // TestTable reports why
	}
	return all
}

// Of returns the rules of an operation.
func Of(op string) []Rule { return All()[op] }

// parse reads the table.
func parse(table string) (map[string][]Rule, error) {
	all := map[string][]Rule{}
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if _, twice := all[fields[0]]; twice || len(fields) == 1 {
			return nil, fmt.Errorf("%s has two lines, or an empty one", fields[0])
		}
		for _, f := range fields[1:] {
			r, err := Parse(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fields[0], err)
			}
			all[fields[0]] = append(all[fields[0]], r)
		}
	}
	return all, nil
}

var (
	ruleForm = regexp.MustCompile(`^(?:\[(\w+)=(-?\d+)\])?(dtype|rank|size|value|last|fills)\((\d+)\)(=|<=|>=)(\S+)$`)
	termForm = regexp.MustCompile(`^(?:(rank|size|last)\((\d+)\))?([+-]?\d+)?$`)
)

// Parse reads one rule.
func Parse(s string) (Rule, error) {
	m := ruleForm.FindStringSubmatch(s)
	if m == nil {
		return Rule{}, fmt.Errorf("%q is not a rule", s)
	}
	r := Rule{text: s, attr: m[1], relation: m[5], left: term{function: m[3]}}
	r.attrIs, _ = strconv.ParseInt(m[2], 10, 64)
	r.left.input, _ = strconv.Atoi(m[4])
	if r.left.function == "dtype" {
		r.right.attr = m[6]
		return r, nil
	}
	t := termForm.FindStringSubmatch(m[6])
	if t == nil {
		return Rule{}, fmt.Errorf("%q is not a rule: %q is not a number", s, m[6])
	}
	r.right = term{function: t[1]}
	r.right.input, _ = strconv.Atoi(t[2])
	r.right.add, _ = strconv.ParseInt(t[3], 10, 64)
	return r, nil
}
