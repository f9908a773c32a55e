package dataset

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace"
	"millrace/graph/dataset/internal/limit"
	"millrace/internal/base/tfproto"
)

// Switch is an option that TensorFlow decides unless it is set.
type Switch int

// The positions of a Switch.
const (
	Default Switch = iota // TensorFlow's default
	On
	Off
)

// AutotuneAlgorithm is how autotuning looks for parallelism and buffer sizes.
type AutotuneAlgorithm int

// The algorithms of autotuning.
const (
	AutotuneDefault         AutotuneAlgorithm = iota // TensorFlow's choice
	AutotuneHillClimb                                // each step changes the parameter that helps most
	AutotuneGradientDescent                          // all parameters along the gradient of the output time
	AutotuneMaxParallelism                           // as many calls in parallel as the budget allows
	AutotuneStageBased                               // the slowest stage first
)

// Options say how TensorFlow runs the whole of a dataset. The zero value is
// what Python's tf.data.Options is, but that order is always kept.
type Options struct {
	// NoAutotune keeps parallelism and buffers as they are. With autotuning, closing an
	// iterator may wait: TensorFlow's autotuner sometimes misses the signal to end, and
	// then ends only at its next check. That takes at most as long as the iterator has
	// run, and at most a minute.
	NoAutotune bool

	Name             string // name of the dataset in TensorFlow's metrics
	Sloppy           bool   // operations that leave it open may change the order
	NoOptimization   bool   // TensorFlow does not rewrite the dataset graph, except for the rewrites below that are On
	CPUBudget        int32  // number of processors that autotuning assumes; 0: all
	RAMBudget        int64  // bytes of buffers that autotuning may use; 0: half of the free memory
	Parallelism      int64  // degree that autotuning starts with; 0: TensorFlow's choice
	MinParallelism   int64  // degree that autotuning does not go below; 0: 1
	PrivateThreads   int32  // size of a thread pool for this dataset; 0: it shares the session's
	IntraOpThreads   int32  // threads that one operation may use; 0: no limit
	PrefetchOpenings bool   // interleave one after the other opens the next dataset ahead
	WarmStart        bool   // background threads start with the iterator, not with the first element
	Slack            bool   // the last prefetch leaves the processor to the consumer at its start

	// Algorithm is how autotuning looks for parallelism and sizes of buffers.
	Algorithm AutotuneAlgorithm

	Rewrites Rewrites
}

// Rewrites are TensorFlow's rewrites of the dataset graph, each separately. The
// elements stay the same, except where functions use random numbers.
type Rewrites struct {
	FilterFusion           Switch // consecutive filters become one; default off
	FilterParallelization  Switch // filters work on several elements at a time; default off
	InjectPrefetch         Switch // a prefetch at the end where there is none; default on
	MapAndBatchFusion      Switch // a map before a batch becomes one with it; default on
	MapAndFilterFusion     Switch // a map before a filter becomes one with it; default off
	MapFusion              Switch // consecutive maps become one; default off
	MapParallelization     Switch // maps of functions without state work on several elements at a time; default on
	NoopElimination        Switch // datasets that do nothing are removed; default on
	ShuffleAndRepeatFusion Switch // a shuffle before a repeat becomes one with it; default on
}

// WithOptions sets options for the datasets that d is made of. The iterator
// applies them.
func (d *Dataset) WithOptions(o *Options) *Dataset {
	d = d.orNone()
	if o == nil {
		o = &Options{}
	}
	d.scope.UpdateErr("Dataset.WithOptions", o.check())
	serialized, err := proto.MarshalOptions{Deterministic: true}.Marshal(o.proto())
	if err != nil {
		d.scope.UpdateErr("OptionsDataset", err)
	}
	return d.same("OptionsDataset", attrs{"serialized_options": string(serialized)})
}

// Finalize applies the options to d. An iterator does that itself, except on
// devices other than the CPU.
func (d *Dataset) Finalize() *Dataset {
	d = d.orNone()
	return d.same("FinalizeDataset", nil)
}

// check reports sizes that TensorFlow would misinterpret.
func (o *Options) check() error {
	if o.Algorithm < AutotuneDefault || o.Algorithm > AutotuneStageBased {
		return millrace.Errorf(millrace.ErrModel, "Algorithm is %d, which is none of autotuning", o.Algorithm)
	}
	for name, n := range map[string]int64{
		"CPUBudget": int64(o.CPUBudget), "RAMBudget": o.RAMBudget, "Parallelism": o.Parallelism, "MinParallelism": o.MinParallelism,
		"PrivateThreads": int64(o.PrivateThreads), "IntraOpThreads": int64(o.IntraOpThreads),
	} {
		if n < 0 {
			return millrace.Errorf(millrace.ErrModel, "%s is %d", name, n)
		}
		if n > limit.Parallel && name != "RAMBudget" {
			return millrace.Errorf(millrace.ErrLimit, "%s is %d, which is more than %d", name, n, limit.Parallel)
		}
	}
	return nil
}

func (o *Options) proto() *tfproto.Options {
	p := &tfproto.Options{
		OptionalDeterministic: &tfproto.Options_Deterministic{Deterministic: !o.Sloppy},
		AutotuneOptions:       o.autotune(),
		OptimizationOptions:   o.optimization(),
		ThreadingOptions:      o.threading(),
		// Symbolic checkpoints hang after a restore with a parallel interleave.
		OptionalSymbolicCheckpoint: &tfproto.Options_SymbolicCheckpoint{SymbolicCheckpoint: false},
	}
	if o.Name != "" {
		p.OptionalDatasetName = &tfproto.Options_DatasetName{DatasetName: o.Name}
	}
	if o.WarmStart {
		p.OptionalWarmStart = &tfproto.Options_WarmStart{WarmStart: true}
	}
	if o.Slack {
		p.OptionalSlack = &tfproto.Options_Slack{Slack: true}
	}
	return p
}

func (o *Options) autotune() *tfproto.AutotuneOptions {
	a := &tfproto.AutotuneOptions{
		OptionalEnabled: &tfproto.AutotuneOptions_Enabled{Enabled: !o.NoAutotune},
	}
	if o.CPUBudget > 0 {
		a.OptionalCpuBudget = &tfproto.AutotuneOptions_CpuBudget{CpuBudget: o.CPUBudget}
	}
	if o.RAMBudget > 0 {
		a.OptionalRamBudget = &tfproto.AutotuneOptions_RamBudget{RamBudget: o.RAMBudget}
	}
	if o.Parallelism > 0 {
		a.OptionalInitialParallelism = &tfproto.AutotuneOptions_InitialParallelism{InitialParallelism: o.Parallelism}
	}
	if o.MinParallelism > 0 {
		a.OptionalMinParallelism = &tfproto.AutotuneOptions_MinParallelism{MinParallelism: o.MinParallelism}
	}
	if o.Algorithm != AutotuneDefault { // the numbers are those of TensorFlow's enum
		a.OptionalAutotuneAlgorithm = &tfproto.AutotuneOptions_AutotuneAlgorithm{AutotuneAlgorithm: tfproto.AutotuneAlgorithm(o.Algorithm)}
	}
	return a
}

func (o *Options) optimization() *tfproto.OptimizationOptions {
	p := &tfproto.OptimizationOptions{}
	if o.NoOptimization {
		p.OptionalApplyDefaultOptimizations = &tfproto.OptimizationOptions_ApplyDefaultOptimizations{}
	}
	if o.PrefetchOpenings {
		p.OptionalSeqInterleavePrefetch = &tfproto.OptimizationOptions_SeqInterleavePrefetch{SeqInterleavePrefetch: true}
	}
	o.Rewrites.add(p)
	return p
}

// add sets the rewrites that have been set.
func (r *Rewrites) add(p *tfproto.OptimizationOptions) {
	message := p.ProtoReflect()
	for name, w := range map[protoreflect.Name]Switch{
		"filter_fusion":             r.FilterFusion,
		"filter_parallelization":    r.FilterParallelization,
		"inject_prefetch":           r.InjectPrefetch,
		"map_and_batch_fusion":      r.MapAndBatchFusion,
		"map_and_filter_fusion":     r.MapAndFilterFusion,
		"map_fusion":                r.MapFusion,
		"map_parallelization":       r.MapParallelization,
		"noop_elimination":          r.NoopElimination,
		"shuffle_and_repeat_fusion": r.ShuffleAndRepeatFusion,
	} {
		if on, set := w.value(); set {
			message.Set(message.Descriptor().Fields().ByName(name), protoreflect.ValueOfBool(on))
		}
	}
}

// value returns the value of a switch, and whether it is set.
func (w Switch) value() (on, set bool) {
	return w == On, w == On || w == Off
}

func (o *Options) threading() *tfproto.ThreadingOptions {
	t := &tfproto.ThreadingOptions{}
	if o.PrivateThreads > 0 {
		t.OptionalPrivateThreadpoolSize = &tfproto.ThreadingOptions_PrivateThreadpoolSize{PrivateThreadpoolSize: o.PrivateThreads}
	}
	if o.IntraOpThreads > 0 {
		t.OptionalMaxIntraOpParallelism = &tfproto.ThreadingOptions_MaxIntraOpParallelism{MaxIntraOpParallelism: o.IntraOpThreads}
	}
	return t
}

// TensorFlow rewrote a pipeline. It wraps AssertNextDataset.
func (d *Dataset) AssertNext(names ...string) *Dataset {
	d = d.orNone()
	if len(names) == 0 {
		return d.fail("Dataset.AssertNext", "there are no names")
	}
	return d.same("AssertNextDataset", nil, d.scope.Const(names))
}
