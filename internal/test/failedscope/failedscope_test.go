package failedscope

import (
	"reflect"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/internal/test/graphtest"
)

// empty are results that may be empty: lists of a graph's contents, and results that
// the function never returns.
var empty = map[string]bool{
	"Scope.Func.Captures": true, "Scope.Func.Inputs": true, "Scope.Function.Captures": true, "Scope.Function.Inputs": true,
	"Scope.Initializers": true, "reader.Sources": true, "train.QueueRunners": true, "train.Summaries": true,
	"gradients.Open.Variables": true, "gradients.Open.Reads": true, "gradients.Open.Changes": true, "gradients.Open.Assign": true,
	"graph.ParseSingleSequenceExample.Lengths": true, "graph.ParseSingleSequenceExample.RaggedLists": true,
}

// scoped reports whether a function has a scope among its arguments.
func scoped(f reflect.Type) bool {
	for i := range f.NumIn() {
		if f.In(i) == reflect.TypeFor[*graph.Scope]() {
			return true
		}
	}
	return false
}

// underTest reports whether a function takes a scope, or returns a value whose methods
// do.
func underTest(f function) bool {
	t := reflect.TypeOf(f.value)
	_, name, _ := strings.Cut(f.name, ".")
	if name == "NewScope" || name == "NewScopeWithGraph" {
		return false
	}
	return scoped(t) || t.NumOut() > 0 && ours(t.Out(0))
}

// open reports whether programs can make values of a type themselves, because it has no
// unexported fields.
func open(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return true
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}

// After a failure every function returns something that can be used like the result of
// a call that succeeded, and the failure stays.
func TestFunctions(t *testing.T) {
	for name, zero := range map[string]bool{"zero arguments": true, "plausible arguments": false} {
		t.Run(name, func(t *testing.T) {
			m, first := newFailed(t)
			m.zero = zero
			c := &caller{maker: m, t: t, first: first, lists: !zero}
			for _, f := range functions {
				if v := reflect.ValueOf(f.value); underTest(f) && (!zero || scoped(v.Type())) {
					c.call(f.name, v, 2)
				}
			}
			c.methods("Scope", reflect.ValueOf(m.scope), 1)
			if n := len(m.scope.Graph().Operations()); n != 1 {
				t.Errorf("the graph has %d operations, there was 1 before the failure", n)
			}
		})
	}
}

// The same holds for methods that take a scope, of values that a program makes itself.
func TestMethods(t *testing.T) {
	for name, zero := range map[string]bool{"zero arguments": true, "plausible arguments": false} {
		t.Run(name, func(t *testing.T) {
			m, first := newFailed(t)
			for _, p := range types {
				v := reflect.New(reflect.TypeOf(p).Elem())
				if !open(v.Type().Elem()) {
					continue
				}
				if !zero {
					v.Elem().Set(m.plausible(v.Type().Elem(), 0))
				}
				m.zero = zero
				c := &caller{maker: m, t: t, first: first, lists: !zero}
				for i := range v.NumMethod() {
					if method := v.Type().Method(i); scoped(method.Type) {
						c.call(v.Type().String()+"."+method.Name, v.Method(i), 1)
					}
				}
				m.zero = false
			}
		})
	}
}

// A call that causes the failure also returns usable values. Not all of these calls
// fail.
func TestFirstFailure(t *testing.T) {
	for name, zero := range map[string]bool{"zero arguments": true, "plausible arguments": false} {
		t.Run(name, func(t *testing.T) {
			for _, f := range functions {
				if v := reflect.ValueOf(f.value); scoped(v.Type()) && underTest(f) {
					m := newMaker(t, graphtest.NewScope(t))
					m.zero = zero
					c := &caller{maker: m, t: t}
					c.call(f.name, v, 1)
				}
			}
		})
	}
}
