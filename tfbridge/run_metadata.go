package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
	"millrace/internal/base/wire"
)

// RunMetadata is TensorFlow's record of a run.
type RunMetadata struct {
	// Raw is the whole record, a serialized RunMetadata message.
	Raw []byte
	// Devices list the operations that ran on each device, if the run was traced.
	Devices []DeviceTrace
	// PartitionGraphs are the graphs that were executed, serialized GraphDef messages,
	// if they were requested.
	PartitionGraphs [][]byte
}

// DeviceTrace lists the operations that ran on one device.
type DeviceTrace struct {
	Device string
	Nodes  []NodeTrace
}

// NodeTrace is one execution of an operation.
type NodeTrace struct {
	Name      string        // name of the operation
	Label     string        // "y = Mul(x, two)"; empty for some
	Thread    uint32        // number of the thread that began it
	Scheduled time.Time     // when it was ready to run
	Start     time.Time     // when it began
	Duration  time.Duration // time until its last step ended
	Bytes     int64         // bytes allocated while it ran
}

// RunTraced is Run that also returns TensorFlow's record of the run. c must have been
// prepared with RunOptions.Trace or PartitionGraphs. A traced run takes longer. If the
// run fails the metadata is nil.
//
// It wraps TF_SessionRun.
func (c *Callable) RunTraced(ctx context.Context, values []*Tensor) ([]*Tensor, *RunMetadata, error) {
	if ctx == nil {
		return nil, nil, errNoContext()
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, millrace.Canceled(ctx, "")
	}
	if c == nil || !c.traced {
		return nil, nil, millrace.Errorf(millrace.ErrConfig, "the run was not prepared for tracing: set RunOptions.Trace or PartitionGraphs")
	}
	if err := c.checkValues(values); err != nil {
		return nil, nil, err
	}
	var metadata *RunMetadata
	out, err := c.runCancelable(ctx, values, func(r *run) ([]*Tensor, error) {
		out, raw, err := r.traced()
		if err != nil {
			return nil, err
		}
		parsed, err := parseMetadata(raw)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		metadata = parsed
		return out, nil
	})
	if err != nil {
		return nil, nil, err // the run may still be in flight and set metadata
	}
	return out, metadata, nil
}

// traced is like run and also returns the metadata.
func (r *run) traced() ([]*Tensor, []byte, error) {
	defer r.slot.release()
	buf := C.TF_NewBuffer()
	defer C.TF_DeleteBuffer(buf)
	out := make([]*Tensor, len(r.c.out))
	if err := r.execute(out, buf); err != nil {
		return nil, nil, err
	}
	return out, copyBuffer(buf), nil
}

// The fields used of RunMetadata, and of the messages in it.
const (
	metadataStats      = 1
	metadataPartitions = 3

	statsDevice = 1

	deviceName  = 1
	deviceNodes = 2

	nodeName        = 1
	nodeStartMicros = 2
	nodeEndMicros   = 5
	nodeMemory      = 6
	nodeLabel       = 8
	nodeScheduled   = 9
	nodeThread      = 10
	nodeStartNanos  = 13
	nodeEndNanos    = 16

	memoryTotal = 2
)

// parseMetadata reads a RunMetadata message.
func parseMetadata(raw []byte) (*RunMetadata, error) {
	m := &RunMetadata{Raw: raw}
	ok := wire.Each(raw, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case metadataPartitions:
			m.PartitionGraphs = append(m.PartitionGraphs, v)
		case metadataStats:
			return wire.Each(v, func(num protowire.Number, v []byte, _ uint64) bool {
				if num != statsDevice {
					return true
				}
				d, ok := parseDevice(v)
				m.Devices = append(m.Devices, d)
				return ok
			})
		}
		return true
	})
	if !ok {
		return nil, millrace.Errorf(millrace.ErrInternal, "TensorFlow's record of the run is damaged")
	}
	return m, nil
}

// parseDevice reads a DeviceStepStats message.
func parseDevice(raw []byte) (d DeviceTrace, ok bool) {
	ok = wire.Each(raw, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case deviceName:
			d.Device = string(v)
		case deviceNodes:
			n, ok := parseNode(v)
			d.Nodes = append(d.Nodes, n)
			return ok
		}
		return true
	})
	return d, ok
}

// parseNode reads a NodeExecStats message. Older parts of TensorFlow count in
// microseconds only.
func parseNode(raw []byte) (NodeTrace, bool) {
	var t NodeTrace
	numbers := map[protowire.Number]int64{}
	ok := wire.Each(raw, func(num protowire.Number, v []byte, n uint64) bool {
		switch num {
		case nodeName:
			t.Name = string(v)
		case nodeLabel:
			t.Label = string(v)
		case nodeThread:
			t.Thread = uint32(n)
		case nodeMemory:
			return wire.Each(v, func(num protowire.Number, _ []byte, n uint64) bool {
				if num == memoryTotal {
					t.Bytes += int64(n)
				}
				return true
			})
		default:
			numbers[num] = int64(n)
		}
		return true
	})
	t.Scheduled = time.UnixMicro(numbers[nodeScheduled])
	t.Start, t.Duration = time.UnixMicro(numbers[nodeStartMicros]), time.Duration(numbers[nodeEndMicros])*time.Microsecond
	if ns := numbers[nodeStartNanos]; ns != 0 {
		t.Start, t.Duration = time.Unix(0, ns), time.Duration(numbers[nodeEndNanos])
	}
	return t, ok
}

// opType returns the type of the operation, or its name if the type is unknown.
func (n *NodeTrace) opType() string {
	if _, call, ok := strings.Cut(n.Label, " = "); ok {
		if typ, _, ok := strings.Cut(call, "("); ok {
			return typ
		}
	}
	return n.Name
}

// traceEvent is one event as Chrome's tracing page reads it.
type traceEvent struct {
	Name     string            `json:"name"`
	Category string            `json:"cat,omitempty"`
	Phase    string            `json:"ph"`
	Process  int               `json:"pid"`
	Thread   uint32            `json:"tid"`
	Micros   float64           `json:"ts"`
	Duration float64           `json:"dur"`
	Args     map[string]string `json:"args,omitempty"`
}

// WriteTimeline writes the trace as JSON for chrome://tracing, Perfetto and
// other viewers of Chrome traces: a process for each device, a row for each
// thread, times in microseconds since the first operation.
func (m *RunMetadata) WriteTimeline(w io.Writer) error {
	if m == nil || w == nil {
		return millrace.Errorf(millrace.ErrConfig, "write timeline: the metadata or the writer is nil")
	}
	var first time.Time
	for _, d := range m.Devices {
		for _, n := range d.Nodes {
			if first.IsZero() || n.Start.Before(first) {
				first = n.Start
			}
		}
	}
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	events := []traceEvent{}
	for i, d := range m.Devices {
		events = append(events, traceEvent{Name: "process_name", Phase: "M", Process: i, Args: map[string]string{"name": d.Device}})
		for _, n := range d.Nodes {
			events = append(events, traceEvent{
				Name: n.opType(), Category: "Op", Phase: "X", Process: i, Thread: n.Thread,
				Micros: micros(n.Start.Sub(first)), Duration: micros(n.Duration),
				Args: map[string]string{"name": n.Name, "label": n.Label},
			})
		}
	}
	err := json.NewEncoder(w).Encode(map[string]any{"traceEvents": events})
	if err != nil {
		return millrace.Errorf(millrace.ErrIO, "write timeline: %w", err)
	}
	return nil
}
