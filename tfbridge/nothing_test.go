package tfbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
)

// nothingArgs are arguments for the methods that do not accept the zero values of their
// parameters.
var nothingArgs = map[reflect.Type]any{
	reflect.TypeFor[context.Context](): context.Background(),
	reflect.TypeFor[io.Writer]():       io.Discard,
	reflect.TypeFor[proto.Message]():   &tfproto.SignatureDef{},
}

// callAll calls every exported method of v. None may panic, and those that
// return an error must return one, unless they are named in fine.
func callAll(t *testing.T, what string, v any, fine ...string) {
	t.Helper()
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		name := value.Type().Method(i).Name
		t.Run(what+"."+name, func(t *testing.T) {
			method := value.Method(i)
			args := make([]reflect.Value, method.Type().NumIn())
			for i := range args {
				typ := method.Type().In(i)
				args[i] = reflect.Zero(typ)
				if arg, ok := nothingArgs[typ]; ok {
					args[i] = reflect.ValueOf(arg)
				}
			}
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v", p)
				}
			}()
			out := method.Call(args[:len(args)-variadic(method)])
			if len(out) == 0 || name == "Close" || contains(fine, name) {
				return
			}
			last := out[len(out)-1]
			if err, _ := last.Interface().(error); last.Type() == reflect.TypeFor[error]() && !errors.As(err, new(*millrace.Error)) {
				t.Errorf("got %v, want an error of a class", err)
			}
		})
	}
}

func variadic(method reflect.Value) int {
	if method.Type().IsVariadic() {
		return 1
	}
	return 0
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}

// No method of a nil, zero or closed value crashes or reports success.
func TestNothing(t *testing.T) {
	testruntime.Need(t)
	callAll(t, "nil Tensor", (*Tensor)(nil))
	callAll(t, "zero Tensor", &Tensor{})
	callAll(t, "nil Graph", (*Graph)(nil))
	callAll(t, "zero Graph", &Graph{})
	callAll(t, "nil Operation", (*Operation)(nil))
	callAll(t, "zero Operation", &Operation{})
	callAll(t, "zero operation's Output", Output{Op: &Operation{}})
	callAll(t, "zero Consumer", Consumer{})
	callAll(t, "nil Function", (*Function)(nil))
	callAll(t, "zero Function", &Function{})
	callAll(t, "nil Session", (*Session)(nil))
	callAll(t, "zero Session", &Session{})
	callAll(t, "nil Callable", (*Callable)(nil))
	callAll(t, "zero Callable", &Callable{})
	callAll(t, "nil PartialRun", (*PartialRun)(nil))
	callAll(t, "zero PartialRun", &PartialRun{})
	callAll(t, "nil Context", (*Context)(nil))
	callAll(t, "zero Context", &Context{})
	callAll(t, "nil TensorHandle", (*TensorHandle)(nil))
	callAll(t, "zero TensorHandle", &TensorHandle{})
	callAll(t, "nil SavedModel", (*SavedModel)(nil))
	callAll(t, "zero SavedModel", &SavedModel{})
	callAll(t, "nil Callback", (*Callback)(nil))
	callAll(t, "zero Callback", &Callback{})
	callAll(t, "nil Library", (*Library)(nil))
	callAll(t, "zero Library", &Library{})
	callAll(t, "zero TensorInfo", TensorInfo{})
	callAll(t, "zero Shape", Shape{}, "Check") // an unknown shape is valid
	callAll(t, "zero Device", Device{})
}

func TestClosed(t *testing.T) {
	b := newBuild(t)
	x := b.placeholder("x", Float, ScalarShape())
	y := b.out("Neg", "y", nil, x)
	in := b.tensor(float32(1))
	s := b.session()
	c, err := s.Prepare([]Output{x}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.NewPartialRun([]Output{x}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := NewContext(nil)
	if err != nil {
		t.Fatal(err)
	}
	th, err := NewTensorHandle(in)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFunction(b.g, "f", []Output{x}, []Output{y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, closer := range []io.Closer{in, s, p, ctx, th, f, b.g} {
		for range 2 {
			if err := closer.Close(); err != nil {
				t.Errorf("Close of %T: %v", closer, err)
			}
		}
	}
	callAll(t, "Tensor", in)
	callAll(t, "Session", s)
	callAll(t, "Callable", c)
	callAll(t, "PartialRun", p)
	callAll(t, "Context", ctx)
	callAll(t, "TensorHandle", th)
	callAll(t, "Function", f)
	callAll(t, "Graph", b.g)
	callAll(t, "Operation", x.Op)
	callAll(t, "Output", x)
	callAll(t, "Consumer", Consumer{Op: y.Op})
	got := fmt.Sprint(x, y.Op.Name(), y.Op.Type(), y.Op.NumInputs(), y.Op.Inputs(), x.Consumers(), x.DataType(), th.DataType(), in.Value())
	if want := "<none>0 [] [] DataType(0) DataType(0) <nil>"; got != want {
		t.Errorf("what was closed: got %s, want %s", got, want)
	}
}
