package failedscope

import (
	"fmt"
	"iter"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"millrace/graph"
	"millrace/tfbridge"
)

// caller calls functions and uses what they return.
type caller struct {
	*maker
	t     *testing.T
	first error // the failure of the scope before all calls; nil: it has none
	lists bool  // a result that is a list must have an element

	receiver reflect.Type // type whose methods are being called; methods of results of this type are not called
}

// call calls a function and uses its results, unless the last is an error.
func (c *caller) call(name string, f reflect.Value, depth int) {
	c.t.Helper()
	var results []reflect.Value
	c.safely(name, func() {
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		results = call(c.arguments(f.Type()))
	})
	if c.first != nil && c.scope.Err() != c.first {
		c.t.Fatalf("%s: the failure %q became %v", name, c.first, c.scope.Err())
	}
	if n := len(results); n > 0 {
		if err, ok := results[n-1].Interface().(error); ok && err != nil {
			return // the convention is that the other results are then not used
		}
	}
	for _, r := range results {
		c.safely("what "+name+" returned", func() { c.use(name, r, depth) })
	}
}

// safely calls f and reports a panic.
func (c *caller) safely(name string, f func()) {
	c.t.Helper()
	defer func() {
		if p := recover(); p != nil {
			c.t.Errorf("%s: panic: %v\n%s", name, p, where(string(debug.Stack())))
		}
	}()
	f()
}

// where returns the lines of a stack that name files of this module, from the panic
// downward.
func where(stack string) string {
	_, stack, _ = strings.Cut(stack, "panic(")
	var lines []string
	for line := range strings.Lines(stack) {
		if strings.Contains(line, ".go:") && !strings.Contains(line, "/src/") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[:min(len(lines), 4)], "")
}

// use uses a result like a program does: it accesses elements and fields, and calls
// methods. name describes the source of the result.
func (c *caller) use(name string, v reflect.Value, depth int) {
	switch x := v.Interface().(type) {
	case tfbridge.Output:
		_, _, _ = x.DataType(), x.Shape(), graph.SpecOf(x)
		return
	case *tfbridge.Operation:
		_, _, _ = x.Name(), x.NumOutputs(), x.Output(0).Shape()
		if x == nil {
			_ = graph.Outputs(x)[0]
		}
		return
	case iter.Seq2[[]*tfbridge.Tensor, error]:
		c.ends(name, x)
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() > 0 {
			c.use(name+"[0]", v.Index(0), depth)
		} else if c.lists && !empty[name] && holds(v.Type(), deepest) {
			c.t.Errorf("%s has no element", name)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			c.use(fmt.Sprintf("%s[%v]", name, key), v.MapIndex(key), depth)
		}
	}
	if t := v.Type(); ours(t) {
		c.add(v)
		c.fields(name, reflect.Indirect(v), depth)
		if depth > 0 && t != c.receiver {
			c.methods(name, v, depth-1)
		}
	}
}

// ends checks that a sequence only yields one error.
func (c *caller) ends(name string, sequence iter.Seq2[[]*tfbridge.Tensor, error]) {
	errs := 0
	for _, err := range sequence {
		if err == nil {
			c.t.Errorf("%s: an element came without an error", name)
		}
		errs++
	}
	if errs != 1 {
		c.t.Errorf("%s: %d errors, want 1", name, errs)
	}
}

// ours reports whether values of a type are made by the packages under test.
func ours(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.HasPrefix(t.PkgPath(), "millrace/graph") && t != reflect.TypeFor[graph.Scope]() && t != reflect.TypeFor[graph.Model]()
}

// fields uses the exported fields of a struct that can hold tensors.
func (c *caller) fields(name string, v reflect.Value, depth int) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && holds(f.Type, deepest) {
			c.use(name+"."+f.Name, v.Field(i), depth)
		}
	}
}

// holds reports whether a type contains tensors or operations.
func holds(t reflect.Type, depth int) bool {
	switch {
	case t == out || t == reflect.TypeFor[*tfbridge.Operation]():
		return true
	case depth == 0:
		return false
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer:
		return holds(t.Elem(), depth)
	case t.Kind() != reflect.Struct:
		return false
	}
	for i := range t.NumField() {
		if holds(t.Field(i).Type, depth-1) {
			return true
		}
	}
	return false
}

// methods calls all methods of a value.
func (c *caller) methods(name string, v reflect.Value, depth int) {
	defer func(outer reflect.Type) { c.receiver = outer }(c.receiver)
	c.receiver = v.Type()
	for i := range v.NumMethod() {
		c.call(name+"."+v.Type().Method(i).Name, v.Method(i), depth)
	}
}
