package run

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// StageTime is the work of a dataset of the pipeline so far. A dataset that was read to
// its end, such as that of a file, no longer counts.
type StageTime struct {
	Name     string        // name of TensorFlow's dataset: "Shuffle"
	Datasets int           // number of datasets; several where files are read in parallel
	Elements int64         // elements that it produced
	Time     time.Duration // time of its threads, without the datasets that it reads
	Buffered int64         // elements that it holds
}

// StageTimes returns the work of the datasets, in the order of the data. The plan must
// come from [plan.Plan.MeasureTime]. StageTimes may be called during a run, but not
// during one that began at a saved state: TensorFlow measures nothing in a restored
// iterator.
//
// It fetches IteratorGetModelProto, the model by which tf.data's autotuner decides.
func (pl *Pipeline) StageTimes(ctx context.Context, sess *tfbridge.Session) ([]StageTime, error) {
	if pl.Model.Op == nil {
		return nil, millrace.Errorf(millrace.ErrConfig, "the plan does not measure the time of its stages")
	}
	fetched, err := sess.RunContext(ctx, nil, []tfbridge.Output{pl.Model}, nil)
	if err != nil {
		return nil, err
	}
	defer fetched[0].Close()
	text, err := fetched[0].StringAt(0)
	if err != nil {
		return nil, err
	}
	model := &tfproto.ModelProto{}
	if err := proto.Unmarshal([]byte(text), model); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the model of the input pipeline: %w", err)
	}
	return stageTimes(model.GetNodes(), model.GetOutput()), nil
}

// stageTimes puts the datasets into the order of the data. A dataset may read several:
// those of the same name are one stage, and a source with fewer stages comes first.
func stageTimes(nodes map[int64]*tfproto.ModelProto_Node, output int64) []StageTime {
	var stages []StageTime
	var visit func(ids []int64)
	visit = func(ids []int64) {
		stage, inputs := StageTime{}, map[string][]int64{}
		for _, id := range ids {
			n := nodes[id]
			stage.Name = n.GetName()
			stage.Datasets++
			stage.Elements += n.GetNumElements()
			stage.Time += time.Duration(n.GetProcessingTime())
			stage.Buffered += n.GetBufferedElements()
			for _, in := range n.GetInputs() {
				inputs[nodes[in].GetName()] = append(inputs[nodes[in].GetName()], in)
			}
		}
		for _, group := range byDepth(nodes, inputs) {
			visit(group)
		}
		if !slices.Contains(bookkeeping, stage.Name) {
			stages = append(stages, stage)
		}
	}
	if nodes[output] != nil {
		visit([]int64{output})
	}
	return stages
}

// bookkeeping are nodes that tf.data puts around every pipeline.
var bookkeeping = []string{"Root", "Model", "PrivateThreadPool", "MaxIntraOpParallelism"}

// byDepth returns the groups, those with the fewest datasets before them first.
func byDepth(nodes map[int64]*tfproto.ModelProto_Node, groups map[string][]int64) [][]int64 {
	sorted := make([][]int64, 0, len(groups))
	for _, ids := range groups {
		sorted = append(sorted, ids)
	}
	slices.SortFunc(sorted, func(a, b []int64) int {
		return cmp.Or(cmp.Compare(depth(nodes, a[0]), depth(nodes, b[0])), cmp.Compare(a[0], b[0]))
	})
	return sorted
}

// depth returns the length of the longest chain that a dataset reads.
func depth(nodes map[int64]*tfproto.ModelProto_Node, id int64) int {
	deepest := 0
	for _, in := range nodes[id].GetInputs() {
		deepest = max(deepest, 1+depth(nodes, in))
	}
	return deepest
}
