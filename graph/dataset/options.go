package dataset

import (
	"google.golang.org/protobuf/proto"

	"millrace/internal/tfproto"
)

// Options say how TensorFlow runs the whole of a dataset. The zero value is
// what Python's tf.data.Options is, but that order is always kept.
type Options struct {
	Sloppy           bool  // operations that leave it open may change the order
	NoAutotune       bool  // no autotuning of parallelism and buffers
	NoOptimization   bool  // none of TensorFlow's rewrites of the dataset graph
	CPUBudget        int32 // processors that autotuning counts on; 0: all
	RAMBudget        int64 // bytes of buffers that autotuning may use; 0: half of what is free
	PrivateThreads   int32 // size of a thread pool for this dataset; 0: it shares the session's
	IntraOpThreads   int32 // threads that one operation may use; 0: no limit
	PrefetchOpenings bool  // interleave one after the other opens the next dataset ahead
}

// WithOptions sets options for the datasets that d is made of. The iterator
// applies them.
func (d *Dataset) WithOptions(o *Options) *Dataset {
	if o == nil {
		o = &Options{}
	}
	serialized, err := proto.MarshalOptions{Deterministic: true}.Marshal(o.proto())
	if err != nil {
		d.scope.UpdateErr("OptionsDataset", err)
	}
	return d.same("OptionsDataset", attrs{"serialized_options": string(serialized)})
}

// Finalize applies the options to d. An iterator does that itself, except on
// devices other than the CPU.
func (d *Dataset) Finalize() *Dataset {
	return d.same("FinalizeDataset", nil)
}

func (o *Options) proto() *tfproto.Options {
	return &tfproto.Options{
		OptionalDeterministic: &tfproto.Options_Deterministic{Deterministic: !o.Sloppy},
		AutotuneOptions:       o.autotune(),
		DistributeOptions:     &tfproto.DistributeOptions{},
		OptimizationOptions:   o.optimization(),
		ThreadingOptions:      o.threading(),
		// Symbolic checkpoints hang after a restore with a parallel interleave.
		OptionalSymbolicCheckpoint: &tfproto.Options_SymbolicCheckpoint{SymbolicCheckpoint: false},
	}
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
	return p
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
