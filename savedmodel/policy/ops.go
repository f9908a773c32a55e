package policy

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed ops.txt
var opsText string

// verdict is the policy for the operations of a class.
type verdict string

const (
	allow verdict = "allow" // a model may contain them
	deny  verdict = "deny"  // refused unless allowed by name
	check verdict = "check" // a model may contain them where the class's condition holds
)

// opClass is a group of operations with the same effect on the host.
type opClass struct {
	name    string
	verdict verdict
	reason  string
}

// opClasses returns the class of every operation, by name.
var opClasses = sync.OnceValue(func() map[string]*opClass {
	classes := map[string]*opClass{}
	var class *opClass
	for line := range strings.Lines(opsText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			name, rest, _ := strings.Cut(line[1:], "] ")
			v, reason, _ := strings.Cut(rest, ": ")
			class = &opClass{name: name, verdict: verdict(v), reason: reason}
		default:
			classes[line] = class
		}
	}
	return classes
})
