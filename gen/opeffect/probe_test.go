package opeffect

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// probe runs one operation with arguments made from its registration, and observes the
// results.
type probe struct {
	op     *tfproto.OpDef
	random *rand.Rand
	odd    bool // unknown static shapes, and extreme numbers
}

// sight is the result of probing an operation.
type sight struct {
	ran           int // runs that gave outputs
	alias, writes bool
}

// newProbe returns a probe whose choices depend on the operation's name and the
// seed in the environment.
func newProbe(op *tfproto.OpDef) *probe {
	h := fnv.New64a()
	h.Write([]byte(os.Getenv("MILLRACE_TEST_SEED") + op.Name))
	return &probe{op: op, random: rand.New(rand.NewPCG(h.Sum64(), 28))}
}

// Kinds of data that arguments are made of, the commonest first.
var kinds = []tfproto.DataType{tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_INT32, tfproto.DataType_DT_STRING, tfproto.DataType_DT_INT64,
	tfproto.DataType_DT_BOOL, tfproto.DataType_DT_UINT8, tfproto.DataType_DT_COMPLEX64, tfproto.DataType_DT_DOUBLE, tfproto.DataType_DT_QINT32,
	tfproto.DataType_DT_QUINT8, tfproto.DataType_DT_INT8}

// shapes of arguments. Most kernels take small ones, some take images.
var shapes = [][]int64{{}, {1}, {2}, {3}, {4}, {2, 2}, {1, 2}, {1, 1}, {4, 4}, {2, 3}, {1, 4, 4, 1}, {1, 2, 2, 4}, {2, 2, 2}, {1, 4, 4, 4, 1}}

// look probes until enough runs succeeded, or too many choices failed.
func (p *probe) look(choices, feeds int) (s sight) {
	if len(p.op.InputArg) == 0 {
		choices = min(choices, 4) // there is little to choose
	}
	for range choices {
		if p.lookAt(&s, feeds); s.ran >= enough {
			break
		}
	}
	return s
}

// lookAt builds the operation with one choice of attributes and shapes, and runs it with
// several inputs. Most choices fail at once: TensorFlow's shape functions refuse them.
func (p *probe) lookAt(s *sight, feeds int) {
	g := tfbridge.NewGraph()
	defer g.Close()
	b := p.build(g)
	if b == nil {
		return
	}
	session, err := tfbridge.NewSession(g, &tfbridge.SessionOptions{InterOpThreads: 1, IntraOpThreads: 1, Config: asWritten()})
	if err != nil {
		return
	}
	defer session.Close()
	var fetches []tfbridge.Output
	for i := range b.op.NumOutputs() {
		if o := b.op.Output(i); !isHandle(tfproto.DataType(o.DataType())) {
			fetches = append(fetches, o)
		}
	}
	run, err := session.PrepareRun(b.inputs, fetches, []*tfbridge.Operation{b.op}, &tfbridge.RunOptions{Timeout: time.Second})
	for i := 0; err == nil && i < feeds && s.ran < enough; i++ {
		p.runOnce(s, run, b)
	}
}

// enough is how many runs are looked at.
const enough = 20

// asWritten is a ConfigProto with which TensorFlow runs the graph without optimizing
// it.
func asWritten() []byte {
	level := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), math.MaxUint64) // L0
	off := protowire.AppendVarint(protowire.AppendTag(nil, 19, protowire.VarintType), 1)               // disable_meta_optimizer
	options := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), level)
	options = protowire.AppendBytes(protowire.AppendTag(options, 10, protowire.BytesType), off)
	return protowire.AppendBytes(protowire.AppendTag(nil, 10, protowire.BytesType), options)
}

// built is an operation in a graph, and the placeholders that are its inputs.
type built struct {
	op     *tfbridge.Operation
	inputs []tfbridge.Output
	shapes [][]int64
}

// build adds the operation to a graph, nil if TensorFlow refuses the choice.
func (p *probe) build(g *tfbridge.Graph) *built {
	b := &built{}
	attrs, types := p.attrs()
	p.oddAttrs(attrs)
	same, shape := p.random.IntN(5) < 2, p.shape(len(shapes))
	var inputs []tfbridge.Input
	for i, arg := range p.op.InputArg {
		dts, list := p.dtypes(arg, attrs, types)
		var outs tfbridge.OutputList
		for k, dt := range dts {
			if !same {
				shape = p.shape(len(shapes))
				if p.random.IntN(2) == 0 && (dt == tfproto.DataType_DT_INT32 || dt == tfproto.DataType_DT_INT64) {
					shape = p.shape(5) // indices, axes and sizes are scalars and lists
				}
			}
			op, err := g.AddOperation(tfbridge.OpSpec{Type: "Placeholder", Name: fmt.Sprintf("in%d_%d", i, k),
				Attrs: map[string]any{"dtype": tfbridge.DataType(dt), "shape": p.known(shape)}})
			if err != nil {
				return nil
			}
			outs = append(outs, op.Output(0))
			b.shapes = append(b.shapes, shape)
		}
		b.inputs = append(b.inputs, outs...)
		if list {
			inputs = append(inputs, outs)
		} else {
			inputs = append(inputs, outs[0])
		}
	}
	op, err := g.AddOperation(tfbridge.OpSpec{Type: p.op.Name, Name: "probed", Input: inputs, Attrs: attrs})
	if err != nil {
		return nil
	}
	b.op = op
	return b
}

// shape chooses one of the first n shapes, scalars more often than others.
func (p *probe) shape(n int) []int64 {
	if p.odd && p.random.IntN(4) == 0 {
		return oddShapes[p.random.IntN(len(oddShapes))]
	}
	if p.random.IntN(4) == 0 {
		return shapes[0]
	}
	return shapes[p.random.IntN(n)]
}

// runOnce feeds new tensors, and compares them afterwards.
func (p *probe) runOnce(s *sight, run *tfbridge.Callable, b *built) {
	var values []*tfbridge.Tensor
	defer func() {
		for _, v := range values {
			v.Close()
		}
	}()
	for i, in := range b.inputs {
		v, err := p.tensor(in.DataType(), b.shapes[i])
		if err != nil {
			return
		}
		values = append(values, v)
	}
	before := snapshots(values)
	outs, err := run.Run(context.Background(), values)
	s.writes = s.writes || !slices.EqualFunc(before, snapshots(values), bytes.Equal)
	if err != nil {
		return
	}
	s.ran++
	for _, o := range outs {
		for _, v := range values {
			s.alias = s.alias || shares(o, v)
		}
		o.Close()
	}
}

// snapshots copies the contents of tensors.
func snapshots(values []*tfbridge.Tensor) [][]byte {
	var all [][]byte
	for _, v := range values {
		b, err := v.Bytes()
		if err != nil {
			text, _ := v.Strings()
			b = []byte(strings.Join(text, "\x00"))
		}
		all = append(all, bytes.Clone(b))
	}
	return all
}

// shares reports whether two tensors have memory in common.
func shares(a, b *tfbridge.Tensor) bool {
	x, errX := a.Bytes()
	y, errY := b.Bytes()
	if errX != nil || errY != nil || len(x) == 0 || len(y) == 0 {
		return false
	}
	from, at := uintptr(unsafe.Pointer(&y[0])), uintptr(unsafe.Pointer(&x[0]))
	return at < from+uintptr(len(y)) && from < at+uintptr(len(x))
}

// tensor makes an argument of small numbers, or of short strings.
func (p *probe) tensor(dt tfbridge.DataType, shape []int64) (*tfbridge.Tensor, error) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	small := func() int { return p.random.IntN(3) }
	if p.odd {
		if v := p.oddTensor(dt, shape, n); v != nil {
			return v, nil
		}
	}
	switch dt {
	case tfbridge.String:
		words := make([]string, n)
		for i := range words {
			words[i] = []string{"a", "1", "", "b c", "0x1"}[p.random.IntN(5)]
		}
		return tfbridge.NewTensorFromSlice(shape, words)
	case tfbridge.Float:
		return tfbridge.NewTensorFromSlice(shape, fill(n, func() float32 { return float32(small()) / 2 }))
	case tfbridge.Double:
		return tfbridge.NewTensorFromSlice(shape, fill(n, func() float64 { return float64(small()) / 2 }))
	case tfbridge.Complex64:
		return tfbridge.NewTensorFromSlice(shape, fill(n, func() complex64 { return complex(float32(small()), 1) }))
	}
	raw := make([]byte, n*int64(dt.Size()))
	for i := int64(0); i < n && dt.Size() > 0; i++ {
		raw[i*int64(dt.Size())] = byte(small())
	}
	if dt == tfbridge.Bool {
		for i := range raw {
			raw[i] &= 1
		}
	}
	return tfbridge.NewTensorFromBytes(dt, shape, raw)
}

// fill makes n values.
func fill[T any](n int64, value func() T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = value()
	}
	return all
}

// attrs chooses attributes: defaults, and small values where there is none. types are the
// dtypes chosen, also those that are defaults.
func (p *probe) attrs() (attrs map[string]any, types map[string][]tfproto.DataType) {
	attrs, types = map[string]any{}, map[string][]tfproto.DataType{}
	for _, a := range p.op.Attr {
		if a.DefaultValue != nil && !(a.Type == "type" && p.random.IntN(2) == 0) {
			switch v := a.DefaultValue; a.Type {
			case "type":
				types[a.Name] = []tfproto.DataType{v.GetType()}
			case "list(type)":
				types[a.Name] = v.GetList().GetType()
			case "int":
				attrs[a.Name] = v.GetI()
			}
			continue
		}
		allowed := a.GetAllowedValues().GetList()
		switch a.Type {
		case "type":
			dt := p.dtype(allowed.GetType())
			types[a.Name] = []tfproto.DataType{dt}
			attrs[a.Name] = tfbridge.DataType(dt)
		case "list(type)":
			dt := p.dtype(allowed.GetType())
			types[a.Name] = []tfproto.DataType{dt}
			attrs[a.Name] = []tfbridge.DataType{tfbridge.DataType(dt)}
		case "int":
			attrs[a.Name] = max(a.Minimum, int64(1+p.random.IntN(2)))
		case "float":
			attrs[a.Name] = float32(1)
		case "bool":
			attrs[a.Name] = p.random.IntN(2) == 0
		case "string":
			attrs[a.Name] = "a"
			if s := allowed.GetS(); len(s) > 0 {
				attrs[a.Name] = string(s[p.random.IntN(len(s))])
			}
		case "shape":
			attrs[a.Name] = tfbridge.MakeShape(shapes[p.random.IntN(6)]...)
		case "list(int)":
			attrs[a.Name] = [][]int64{{1}, {1, 1}, {1, 1, 1, 1}, {1, 2, 2, 1}, {1, 1, 1, 1, 1}}[p.random.IntN(5)]
		case "list(float)":
			attrs[a.Name] = []float32{1}
		case "list(shape)":
			attrs[a.Name] = []tfbridge.Shape{tfbridge.MakeShape(2)}
		case "list(string)":
			attrs[a.Name] = []string{"a"}
		case "tensor":
			v, _ := proto.Marshal(&tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT,
				TensorShape: &tfproto.TensorShapeProto{}, FloatVal: []float32{1}}}})
			attrs[a.Name] = tfbridge.AttrProto(v)
		}
	}
	return attrs, types
}

// dtype chooses a kind of data, one of the allowed if any are listed.
func (p *probe) dtype(allowed []tfproto.DataType) tfproto.DataType {
	if p.random.IntN(3) == 0 && len(allowed) > 0 {
		return allowed[p.random.IntN(len(allowed))]
	}
	i := min(p.random.IntN(len(kinds)), p.random.IntN(len(kinds)))
	for range kinds {
		if k := kinds[i%len(kinds)]; len(allowed) == 0 || slices.Contains(allowed, k) {
			return k
		}
		i++
	}
	return allowed[0]
}

// dtypes returns the dtypes of an argument, and whether it is a list.
func (p *probe) dtypes(arg *tfproto.OpDef_ArgDef, attrs map[string]any, types map[string][]tfproto.DataType) ([]tfproto.DataType, bool) {
	if arg.TypeListAttr != "" {
		return types[arg.TypeListAttr], true
	}
	dt := arg.Type
	if arg.TypeAttr != "" {
		dt = types[arg.TypeAttr][0]
	}
	if arg.NumberAttr == "" {
		return []tfproto.DataType{dt}, false
	}
	n, _ := attrs[arg.NumberAttr].(int64)
	return slices.Repeat([]tfproto.DataType{dt}, int(n)), true
}
