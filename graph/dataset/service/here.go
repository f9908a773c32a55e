package service

import (
	"cmp"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// HereOptions are the options of [Here].
type HereOptions struct {
	Dispatcher string // address HOST:PORT of the dispatcher; "": one in this process
	Host       string // clients reach this machine by it; "": its name, or localhost with a dispatcher here
	Port       int    // where the worker listens; 0: any free one
}

// here are the servers of this process. They live as long as it does, because TensorFlow cannot
// end them, so there is one worker for each dispatcher.
var here struct {
	sync.Mutex
	dispatcher string            // address of the dispatcher in this process; "": none
	workers    map[string]string // addresses of workers by their dispatcher's
}

// Here has a worker of a data service in this process, and returns the address of its dispatcher.
// Datasets of this process take its elements from memory, without gRPC and copies. Where there is
// one already for the same dispatcher, it is the one. The servers listen on every interface,
// without encryption or authentication, until the process ends. Errors are of class
// millrace.ErrRuntime.
func Here(o *HereOptions) (dispatcher string, err error) {
	here.Lock()
	defer here.Unlock()
	dispatcher, host := o.Dispatcher, o.Host
	if dispatcher == "" {
		if dispatcher, err = dispatcherHere(); err != nil {
			return "", err
		}
		host = cmp.Or(host, localhost)
	}
	if _, ok := here.workers[dispatcher]; ok {
		return dispatcher, nil
	}
	if host == "" {
		name, err := os.Hostname()
		if err != nil {
			return "", millrace.Errorf(millrace.ErrRuntime, "find this machine's name: %w", err)
		}
		host = cmp.Or(name, localhost)
	}
	port := "%port%"
	if o.Port != 0 {
		port = strconv.Itoa(o.Port)
	}
	_, err = tfbridge.NewWorkerServer(&tfbridge.WorkerOptions{
		Port: o.Port, Dispatcher: dispatcher, Address: host + ":" + port, Heartbeat: time.Second, DispatcherTimeout: time.Minute,
	})
	if err != nil {
		return "", err
	}
	if here.workers == nil {
		here.workers = map[string]string{}
	}
	here.workers[dispatcher] = host
	return dispatcher, nil
}

const localhost = "localhost"

// dispatcherHere returns the address of the dispatcher of this process.
func dispatcherHere() (string, error) {
	if here.dispatcher == "" {
		d, err := tfbridge.NewDispatchServer(&tfbridge.DispatcherOptions{})
		if err != nil {
			return "", err
		}
		here.dispatcher = net.JoinHostPort(localhost, strconv.Itoa(d.Port()))
	}
	return here.dispatcher, nil
}
