package service

import (
	"context"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
	"millrace/internal/base/wire"
)

// Methods of the servers.
const (
	getVersion = "/tensorflow.data.DispatcherService/GetVersion"
	getWorkers = "/tensorflow.data.DispatcherService/GetWorkers"
	getTasks   = "/tensorflow.data.WorkerService/GetWorkerTasks"
)

// Fields of the messages.
const (
	versionNumber = 1
	workersList   = 1
	workerAddress = 1
	tasksList     = 1
	taskID        = 2
	taskIteration = 3
)

// Protocol is the version of the data service's protocol in the TensorFlow that this
// program is made for. A dispatcher with another one refuses its clients.
const Protocol = 9

// Version returns the version of a dispatcher's protocol.
func Version(ctx context.Context, dispatcher string) (version int64, err error) {
	answer, err := call(ctx, dispatcher, getVersion, nil)
	if err != nil {
		return 0, err
	}
	ok := wire.Each(answer, func(num protowire.Number, _ []byte, v uint64) bool {
		if num == versionNumber {
			version = int64(v)
		}
		return true
	})
	return version, damaged(dispatcher, ok)
}

// Workers returns the addresses of the workers that a dispatcher knows. A worker that ended
// stays in the list until the dispatcher has missed it for a while.
func Workers(ctx context.Context, dispatcher string) (addresses []string, err error) {
	answer, err := call(ctx, dispatcher, getWorkers, nil)
	if err != nil {
		return nil, err
	}
	ok := wire.Each(answer, func(num protowire.Number, worker []byte, _ uint64) bool {
		return num != workersList || wire.Each(worker, func(num protowire.Number, v []byte, _ uint64) bool {
			if num == workerAddress {
				addresses = append(addresses, string(v))
			}
			return true
		})
	})
	return addresses, damaged(dispatcher, ok)
}

// Task is what a worker does for one iteration of a job.
type Task struct {
	ID        int64 `json:"id"`
	Iteration int64 `json:"iteration"`
}

// Tasks returns the tasks of a worker.
func Tasks(ctx context.Context, worker string) (tasks []Task, err error) {
	answer, err := call(ctx, worker, getTasks, nil)
	if err != nil {
		return nil, err
	}
	ok := wire.Each(answer, func(num protowire.Number, task []byte, _ uint64) bool {
		if num != tasksList {
			return true
		}
		var t Task
		fine := wire.Each(task, func(num protowire.Number, _ []byte, v uint64) bool {
			switch num {
			case taskID:
				t.ID = int64(v)
			case taskIteration:
				t.Iteration = int64(v)
			}
			return true
		})
		tasks = append(tasks, t)
		return fine
	})
	return tasks, damaged(worker, ok)
}

func damaged(address string, ok bool) error {
	if ok {
		return nil
	}
	return millrace.Errorf(millrace.ErrIO, "the data service at %s: %w", millrace.Quote(address), errors.New("the answer is damaged"))
}

// Check returns an error unless a dispatcher answers, speaks this program's protocol and has
// workers. The class is millrace.ErrIO where it does not answer or has none, and
// millrace.ErrRuntime for another protocol.
func Check(ctx context.Context, dispatcher string) (workers []string, err error) {
	version, err := Version(ctx, dispatcher)
	if err != nil {
		return nil, err
	}
	if version != Protocol {
		return nil, millrace.Errorf(millrace.ErrRuntime, "the dispatcher at %s is of another TensorFlow: its protocol has version %d, this program's %d; run the same version of millrace everywhere", millrace.Quote(dispatcher), version, Protocol)
	}
	if workers, err = Workers(ctx, dispatcher); err == nil && len(workers) == 0 {
		err = millrace.Errorf(millrace.ErrIO, "the dispatcher at %s has no workers; start some: millrace worker --dispatcher %s", millrace.Quote(dispatcher), dispatcher)
	}
	return workers, err
}
