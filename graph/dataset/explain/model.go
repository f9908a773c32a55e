package explain

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// Where do the figures of a stage come from? Not from the serialized dataset: that is a
// program before it runs. tf.data's autotuner keeps a model of the iterators that run,
// a tree of nodes with times and counts, and IteratorGetModelProto returns it. It has
// two gaps. A node disappears with its iterator: the node of a file at the end of the
// file, and everything below a Repeat at the end of an epoch. And its nodes carry the
// names of iterators, not of the dataset's nodes.
//
// So a Model collects serialized models at many moments of a pass. It keeps the last
// state of each node. In the end it walks the tree of nodes and the tree of stages
// together:
//
//	stages                 nodes of the model
//	Prefetch               Root                 no stage: passed over
//	  Repeat                 Prefetch
//	    FlatMap                FiniteRepeat     "Repeat" is in the name
//	      Range                  FlatMap        one of each epoch: added up
//	      Batch (function)       FlatMap
//	                               Range        the first input, where it is a Range
//	                               Batch        all others belong to the function
//	                               Batch

// Model collects what tf.data measured in a pass.
type Model struct {
	nodes  map[int64]*tfproto.ModelProto_Node
	inputs map[int64][]int64 // all inputs that a node has had, in ascending order
	root   int64
}

// Add adds a serialized ModelProto that was taken later than the one before.
func (m *Model) Add(serialized []byte) error {
	now := &tfproto.ModelProto{}
	if err := proto.Unmarshal(serialized, now); err != nil {
		return millrace.Errorf(millrace.ErrInternal, "read the model of the input pipeline: %w", err)
	}
	if m.nodes == nil {
		m.nodes, m.inputs = map[int64]*tfproto.ModelProto_Node{}, map[int64][]int64{}
	}
	m.root = now.GetOutput()
	for id, n := range now.GetNodes() {
		m.nodes[id] = n
		for _, in := range n.GetInputs() {
			if at, known := slices.BinarySearch(m.inputs[id], in); !known {
				m.inputs[id] = slices.Insert(m.inputs[id], at, in)
			}
		}
	}
	return nil
}

// Measure sets the figures of a stage and of the stages that it reads. A stage without
// nodes in the model keeps no figures.
func (m *Model) Measure(s *Stage) {
	if m.nodes[m.root] != nil {
		m.match(s, []int64{m.root})
	}
}

// match assigns the figures of nodes to a stage. It skips nodes that belong to no
// stage.
func (m *Model) match(s *Stage, ids []int64) {
	for len(ids) > 0 && !m.fits(s, ids[0]) {
		var deeper []int64
		for _, id := range ids {
			deeper = append(deeper, m.inputs[id]...)
		}
		ids = deeper
	}
	if len(ids) == 0 {
		return
	}
	s.Measured = m.sum(ids)
	inputs := make([][]int64, len(s.Inputs))
	var functions []int64
	for _, id := range ids {
		functions = append(functions, m.distribute(s, m.inputs[id], inputs)...)
	}
	for i, in := range s.Inputs {
		m.match(in, inputs[i])
	}
	for _, f := range s.Functions {
		m.match(f, functions)
	}
}

// distribute assigns the inputs of a node to the stage's inputs, and returns the inputs
// that belong to the stage's functions. A stage without functions opens its only input
// once an epoch.
func (m *Model) distribute(s *Stage, ids []int64, inputs [][]int64) (functions []int64) {
	for i, in := range s.Inputs {
		if len(ids) == 0 || !m.leadsTo(in, ids[0]) {
			continue
		}
		n := 1
		if len(s.Inputs) == 1 && len(s.Functions) == 0 {
			n = len(ids)
		}
		inputs[i] = append(inputs[i], ids[:n]...)
		ids = ids[n:]
	}
	return ids
}

// leadsTo reports whether a node belongs to a stage, or its chain of first inputs leads
// to such a node.
func (m *Model) leadsTo(s *Stage, id int64) bool {
	for !m.fits(s, id) {
		if len(m.inputs[id]) == 0 {
			return false
		}
		id = m.inputs[id][0]
	}
	return true
}

// fits reports whether a node may belong to a stage: "FiniteRepeat" fits Repeat, and
// "ParallelMapV2" fits ParallelMap.
func (m *Model) fits(s *Stage, id int64) bool {
	return m.nodes[id] != nil && strings.Contains(m.nodes[id].GetName(), s.Name())
}

// sum adds up nodes.
func (m *Model) sum(ids []int64) *Measured {
	sum := &Measured{Datasets: len(ids)}
	for _, id := range ids {
		n := m.nodes[id]
		sum.Elements += n.GetNumElements()
		sum.Time += time.Duration(n.GetProcessingTime())
		sum.Bytes += n.GetBytesProduced()
		sum.Buffered += n.GetBufferedElements()
	}
	for _, p := range m.nodes[ids[len(ids)-1]].GetParameters() {
		sum.Parameters = append(sum.Parameters, Parameter{Name: p.GetName(), Value: p.GetValue(), Autotune: p.GetTunable()})
	}
	slices.SortFunc(sum.Parameters, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	return sum
}
