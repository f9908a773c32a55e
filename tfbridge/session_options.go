package tfbridge

// #include "capi.h"
import "C"

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
)

// SessionOptions are the options of a session. Nil and the zero value mean the
// defaults.
type SessionOptions struct {
	// Target is the server to run on; empty means this process.
	Target string
	// Config is a serialized ConfigProto message. The fields below override
	// its fields.
	Config []byte

	// IntraOpThreads is the number of threads that one operation may use, and
	// InterOpThreads the number of operations that run at once. With 0, Config or
	// TensorFlow decides. Unless OwnThreads is set, the first session of a process
	// decides for all sessions. InterOpThreads -1 runs operations in the calling
	// thread: small graphs run several times as fast, but a pipeline in such a session
	// does one thing at a time unless its options give it separate threads.
	IntraOpThreads, InterOpThreads int
	// OwnThreads gives the session its own pool of InterOpThreads threads.
	OwnThreads bool
	// LoopPool gives runs that can be interrupted, and that may compute a loop, a pool
	// of threads that all such sessions share. In a pool of few threads, endless loops
	// keep each other from being interrupted; this one has room for as many loops as
	// there may be runs by default, 64. The session's other runs use a separate pool,
	// as with OwnThreads. InterOpThreads must not be -1. With a Target it has no effect:
	// a server has one pool.
	LoopPool bool

	// GPUGrowth allocates GPU memory as it is needed. Without it TensorFlow
	// allocates nearly all of it at once.
	GPUGrowth bool
	// GPUMemoryFraction is the share of each visible GPU's memory that the process may
	// use, from 0 to 1. With 0, TensorFlow decides. More than 1 oversubscribes memory
	// if the driver supports that.
	GPUMemoryFraction float64
	// VisibleGPUs are the numbers of the GPUs that the process uses. They
	// become GPU:0, GPU:1 and so on in this order. Nil means all, and an empty
	// list none. The first session of a process decides for all.
	VisibleGPUs []int

	// DeviceFilters are the devices of a cluster that the session may use, by the beginning
	// of their names: "/job:worker/task:1". Nil means all. A session that sees only its own
	// task starts without the other tasks.
	DeviceFilters []string
	// CollectiveLeader is the task that numbers the devices of collective operations, such
	// as "/job:worker/replica:0/task:0"; empty: the session has no collective operations.
	CollectiveLeader string

	// JIT sets how eagerly XLA compiles parts of the graph.
	JIT JITLevel
	// QuickStart skips the part of TensorFlow's optimizer that converts each graph and
	// each function to MLIR and back (disable_tfg_optimizer of RewriterConfig); the other
	// parts still run. A pipeline starts about twice as fast, because each function of a
	// dataset is optimized at each start. Values do not change. A graph that runs for long
	// after one start, as a model does, has no need of it.
	QuickStart bool
	// KeepMemory skips the part of TensorFlow's optimizer that moves tensors between a
	// GPU's memory and the host's, or computes them again, where a training would need too
	// much (memory_optimization of RewriterConfig). It estimates the cost of each operation
	// by its shapes, and ends the process for some that no run would reach.
	KeepMemory bool
	// SoftPlacement runs an operation on another device if the one that the graph
	// requests is missing or cannot run it. Without it that is an error.
	SoftPlacement bool
	// LogPlacement writes to stderr which device runs which operation.
	// TensorFlow's log must be on: see RuntimeOptions.Verbose.
	LogPlacement bool
	// Timeout stops each run that takes longer, with an error of class
	// millrace.ErrCanceled and code DeadlineExceeded. It is rounded up to
	// milliseconds; 0 means no timeout. Do not use it for runs that read an
	// iterator: stopping such a run spoils the iterator for good. With a Target it limits
	// each operation on the server too, its start included: it is operation_timeout_in_ms
	// of ConfigProto.
	Timeout time.Duration
	// CloseTimeout is the time that Session.Close waits for runs in flight, after it
	// has cancelled them. An operation that computes is not stopped, only waited for. 0
	// means 5 seconds.
	CloseTimeout time.Duration
}

// loopThreads is the number of threads in the pool for loops, and loopPoolIndex its
// index among the session's pools. A loop takes one thread, and its guard needs another
// for a moment.
const (
	loopThreads   = defaultBlocking + 8
	loopPoolIndex = 1
)

// JITLevel sets how eagerly XLA compiles.
type JITLevel int

// The levels, with TensorFlow's numbers.
const (
	JITDefault JITLevel = 0  // as in TF_XLA_FLAGS; usually nothing is compiled
	JITOff     JITLevel = -1 // compile nothing
	JITOn      JITLevel = 1  // compile what certainly becomes faster, on CPUs too
	JITEager   JITLevel = 2  // compile more
)

// The fields used of ConfigProto, and of the messages in it.
const (
	configDeviceCount = 1
	configFilters     = 4
	configIntraOp     = 2
	configInterOp     = 5
	configGPU         = 6
	configSoft        = 7
	configLog         = 8
	configOwnThreads  = 9
	configGraph       = 10
	configTimeout     = 11
	configPools       = 12
	configMore        = 16 // "experimental"

	moreLeader = 1

	poolThreads = 1
	poolName    = 2

	deviceCountKey   = 1
	deviceCountValue = 2

	gpuFraction = 1
	gpuGrowth   = 4
	gpuVisible  = 5

	graphOptimizer  = 3
	optimizerJIT    = 5
	optimizerJITCPU = 7

	graphRewrite    = 10
	rewriteMemory   = 4
	rewriteNoMLIR   = 32
	noMemoryRewrite = 1
)

// check refuses invalid options. Some of them would end the process in
// TensorFlow.
func (o *SessionOptions) check() error {
	if err := checkNames("target", o.Target); err != nil {
		return err
	}
	if err := checkNames("device of a collective leader or a filter", append(slices.Clone(o.DeviceFilters), o.CollectiveLeader)...); err != nil {
		return err
	}
	if o.IntraOpThreads < 0 || o.InterOpThreads < -1 || max(o.IntraOpThreads, o.InterOpThreads) > math.MaxInt32 {
		return millrace.Errorf(millrace.ErrConfig, "a session with %d threads in operations and %d operations at a time", o.IntraOpThreads, o.InterOpThreads)
	}
	if !(o.GPUMemoryFraction >= 0) || math.IsInf(o.GPUMemoryFraction, 0) {
		return millrace.Errorf(millrace.ErrConfig, "a session with a GPU memory fraction of %v", o.GPUMemoryFraction)
	}
	seen := map[int]bool{}
	for _, n := range o.VisibleGPUs {
		if n < 0 || seen[n] {
			return millrace.Errorf(millrace.ErrConfig, "a session with visible GPUs %v", o.VisibleGPUs)
		}
		seen[n] = true
	}
	if o.LoopPool && o.InterOpThreads < 0 {
		return millrace.Errorf(millrace.ErrConfig, "a session with a pool for loops whose operations run in the calling thread")
	}
	if o.JIT < JITOff || o.JIT > JITEager {
		return millrace.Errorf(millrace.ErrConfig, "a session with JIT level %d", o.JIT)
	}
	if o.CloseTimeout < 0 {
		return millrace.Errorf(millrace.ErrConfig, "a session with a timeout of Close of %v", o.CloseTimeout)
	}
	if o.Timeout < 0 {
		return millrace.Errorf(millrace.ErrConfig, "a session with a timeout of %v", o.Timeout)
	}
	return nil
}

// config returns the options as a ConfigProto message. If a field occurs twice,
// protobuf takes the last value, or merges the two messages.
func (o *SessionOptions) config() []byte {
	b := append([]byte(nil), o.Config...)
	number := func(num protowire.Number, v int64) {
		if v != 0 {
			b = appendVarint(b, num, uint64(v))
		}
	}
	number(configIntraOp, int64(o.IntraOpThreads))
	number(configInterOp, int64(o.InterOpThreads))
	number(configOwnThreads, flag(o.OwnThreads))
	number(configSoft, flag(o.SoftPlacement))
	number(configLog, flag(o.LogPlacement))
	number(configTimeout, milliseconds(o.Timeout))
	for _, filter := range o.DeviceFilters {
		b = appendBytes(b, configFilters, []byte(filter))
	}
	if o.CollectiveLeader != "" {
		b = appendBytes(b, configMore, appendBytes(nil, moreLeader, []byte(o.CollectiveLeader)))
	}
	if o.pooled() {
		b = appendBytes(b, configPools, nil) // pool 0, the default, is a private pool
		loops := appendVarint(nil, poolThreads, loopThreads)
		b = appendBytes(b, configPools, appendBytes(loops, poolName, []byte("millrace_loops")))
	}
	if gpu := o.gpu(); len(gpu) > 0 {
		b = appendBytes(b, configGPU, gpu)
	}
	if o.VisibleGPUs != nil && len(o.VisibleGPUs) == 0 {
		b = appendBytes(b, configDeviceCount, appendVarint(appendBytes(nil, deviceCountKey, []byte("GPU")), deviceCountValue, 0))
	}
	if o.JIT != JITDefault {
		jit := appendVarint(nil, optimizerJIT, uint64(int64(o.JIT)))
		jit = appendVarint(jit, optimizerJITCPU, uint64(flag(o.JIT > 0)))
		b = appendBytes(b, configGraph, appendBytes(nil, graphOptimizer, jit))
	}
	if o.KeepMemory {
		b = appendBytes(b, configGraph, appendBytes(nil, graphRewrite, appendVarint(nil, rewriteMemory, noMemoryRewrite)))
	}
	if o.QuickStart {
		b = appendBytes(b, configGraph, appendBytes(nil, graphRewrite, appendVarint(nil, rewriteNoMLIR, 1)))
	}
	return b
}

// pooled reports whether the session has a pool for loops.
func (o *SessionOptions) pooled() bool { return o != nil && o.LoopPool && o.Target == "" }

// gpu returns the options for GPUs as a GPUOptions message.
func (o *SessionOptions) gpu() []byte {
	var b []byte
	if o.GPUMemoryFraction > 0 {
		b = protowire.AppendFixed64(protowire.AppendTag(b, gpuFraction, protowire.Fixed64Type), math.Float64bits(o.GPUMemoryFraction))
	}
	if o.GPUGrowth {
		b = appendVarint(b, gpuGrowth, 1)
	}
	if len(o.VisibleGPUs) > 0 {
		words := make([]string, len(o.VisibleGPUs))
		for i, n := range o.VisibleGPUs {
			words[i] = strconv.Itoa(n)
		}
		b = appendBytes(b, gpuVisible, []byte(strings.Join(words, ",")))
	}
	return b
}

// flag converts a bool to a varint.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// milliseconds returns d in milliseconds, rounded up.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// fewestThreads returns a ConfigProto that gives a machine with one processor two
// inter-op threads, unless the options set the number. With one thread, a loop that
// computes would keep its own guard from running; guard.go explains why that matters.
func fewestThreads() []byte {
	if runtime.NumCPU() > 1 {
		return nil
	}
	return appendVarint(nil, configInterOp, 2)
}

// c checks the options and makes C ones, which the caller frees.
func (o *SessionOptions) c() (*C.TF_SessionOptions, error) {
	if o == nil {
		o = &SessionOptions{}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	config := append(fewestThreads(), o.config()...)
	opts := C.TF_NewSessionOptions()
	if o.Target != "" {
		var cs cstrings
		defer cs.free()
		C.TF_SetTarget(opts, cs.add(o.Target))
	}
	err := check("TF_SetConfig", func(st *C.TF_Status) {
		C.TF_SetConfig(opts, unsafe.Pointer(unsafe.SliceData(config)), C.size_t(len(config)), st)
	})
	if err != nil {
		C.TF_DeleteSessionOptions(opts)
		return nil, err
	}
	return opts, nil
}
