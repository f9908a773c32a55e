package failedscope

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"millrace/graph"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// out is the type of a tensor in a graph.
var out = reflect.TypeFor[tfbridge.Output]()

// maker makes arguments for calls of any function.
type maker struct {
	ready map[reflect.Type]reflect.Value // values to use for a type
	scope *graph.Scope
	zero  bool // use zero values, except for scopes and contexts
}

// newMaker returns a maker for calls with a scope, and arguments of its graph.
func newMaker(t *testing.T, s *graph.Scope) *maker {
	x := s.Const([]float32{1, 2})
	tensor, err := tfbridge.NewTensor([]float32{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tensor.Close() })
	m := &maker{ready: map[reflect.Type]reflect.Value{}, scope: s}
	for _, v := range []any{x, x.Op, tensor, s.Graph(), tfbridge.Float, tfbridge.MakeShape(2), errors.New("an error")} {
		m.add(reflect.ValueOf(v))
	}
	m.ready[reflect.TypeFor[tfbridge.Input]()] = reflect.ValueOf(x)
	m.ready[reflect.TypeFor[any]()] = reflect.ValueOf(float32(1))
	return m
}

// newFailed returns a maker for calls with a scope that has failed, and the failure.
func newFailed(t *testing.T) (*maker, error) {
	m := newMaker(t, graphtest.NewScope(t))
	m.scope.UpdateErr("before", errors.New("the first failure"))
	return m, m.scope.Err()
}

// add registers a value for arguments of its type, unless there already is one.
func (m *maker) add(v reflect.Value) {
	if _, ok := m.ready[v.Type()]; !ok && !v.IsZero() {
		m.ready[v.Type()] = v
	}
}

// arguments returns the arguments of one call of a function of type f.
func (m *maker) arguments(f reflect.Type) []reflect.Value {
	args := make([]reflect.Value, f.NumIn())
	for i := range args {
		args[i] = m.argument(f.In(i))
	}
	return args
}

// argument returns an argument of type t. A context is done, so that no call waits.
func (m *maker) argument(t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[*graph.Scope]():
		return reflect.ValueOf(m.scope)
	case reflect.TypeFor[context.Context]():
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return reflect.ValueOf(ctx)
	}
	if m.zero {
		return reflect.Zero(t)
	}
	return m.plausible(t, 0)
}

// deepest is the maximum nesting of structs, because types may contain themselves.
const deepest = 3

// plausible returns a value of type t that a program might use: lists and strings are
// not empty, and fields and functions are set where possible.
func (m *maker) plausible(t reflect.Type, depth int) reflect.Value {
	if v, ok := m.ready[t]; ok {
		return v
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(2)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Slice:
		v = reflect.Append(v, m.plausible(t.Elem(), depth))
	case reflect.Map:
		v = reflect.MakeMap(t)
		v.SetMapIndex(m.plausible(t.Key(), depth), m.plausible(t.Elem(), depth))
	case reflect.Func:
		v = m.function(t)
	case reflect.Pointer:
		if depth < deepest {
			v = reflect.New(t.Elem())
			v.Elem().Set(m.plausible(t.Elem(), depth))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if depth < deepest && t.Field(i).IsExported() {
				v.Field(i).Set(m.plausible(t.Field(i).Type, depth+1))
			}
		}
	case reflect.Interface:
		v = m.implementation(t)
	}
	return v
}

// function returns a function of type t with plausible results.
func (m *maker) function(t reflect.Type) reflect.Value {
	return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
		results := make([]reflect.Value, t.NumOut())
		for i := range results {
			results[i] = m.plausible(t.Out(i), deepest)
		}
		return results
	})
}

// implementation returns a value of interface type t, nil if there is none.
func (m *maker) implementation(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	for have, value := range m.ready {
		if have.Implements(t) && t.NumMethod() > 0 {
			v.Set(value)
		}
	}
	return v
}
