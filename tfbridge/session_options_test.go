package tfbridge

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
)

// TensorFlow reads the values of the options, which override Config.
func TestSessionConfigMessage(t *testing.T) {
	raw, err := proto.Marshal(&tfproto.ConfigProto{
		IntraOpParallelismThreads: 7,
		IsolateSessionState:       true,
		GpuOptions:                &tfproto.GPUOptions{AllocatorType: "BFC"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		o    SessionOptions
		want *tfproto.ConfigProto
	}{
		{"none", SessionOptions{}, &tfproto.ConfigProto{}},
		{"all", SessionOptions{
			Config: raw, IntraOpThreads: 1, InterOpThreads: -1, OwnThreads: true, GPUGrowth: true, GPUMemoryFraction: 0.25,
			VisibleGPUs: []int{2, 0}, JIT: JITOn, SoftPlacement: true, LogPlacement: true, Timeout: 1500 * time.Microsecond,
		}, &tfproto.ConfigProto{
			IntraOpParallelismThreads: 1, InterOpParallelismThreads: -1, UsePerSessionThreads: true, IsolateSessionState: true,
			GpuOptions:         &tfproto.GPUOptions{AllocatorType: "BFC", AllowGrowth: true, PerProcessGpuMemoryFraction: 0.25, VisibleDeviceList: "2,0"},
			AllowSoftPlacement: true, LogDevicePlacement: true, OperationTimeoutInMs: 2,
			GraphOptions: &tfproto.GraphOptions{OptimizerOptions: &tfproto.OptimizerOptions{GlobalJitLevel: tfproto.OptimizerOptions_ON_1, CpuGlobalJit: true}},
		}},
		{"a task of a cluster", SessionOptions{DeviceFilters: []string{"/job:ps", "/job:worker/task:1"}, CollectiveLeader: "/job:worker/task:0"}, &tfproto.ConfigProto{
			DeviceFilters: []string{"/job:ps", "/job:worker/task:1"},
			Experimental:  &tfproto.ConfigProto_Experimental{CollectiveGroupLeader: "/job:worker/task:0"},
		}},
		{"no GPU", SessionOptions{VisibleGPUs: []int{}, JIT: JITOff, QuickStart: true}, &tfproto.ConfigProto{
			DeviceCount: map[string]int32{"GPU": 0},
			GraphOptions: &tfproto.GraphOptions{
				OptimizerOptions: &tfproto.OptimizerOptions{GlobalJitLevel: tfproto.OptimizerOptions_OFF},
				RewriteOptions:   &tfproto.RewriterConfig{DisableTfgOptimizer: true},
			},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := new(tfproto.ConfigProto)
			if err := proto.Unmarshal(tt.o.config(), got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			b := newBuild(t)
			o := tt.o
			o.Timeout = time.Minute
			s, err := NewSession(b.g, &o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := run1(t, s, nil, b.constant("x", int32(3))); got != int32(3) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSessionOptionsRefuse(t *testing.T) {
	testruntime.Need(t)
	b := newBuild(t)
	for _, o := range []SessionOptions{
		{GPUMemoryFraction: -1}, {GPUMemoryFraction: math.NaN()}, {GPUMemoryFraction: math.Inf(1)},
		{VisibleGPUs: []int{-1}}, {VisibleGPUs: []int{1, 1}}, {JIT: 3}, {JIT: -2}, {Timeout: -1},
	} {
		if _, err := NewSession(b.g, &o); !errors.Is(err, millrace.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A timeout ends a waiting run, and the session keeps working.
func TestTimeouts(t *testing.T) {
	b := newBuild(t)
	_, get := emptyQueue(b)
	x := b.constant("x", int32(1))
	limited, err := NewSession(b.g, &SessionOptions{Timeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	s := b.session()
	c, err := s.PrepareRun(nil, []Output{get}, nil, &RunOptions{Timeout: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	_, ofSession := limited.Run(nil, []Output{get}, nil)
	_, ofRun := c.Run(t.Context(), nil)
	for name, err := range map[string]error{"session": ofSession, "run": ofRun} {
		if !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, DeadlineExceeded) {
			t.Errorf("timeout of a %s: %v", name, err)
		}
	}
	for _, s := range []*Session{s, limited} {
		if got := run1(t, s, nil, x); got != int32(1) {
			t.Errorf("the next run gives %v", got)
		}
	}
	for want, o := range map[string]*RunOptions{"must not be negative, got -1ns": {Timeout: -1}, "must be from 0 to 3, got 4": {Trace: 4}} {
		if _, err := s.PrepareRun(nil, []Output{x}, nil, o); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", o, err, want)
		}
	}
}

// TensorFlow reads the key of collective operations.
func TestCollectiveKey(t *testing.T) {
	got := &tfproto.RunOptions{}
	if err := proto.Unmarshal((&RunOptions{CollectiveKey: 7}).encode(), got); err != nil {
		t.Fatal(err)
	}
	want := &tfproto.RunOptions{Experimental: &tfproto.RunOptions_Experimental{CollectiveGraphKey: 7}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
