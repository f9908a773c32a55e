package tfbridge

// #include "capi.h"
// #include "data_server.h"
import "C"

import (
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
)

// ClusterSpec holds the addresses of the tasks of each job, HOST:PORT, in the order of their
// numbers; it is tf.train.ClusterSpec of Python.
type ClusterSpec map[string][]string

// ServerOptions says which task of a cluster a server is.
type ServerOptions struct {
	Cluster ClusterSpec // required
	Job     string      // the job of this task; required
	Task    int         // the number of this task in its job, from 0
	// Session holds the options of the sessions that other processes open on this server,
	// and of collective operations. Nil means the defaults.
	Session *SessionOptions
}

// Server is TensorFlow's gRPC server: it runs the parts of graphs that the sessions of a
// cluster place on this process.
//
// TensorFlow cannot stop a server. It ends with the process, so there is nothing to close,
// and a port stays taken until then. The server listens on every interface, without
// encryption or authentication, and runs any graph that somebody sends to its port: use it
// in a network whose machines you trust.
//
// A Server is safe for concurrent use.
type Server struct{ target string }

// Fields of the ServerDef message and of the messages in it.
const (
	serverCluster  = 1
	serverJob      = 2
	serverTask     = 3
	serverConfig   = 4
	serverProtocol = 5

	clusterJob = 1
	jobName    = 1
	jobTasks   = 2
	taskKey    = 1
	taskValue  = 2
)

// NewServer starts the server of one task. It returns when the server accepts connections;
// the other tasks of the cluster need not run yet. A port that another process has is an
// error of class millrace.ErrRuntime.
//
// It wraps TF_NewServer and TF_ServerStart.
func NewServer(o *ServerOptions) (*Server, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	def := o.encode()
	var p *C.TF_Server // nobody frees it: that would end the process
	err := check("TF_NewServer", func(st *C.TF_Status) {
		p = C.TF_NewServer(unsafe.Pointer(unsafe.SliceData(def)), C.size_t(len(def)), st)
	})
	if err == nil {
		err = check("TF_ServerStart", func(st *C.TF_Status) { C.TF_ServerStart(p, st) })
	}
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrRuntime, "the server of task %d of job %q at %s: %w; is the port free?", o.Task, o.Job, o.address(), err)
	}
	return &Server{target: C.GoString(C.TF_ServerTarget(p))}, nil
}

// Target returns what SessionOptions.Target takes to run on the server: "grpc://HOST:PORT".
func (s *Server) Target() string { return s.target }

// address returns the address of the task.
func (o *ServerOptions) address() string { return o.Cluster[o.Job][o.Task] }

// Device returns the name of the first processor of a task, as in SessionOptions.DeviceFilters
// and graph scopes: "/job:worker/replica:0/task:1".
func (o *ServerOptions) Device() string {
	return fmt.Sprintf("/job:%s/replica:0/task:%d", o.Job, o.Task)
}

// check refuses options that contradict each other. Some of them would end the process in
// TensorFlow.
func (o *ServerOptions) check() error {
	if o == nil || len(o.Cluster) == 0 {
		return millrace.Errorf(millrace.ErrConfig, "a server without a cluster")
	}
	jobs := slices.Sorted(maps.Keys(o.Cluster))
	if _, ok := o.Cluster[o.Job]; !ok {
		return millrace.Errorf(millrace.ErrConfig, "the cluster has no job %q; it has %q", o.Job, jobs)
	}
	if n := len(o.Cluster[o.Job]); o.Task < 0 || o.Task >= n {
		return millrace.Errorf(millrace.ErrConfig, "there is no task %d of job %q, which has %d tasks, numbered from 0", o.Task, o.Job, n)
	}
	seen := map[string]string{}
	for _, job := range jobs {
		if err := checkNames("job of a cluster", job); err != nil {
			return err
		}
		for i, address := range o.Cluster[job] {
			where := fmt.Sprintf("task %d of job %q", i, job)
			if err := checkAddress(address); err != nil {
				return millrace.Errorf(millrace.ErrConfig, "%s: %w", where, err)
			}
			if other, ok := seen[address]; ok {
				return millrace.Errorf(millrace.ErrConfig, "%s and %s have the same address %s", other, where, address)
			}
			seen[address] = where
		}
	}
	if o.Session == nil {
		return nil
	}
	return o.Session.check()
}

// checkAddress refuses what is not HOST:PORT.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the address %q is not HOST:PORT: %w", address, err)
	}
	if n, err := strconv.Atoi(port); err != nil || host == "" || n < 1 || n > math.MaxUint16 {
		return fmt.Errorf("the address %q is not HOST:PORT with a port from 1 to 65535", address)
	}
	return checkNames("address", address)
}

// encode returns the options as a ServerDef message.
func (o *ServerOptions) encode() []byte {
	var cluster []byte
	for _, job := range slices.Sorted(maps.Keys(o.Cluster)) {
		def := appendBytes(nil, jobName, []byte(job))
		for i, address := range o.Cluster[job] {
			task := appendVarint(nil, taskKey, uint64(i))
			def = appendBytes(def, jobTasks, appendBytes(task, taskValue, []byte(address)))
		}
		cluster = appendBytes(cluster, clusterJob, def)
	}
	b := appendBytes(nil, serverCluster, cluster)
	b = appendBytes(b, serverJob, []byte(o.Job))
	b = appendVarint(b, serverTask, uint64(o.Task))
	if o.Session != nil {
		b = appendBytes(b, serverConfig, o.Session.config())
	}
	return appendBytes(b, serverProtocol, []byte("grpc"))
}

// DispatcherOptions are the options of [NewDispatchServer], like
// tf.data.experimental.service.DispatcherConfig. The zero value of a field means
// TensorFlow's default.
type DispatcherOptions struct {
	Port int // 0: any free one

	// WorkDir is the folder of the journal, in which a dispatcher that starts again finds
	// its jobs; "": none.
	WorkDir string

	// WorkerAddresses lists all workers, HOST:PORT, for jobs that shard by files or
	// elements.
	WorkerAddresses []string

	ClientTimeout time.Duration // a job ends when its clients were silent for so long
	WorkerTimeout time.Duration // a worker is taken for dead when it was silent for so long
	GCTimeout     time.Duration // how long an ended job is remembered
}

// WorkerOptions are the options of [NewWorkerServer], like
// tf.data.experimental.service.WorkerConfig.
type WorkerOptions struct {
	Port       int    // 0: any free one
	Dispatcher string // address HOST:PORT of the dispatcher; required

	// Address is how clients and the dispatcher reach this worker: HOST:PORT. In it
	// "%port%" stands for the port of the server. Required.
	Address string

	Heartbeat         time.Duration // from one sign of life to the next
	DispatcherTimeout time.Duration // how long to wait for the dispatcher at the start
	QuietPeriod       time.Duration // how long Stop lets clients read what is ready
}

// Fields of DispatcherConfig and WorkerConfig.
const (
	dataServerPort     = 1
	dataServerProtocol = 2

	dispatcherWorkDir       = 3
	dispatcherFaultTolerant = 4
	dispatcherGCTimeout     = 6
	dispatcherWorkers       = 7
	dispatcherClientTimeout = 8
	dispatcherWorkerTimeout = 10

	workerDispatcher  = 3
	workerAddress     = 4
	workerHeartbeat   = 5
	workerTimeout     = 6
	workerTransfer    = 7
	workerQuietPeriod = 9
)

// DataServer is a dispatcher or a worker of TensorFlow's data service. It listens on every
// interface, without encryption or authentication, and a worker runs any graph that
// somebody sends: use it in a network whose machines you trust.
//
// A DataServer is safe for concurrent use.
type DataServer struct {
	worker  bool
	p       unsafe.Pointer // nobody frees it: the server lives as long as the process
	port    int
	stopped atomic.Bool
}

// NewDispatchServer starts a dispatcher. It needs the library of Millrace's operations, in
// which the interface to TensorFlow's C++ functions is; without the library, or if the port
// is taken, the error is of class millrace.ErrRuntime.
//
// It wraps tensorflow::data::NewDispatchServer.
func NewDispatchServer(o *DispatcherOptions) (*DataServer, error) {
	if o.Port < 0 || o.Port > maxPort {
		return nil, millrace.Errorf(millrace.ErrConfig, "port %d of a dispatcher: it is 0 to %d", o.Port, maxPort)
	}
	def := dataServerConfig(o.Port)
	def = appendText(def, dispatcherWorkDir, o.WorkDir)
	if o.WorkDir != "" {
		def = appendNumber(def, dispatcherFaultTolerant, 1)
	}
	for _, a := range o.WorkerAddresses {
		def = appendText(def, dispatcherWorkers, a)
	}
	def = appendNumber(def, dispatcherClientTimeout, o.ClientTimeout.Milliseconds())
	def = appendNumber(def, dispatcherWorkerTimeout, o.WorkerTimeout.Milliseconds())
	def = appendNumber(def, dispatcherGCTimeout, o.GCTimeout.Milliseconds())
	return startDataServer(false, def)
}

// NewWorkerServer starts a worker, which registers with the dispatcher. Where nobody answers
// there in time, or the port is taken, the error is of class millrace.ErrRuntime.
//
// It wraps tensorflow::data::NewWorkerServer.
func NewWorkerServer(o *WorkerOptions) (*DataServer, error) {
	switch {
	case o.Port < 0 || o.Port > maxPort:
		return nil, millrace.Errorf(millrace.ErrConfig, "port %d of a worker: it is 0 to %d", o.Port, maxPort)
	case o.Dispatcher == "" || o.Address == "":
		return nil, millrace.Errorf(millrace.ErrConfig, "a worker without its own address or the dispatcher's")
	}
	def := dataServerConfig(o.Port)
	def = appendText(def, workerDispatcher, o.Dispatcher)
	def = appendText(def, workerAddress, o.Address)
	def = appendNumber(def, workerHeartbeat, o.Heartbeat.Milliseconds())
	def = appendNumber(def, workerTimeout, o.DispatcherTimeout.Milliseconds())
	def = appendText(def, workerTransfer, "grpc")
	def = appendNumber(def, workerQuietPeriod, o.QuietPeriod.Milliseconds())
	return startDataServer(true, def)
}

const maxPort = 1<<16 - 1

// dataServerConfig returns the fields that both configs have.
func dataServerConfig(port int) []byte {
	return appendText(appendNumber(nil, dataServerPort, int64(port)), dataServerProtocol, "grpc")
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}

func appendNumber(b []byte, field protowire.Number, n int64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}

// startDataServer starts a server of a serialized config.
func startDataServer(worker bool, def []byte) (*DataServer, error) {
	s := &DataServer{worker: worker}
	var port C.int
	err := callDataServer("MillraceStartDataServer", func(library *C.char, message **C.char) C.int {
		var p unsafe.Pointer
		code := C.mr_start_data_server(library, C.int(flag(worker)), unsafe.Pointer(unsafe.SliceData(def)), C.size_t(len(def)), &p, &port, message)
		s.p = p
		return code
	})
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrRuntime, "start a server of the data service: %w", err)
	}
	s.port = int(port)
	return s, nil
}

// callDataServer calls a function of the library of operations that returns the code of a
// status and its message.
func callDataServer(name string, call func(library *C.char, message **C.char) C.int) error {
	r, err := Open(nil)
	if err != nil {
		return err
	}
	if !r.HasOperations() {
		_, err := r.Operations()
		if err == nil {
			err = millrace.Errorf(millrace.ErrRuntime, "the data service needs the library of Millrace's operations: type millrace runtime native")
		}
		return err
	}
	var cs cstrings
	defer cs.free()
	var message *C.char
	code := call(cs.add(r.operations), &message)
	if message != nil {
		defer C.free(unsafe.Pointer(message))
	}
	if code == 0 {
		return nil
	}
	return &Error{Func: name, Code: Code(code), Msg: C.GoString(message)}
}

// Port returns the port at which the server listens.
func (s *DataServer) Port() int { return s.port }

// Stop stops the server: a worker no longer reports to the dispatcher, and requests in flight
// are answered. It may be called once or more.
func (s *DataServer) Stop() error {
	if s.stopped.Swap(true) {
		return nil
	}
	return callDataServer("MillraceStopDataServer", func(library *C.char, message **C.char) C.int {
		return C.mr_stop_data_server(library, s.p, message)
	})
}

// Counts returns the tasks of a worker and 0, or the workers and the active iterations of a
// dispatcher. After Stop it returns zeros.
func (s *DataServer) Counts() (first, second int64, err error) {
	if s.stopped.Load() {
		return 0, 0, nil
	}
	var a, b C.int64_t
	err = callDataServer("MillraceCountDataServer", func(library *C.char, message **C.char) C.int {
		return C.mr_count_data_server(library, C.int(flag(s.worker)), s.p, &a, &b, message)
	})
	return int64(a), int64(b), err
}

// BlockCounts are blocks of data services that iterators of this process have asked for.
type BlockCounts struct {
	Received int64 // from services
	Made     int64 // here, because a service did not give them
	Dropped  int64 // because they came twice
}

// ServiceBlocks returns the counts of all runs of this process so far.
func ServiceBlocks() (n BlockCounts, err error) {
	var counts [3]C.int64_t
	err = callDataServer("MillraceBlockCounts", func(library *C.char, _ **C.char) C.int {
		return C.mr_block_counts(library, &counts[0])
	})
	return BlockCounts{int64(counts[0]), int64(counts[1]), int64(counts[2])}, err
}
