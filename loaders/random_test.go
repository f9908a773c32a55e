package loaders_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// array is a tensor, or a row of one, of the reference.
type array struct {
	Shape  []int64
	Values []any
}

func vector(values ...any) array { return array{[]int64{int64(len(values))}, values} }

// reference is a random config and a description, without TensorFlow, of the rows that
// it should give.
type reference struct {
	r       *rand.Rand
	dataset *fixture.Dataset
	varLen  bool
	rows    int64
	tensors map[string]func(id int64) array // tensors of an example after all steps
	pad     map[string]any                  // values to pad with; nil: no padding
	fixed   map[string]int64                // sizes to pad to instead of the longest
}

// newReference draws a config and writes its data.
func newReference(t *testing.T, seed uint64) *reference {
	r := rand.New(rand.NewPCG(seed, 0))
	ref := &reference{r: r, dataset: fixture.New(t), varLen: r.IntN(2) == 0, tensors: map[string]func(int64) array{}, fixed: map[string]int64{}}
	ref.drawFeatures()
	ref.drawTensors()
	ref.drawOrder()
	ref.write(t)
	return ref
}

func (ref *reference) drawFeatures() {
	m := ref.dataset.Manifest
	if c := ref.r.IntN(3); c > 0 {
		m["compression"] = []string{"", "gzip", "zlib"}[c]
	}
	features := []fixture.Object{
		{"name": "id", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
		{"name": "small", "dtype": "uint8", "shape": []int{}, "deserialize_type": "int"},
		{"name": "xs", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float"},
		{"name": "raw", "dtype": "int16", "shape": []int{3}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "big"}},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
	}
	if m["allow_var_len"] = ref.varLen; ref.varLen {
		for _, f := range features {
			f["var_len"] = false
		}
		features = append(features, fixture.Object{"name": "list", "dtype": "int32", "shape": []int{}, "deserialize_type": "int", "var_len": true})
	}
	ref.r.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
	m["features"] = features
}

// listOf is the feature list of a record.
func listOf(id int64) (list []any) {
	for i := range id % 4 {
		list = append(list, int32(10*id+i))
	}
	return list
}

// stored returns the values of each feature of a record, as the manifest declares it.
var stored = map[string]func(id int64) array{
	"id":    func(id int64) array { return array{nil, []any{id}} },
	"small": func(id int64) array { return array{nil, []any{uint8(3 * id)}} },
	"xs":    func(id int64) array { return vector(float32(id)/4, -float32(id)) },
	"raw":   func(id int64) array { return vector(int16(id), int16(-id), int16(300*id)) },
	"text":  func(id int64) array { return array{nil, []any{fmt.Sprint("t\x00\xff", id)}} },
	"list":  func(id int64) array { return vector(listOf(id)...) },
}

// drawTensors draws primaries, secondaries, steps and padding.
func (ref *reference) drawTensors() {
	args := ref.dataset.Args
	primaries := []fixture.Object{{"from_name": "id", "to_name": "id"}}
	ref.tensors["id"] = stored["id"]
	names := []string{"small", "xs", "raw", "text"}
	if ref.varLen {
		names = append(names, "list")
	}
	for _, from := range names {
		for i := range ref.r.IntN(3) {
			to := fmt.Sprint(from, i)
			primaries = append(primaries, fixture.Object{"from_name": from, "to_name": to})
			ref.tensors[to] = stored[from]
		}
	}
	ref.r.Shuffle(len(primaries), func(i, j int) { primaries[i], primaries[j] = primaries[j], primaries[i] })
	args["primary_features"] = primaries
	plain := true
	if ref.r.IntN(2) == 0 {
		plain = false
		ref.drawConst()
		ref.drawStep()
	}
	if _, ragged := ref.tensors["list0"]; ragged || ref.r.IntN(3) == 0 {
		plain = false
		ref.drawPadding()
	}
	if plain && !ref.varLen {
		args["multi_load"] = ref.r.IntN(2) == 0
	}
}

func (ref *reference) drawConst() {
	c := fixture.Object{"shape": []int{2}, "dtype": "int8", "value": 7}
	ref.tensors["const"] = func(int64) array { return vector(int8(7), int8(7)) }
	if of, ok := ref.tensors["list0"]; ok {
		c = fixture.Object{"shape": "list0", "dtype": "list0", "value": 5}
		ref.tensors["const"] = func(id int64) array {
			return vector(slices.Repeat([]any{int32(5)}, len(of(id).Values))...)
		}
	}
	ref.dataset.Args["secondary_features"] = []fixture.Object{{"to_name": "const", "type": "const", "args": c}}
}

func (ref *reference) drawStep() {
	var steps []fixture.Object
	slice := func(tensor, text string, of func(array) array) {
		before, ok := ref.tensors[tensor]
		if !ok {
			return
		}
		steps = append(steps, fixture.Object{"tensor": tensor, "type": "slice", "args": fixture.Object{"slice": text}})
		ref.tensors[tensor] = func(id int64) array { return of(before(id)) }
	}
	slice("raw0", "[1:]", func(a array) array { return vector(a.Values[1:]...) })
	slice("raw0", "[-1]", func(a array) array { return array{nil, a.Values[len(a.Values)-1:]} })
	slice("xs1", ":1", func(a array) array { return vector(a.Values[:1]...) })
	slice("list1", "[1:]", func(a array) array { return vector(a.Values[min(1, len(a.Values)):]...) })
	if steps != nil {
		ref.dataset.Args["processing_steps"] = steps
	}
}

func (ref *reference) drawPadding() {
	ref.pad = map[string]any{}
	_, list := ref.tensors["list0"]
	if !list || ref.r.IntN(2) == 0 {
		ref.dataset.Args["padding"] = true
		return
	}
	ref.dataset.Args["padding"] = []fixture.Object{{"tensor": "list0", "shape": []int{5}, "value": -9}, {"tensor": "id", "value": 1}}
	ref.pad["list0"], ref.fixed["list0"] = int32(-9), 5
}

// drawOrder draws everything that does not change an example.
func (ref *reference) drawOrder() {
	r, args := ref.r, ref.dataset.Args
	args["target_batch_size"], args["epochs"] = 1+r.IntN(7), 1+r.IntN(3)
	args["drop_remainder"] = r.IntN(2) == 0
	args["num_parallel_reads"], args["num_parallel_parses"] = 1+r.IntN(4), 1+r.IntN(4)
	args["num_prefetch"], args["num_read_buffer_bytes"] = r.IntN(4), r.IntN(2)*1000
	if args["shuffle"] = r.IntN(2) == 0; args["shuffle"].(bool) {
		args["num_shuffle_buffer_elements"], args["num_filenames_shuffle_buffer"] = 1+r.IntN(20), 1+r.IntN(4)
		args["num_mix_files"] = 1 + r.IntN(4)
	}
}

func (ref *reference) write(t *testing.T) {
	for file := range 1 + ref.r.IntN(4) {
		var records [][]byte
		for range ref.r.IntN(9) {
			records = append(records, ref.record(ref.rows))
			ref.rows++
		}
		ref.dataset.WriteRecords(t, fmt.Sprint(file, ".tfrecords"), records...)
	}
}

func (ref *reference) record(id int64) []byte {
	var raw []byte
	for _, v := range stored["raw"](id).Values {
		raw = binary.BigEndian.AppendUint16(raw, uint16(v.(int16)))
	}
	text := []byte(stored["text"](id).Values[0].(string))
	features := []example.Named{
		named("id", fixture.Ints(id)), named("small", fixture.Ints(3*id)), named("xs", fixture.Floats(float32(id)/4, -float32(id))),
		named("raw", example.Feature{Kind: example.Bytes, Bytes: [][]byte{raw}}), named("text", example.Feature{Kind: example.Bytes, Bytes: [][]byte{text}}),
	}
	if !ref.varLen {
		return example.Marshal(features)
	}
	list := []example.Feature{}
	for _, v := range listOf(id) {
		list = append(list, fixture.Ints(int64(v.(int32))))
	}
	return example.MarshalSequence(features, []example.NamedList{{Name: "list", Features: list}})
}

// batch returns what a batch of these examples must be.
func (ref *reference) batch(ids []int64) map[string]array {
	batch := map[string]array{}
	for name, of := range ref.tensors {
		rows := make([]array, len(ids))
		size := ref.fixed[name]
		for i, id := range ids {
			if rows[i] = of(id); len(rows[i].Shape) > 0 {
				size = max(size, rows[i].Shape[0])
			}
		}
		all := array{Shape: []int64{int64(len(ids))}}
		if len(rows[0].Shape) > 0 {
			all.Shape = append(all.Shape, size)
		}
		for _, row := range rows {
			all.Values = append(all.Values, row.Values...)
			for n := int64(len(row.Values)); len(row.Shape) > 0 && n < size; n++ {
				all.Values = append(all.Values, ref.padValue(name))
			}
		}
		batch[name] = all
	}
	return batch
}

func (ref *reference) padValue(name string) any {
	if v, ok := ref.pad[name]; ok {
		return v
	}
	return int32(0) // only the list, and constants of its shape, differ in size and are padded
}

// flatten copies a tensor.
func flatten(t *testing.T, x *tfbridge.Tensor) array {
	t.Helper()
	a := array{Shape: x.Shape()}
	var err error
	switch x.DataType() {
	case tfbridge.Int64:
		a.Values, err = anys[int64](x)
	case tfbridge.Int32:
		a.Values, err = anys[int32](x)
	case tfbridge.Int16:
		a.Values, err = anys[int16](x)
	case tfbridge.Int8:
		a.Values, err = anys[int8](x)
	case tfbridge.Uint8:
		a.Values, err = anys[uint8](x)
	case tfbridge.Float:
		a.Values, err = anys[float32](x)
	default:
		var texts []string
		texts, err = x.Strings()
		for _, s := range texts {
			a.Values = append(a.Values, s)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func anys[T any](x *tfbridge.Tensor) (values []any, err error) {
	all, err := tfbridge.View[T](x)
	for _, v := range all {
		values = append(values, v)
	}
	return values, err
}

// check compares a loader with the reference: each batch with its expected examples,
// and the order of the examples.
func (ref *reference) check(t *testing.T, l *loaders.Loader) {
	var ids []int64
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]array{}
		for _, name := range b.Names() {
			got[name] = flatten(t, b.Tensor(name))
		}
		here := column[int64](t, b, "id")
		if diff := cmp.Diff(ref.batch(here), got); diff != "" {
			t.Fatalf("examples %d (-want +got)\n%s", here, diff)
		}
		ids = append(ids, here...)
	}
	ref.checkOrder(t, ids)
}

func (ref *reference) checkOrder(t *testing.T, ids []int64) {
	args := ref.dataset.Args
	total := ref.rows * int64(args["epochs"].(int))
	if args["drop_remainder"].(bool) {
		total -= total % int64(args["target_batch_size"].(int))
	}
	if int64(len(ids)) != total {
		t.Fatalf("%d examples, want %d", len(ids), total)
	}
	for len(ids) > 0 {
		epoch := slices.Clone(ids[:min(int64(len(ids)), ref.rows)])
		ids = ids[len(epoch):]
		if args["shuffle"].(bool) {
			if slices.Sort(epoch); int64(len(epoch)) < ref.rows {
				if len(slices.Compact(slices.Clone(epoch))) != len(epoch) {
					t.Errorf("an example twice in one epoch: %d", epoch)
				}
				continue
			}
		}
		if diff := cmp.Diff(count(int64(len(epoch))), epoch); diff != "" {
			t.Errorf("order (-want +got)\n%s", diff)
		}
	}
}

// Loaders of random configs give the same examples as a reading without TensorFlow, and
// in the same order if an order is defined (B15).
func TestRandomConfigs(t *testing.T) {
	testruntime.Need(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ref := newReference(t, seed)
			for _, l := range openBothWays(t, ref.dataset) {
				ref.check(t, l)
				ref.check(t, l)
			}
			if t.Failed() {
				t.Logf("manifest %v\nargs %v", ref.dataset.Manifest, ref.dataset.Args)
			}
		})
	}
}

// openBothWays opens a dataset's loader with our own operations, where they
// are built, and without.
func openBothWays(t *testing.T, d *fixture.Dataset) (both []*loaders.Loader) {
	t.Helper()
	for _, native := range []bool{true, false} {
		both = append(both, openAsUsersDo(t, d, native))
	}
	return both
}
