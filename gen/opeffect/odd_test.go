package opeffect

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/graph"
	"millrace/internal/base/argcheck"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// known returns the shape that a placeholder states: none for odd arguments.
func (p *probe) known(shape []int64) tfbridge.Shape {
	if p.odd {
		return tfbridge.Shape{}
	}
	return tfbridge.MakeShape(shape...)
}

// oddShapes are shapes of empty tensors, and of tensors with more dimensions than most
// kernels take.
var oddShapes = [][]int64{{0}, {0, 2}, {2, 0}, {0, 0}, {1, 0, 1}, {0, 2, 2, 1}, {1, 2, 2, 0}, {1, 0, 2, 2, 1}, {2, 1, 1, 1, 1, 2}, {1, 1, 1, 1, 1, 1, 1, 1, 2}}

// oddAttrs changes some of the numbers among attributes, but not how many inputs or outputs there are.
func (p *probe) oddAttrs(attrs map[string]any) {
	if !p.odd {
		return
	}
	numbers := []int64{1, 0, 2, -1, 3, 4, 100, math.MaxInt32, -2, math.MinInt32, math.MaxInt64}
	number := func() int64 { return numbers[min(p.random.IntN(len(numbers)), p.random.IntN(len(numbers)))] }
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		counts := func(arg *tfproto.OpDef_ArgDef) bool { return arg.NumberAttr == name }
		if p.random.IntN(3) > 0 || slices.ContainsFunc(p.op.InputArg, counts) || slices.ContainsFunc(p.op.OutputArg, counts) {
			continue
		}
		switch v := attrs[name].(type) {
		case int64:
			attrs[name] = number()
		case float32:
			attrs[name] = []float32{0, -1, 1e30, float32(math.NaN())}[p.random.IntN(4)]
		case []int64:
			attrs[name] = fill(int64(max(1, len(v)+p.random.IntN(3)-1)), number)
		}
	}
}

// oddTensor makes an argument with extreme numbers among small ones. It returns nil for
// dtypes that have no extreme numbers.
func (p *probe) oddTensor(dt tfbridge.DataType, shape []int64, n int64) *tfbridge.Tensor {
	longs := []int64{0, 1, 2, 3, -1, -2, 100, math.MaxInt32, math.MinInt32, 1 << 40, math.MaxInt64, math.MinInt64}
	floats := []float64{0, 1, -1, 0.5, math.NaN(), math.Inf(1), -1e30}
	pick := func(n int) int { return min(p.random.IntN(n), p.random.IntN(n)) }
	var v *tfbridge.Tensor
	switch dt {
	case tfbridge.Int32:
		v, _ = tfbridge.NewTensorFromSlice(shape, fill(n, func() int32 { return int32(longs[pick(9)]) }))
	case tfbridge.Int64:
		v, _ = tfbridge.NewTensorFromSlice(shape, fill(n, func() int64 { return longs[pick(len(longs))] }))
	case tfbridge.Float:
		v, _ = tfbridge.NewTensorFromSlice(shape, fill(n, func() float32 { return float32(floats[pick(len(floats))]) }))
	case tfbridge.Double:
		v, _ = tfbridge.NewTensorFromSlice(shape, fill(n, func() float64 { return floats[pick(len(floats))] }))
	}
	return v
}

// attack imports the operation as a model does, and runs it with odd arguments.
func (p *probe) attack(t *testing.T) {
	g := tfbridge.NewGraph()
	defer g.Close()
	b := p.build(g)
	if b == nil {
		return
	}
	var def bytes.Buffer
	if _, err := g.WriteTo(&def); err != nil {
		return
	}
	if err := os.WriteFile("graph.pb", def.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := graph.ImportModel("graph.pb", nil)
	if err != nil {
		return
	}
	defer m.Close()
	var fetches []tfbridge.Output
	for i := range b.op.NumOutputs() {
		if o, err := m.Op("probed", i); err == nil && !isHandle(tfproto.DataType(o.DataType())) {
			fetches = append(fetches, o)
		}
	}
	feeds := map[tfbridge.Output]*tfbridge.Tensor{}
	defer func() {
		for _, v := range feeds {
			v.Close()
		}
	}()
	for i, in := range b.inputs {
		o, err := m.Op(in.Op.Name(), 0)
		v, failed := p.tensor(in.DataType(), b.shapes[i])
		if err != nil || failed != nil {
			return
		}
		feeds[o] = v
	}
	if len(fetches) == 0 {
		return
	}
	outs, _ := m.Exec(t.Context(), fetches, feeds)
	for _, o := range outs {
		o.Close()
	}
}

// TestOddArguments gives operations that a model may use arguments of odd shapes and
// values, as an imported model takes them. None ends the process. A brief run takes the
// operations that have rules; a long one takes all, and reports those that end it.
func TestOddArguments(t *testing.T) {
	ops := allowedOps(t)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(ops)), func(name string) bool {
		return unfed(ops[name]) != "" || !soak.Long() && len(argcheck.Of(name)) == 0
	})
	attackAll(t, "TestOddChild", names)
}

// attackAll attacks operations in child processes, and reports those that end one.
func attackAll(t *testing.T, child string, names []string) {
	for len(names) > 0 {
		at, why, late := attackSome(t, child, names)
		if late {
			t.Logf("SLOW %s", names[at])
		} else if at < len(names) {
			t.Errorf("%s ends the process: %s", names[at], why)
		}
		names = names[min(at+1, len(names)):]
	}
}

// patience is how long an operation may take. An operation with a count of 2^40 in its
// arguments may take longer; against that there is the request's deadline, and no rule
// of the policy.
const patience = 20 * time.Second

// guarded reports whether pieces of memory have guard pages: see internal/test/guarded.sh.
func guarded() bool { return os.Getenv("MILLRACE_TEST_GUARDED") != "" }

// attackSome attacks operations in a process with little memory, until it ends. It
// returns how many survived, and the reason if not all did.
func attackSome(t *testing.T, child string, names []string) (survived int, why string, late bool) {
	limit, each := "ulimit -v 8000000;", patience
	if guarded() {
		limit, each = "", 10*patience // guard pages take much of the address space, and time
	}
	p, err := startChild(t, childOptions{
		limits: limit + " ulimit -u 2000; ulimit -c 0;", test: child, input: names, patience: each, env: []string{probeEnv + "=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("MILLRACE_TEST_KEEP"); keep != "" {
		defer func() { // the last attack, to look at
			if survived < len(names) {
				os.CopyFS(filepath.Join(keep, names[survived]), os.DirFS(p.cmd.Dir)) //nolint:errcheck // for a person
			}
		}()
	}
	p.wait(func(line string) { //nolint:errcheck // the log shows how the process ended
		if strings.HasPrefix(line, "survived ") {
			survived++
			p.alive()
		}
	})
	signs := strings.Fields("Check SIG terminate Assertion Use Buffer Double Invalid deallocated")
	for line := range strings.Lines(p.log.String()) {
		if slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(line, s) }) {
			why += strings.TrimSpace(line) + "; "
		}
	}
	return survived, why, p.stopped.Load() && survived < len(names)
}

// TestOddChild is the process that is attacked.
func TestOddChild(t *testing.T) {
	attackInChild(t, func(p *probe) {
		for range soak.Repeat(30, 150, 900) { // about as many operations
			p.attack(t)
		}
	})
}

// attackInChild attacks the operations that the parent names.
func attackInChild(t *testing.T, attack func(*probe)) {
	if os.Getenv(probeEnv) == "" {
		t.Skip("a part of TestOddArguments or TestOddHandles")
	}
	ops := allowedOps(t)
	for _, name := range strings.Fields(childInput(t)) {
		p := newProbe(ops[name])
		p.odd, p.random = true, rand.New(rand.NewPCG(p.random.Uint64(), 29))
		attack(p)
		fmt.Println("survived", name)
	}
}
