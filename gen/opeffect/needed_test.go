package opeffect

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/base/argcheck"
	"millrace/internal/test/soak"
)

// unshownText lists the rules that no call of the table shows to be needed, one a line. For most of them
// the table has no call that breaks this rule alone; TensorFlow may also return an error, or damage
// memory without ending the process at once.
//
//go:embed testdata/unshown.txt
var unshownText string

// briefRules are the rules that a brief run removes.
var briefRules = []string{"ExpandDims rank(0)<=253", "LookupTableFindV2 rank(1)<=64", "TensorListPushBack rank(1)<=128", "TensorListGather size(2)<=128"}

// withoutRule is the value of probeEnv for a child that runs calls without a rule each.
const withoutRule = "without"

// TestRulesAreNeeded removes the rules of the operations one by one. A call of the table then ends
// the process, succeeds or takes too long. A brief run tries a few rules.
func TestRulesAreNeeded(t *testing.T) {
	b := parsedCalls(t)
	unshown := map[string]bool{}
	for line := range strings.Lines(unshownText) {
		unshown[strings.TrimSpace(line)] = true
	}
	var trials []string // lines for the child: index of the call, index of the rule
	rules := map[string][]string{}
	for _, op := range slices.Sorted(maps.Keys(argcheck.All())) {
		for k, r := range argcheck.Of(op) {
			rule := op + " " + r.String()
			if !soak.Long() && !slices.Contains(briefRules, rule) {
				continue
			}
			rules[rule] = nil
			for i, c := range b.ends {
				if c.op == op {
					trials = append(trials, fmt.Sprint(i, " ", k))
					rules[rule] = append(rules[rule], fmt.Sprint(i, " ", k))
				}
			}
		}
	}
	needed := neededRules(t, trials)
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		shown := slices.ContainsFunc(rules[rule], func(trial string) bool { return needed[trial] })
		if shown == unshown[rule] {
			t.Errorf("%s: a call shows that it is needed: %v, and testdata/unshown.txt lists it: %v", rule, shown, unshown[rule])
		}
		if unshown[rule] {
			t.Logf("UNSHOWN %s", rule)
		}
	}
	t.Logf("%d rules, %d trials", len(rules), len(trials))
}

// neededRules runs calls without a rule each, and returns those that need it.
func neededRules(t *testing.T, trials []string) map[string]bool {
	needed := map[string]bool{}
	for len(trials) > 0 {
		p, err := startChild(t, childOptions{
			limits: fmt.Sprintf("ulimit -v %d; ulimit -c 0;", childMemory), test: "TestRulesChild", input: trials, patience: callPatience,
			env: []string{probeEnv + "=" + withoutRule, "TF_CPP_MIN_LOG_LEVEL=1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		at, began := 0, false
		p.wait(func(line string) {
			switch line {
			case "begin":
				began = true
				p.alive()
			case "refused", "succeeded":
				needed[trials[at]] = line == "succeeded"
				at++
			}
		}) //nolint:errcheck // how it ended says nothing more
		if at == len(trials) {
			break
		}
		if !began {
			t.Fatalf("the process ended before the first call: %s", endOf(p.log.String()))
		}
		needed[trials[at]] = true // the process ended, or the call did not
		trials = trials[at+1:]
	}
	return needed
}

// TestRulesChild is the process that runs calls without a rule.
func TestRulesChild(t *testing.T) {
	if os.Getenv(probeEnv) != withoutRule {
		t.Skip("a part of TestRulesAreNeeded")
	}
	b := parsedCalls(t)
	ops := registered(t)
	lines, err := io.ReadAll(os.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	var known sync.Once // the first run reads which operations have rules
	for line := range strings.Lines(string(lines)) {
		var call, rule int
		fmt.Sscan(line, &call, &rule)
		c := b.ends[call]
		fmt.Println("begin")
		known.Do(func() { runFor(5*time.Second, ops, c, b.lets, false) }) //nolint:errcheck // the rules refuse it
		restore := argcheck.Without(c.op, rule)
		err := runFor(5*time.Second, ops, c, b.lets, false)
		restore()
		if err == nil {
			fmt.Println("succeeded")
		} else {
			fmt.Println("refused")
		}
	}
}
