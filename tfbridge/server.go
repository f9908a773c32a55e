package tfbridge

// #include "capi.h"
import "C"

import (
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"unsafe"

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
