package dataset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace/graph/dataset"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// Two processors represent a processor and another device.
func TestPrefetchToDevice(t *testing.T) {
	config, err := proto.Marshal(&tfproto.ConfigProto{DeviceCount: map[string]int32{"CPU": 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range []string{"/cpu:0", "/cpu:1"} {
		t.Run(device, func(t *testing.T) {
			s := newScope(t)
			d := dataset.Range(s, 0, 5, 1).Map("double", double, nil).PrefetchToDevice(device, 2)
			for range 2 {
				got, err := dataset.ToSlice[int64](t.Context(), d, &dataset.IterateOptions{
					Session: &tfbridge.SessionOptions{Config: config},
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]int64{0, 2, 4, 6, 8}, got); diff != "" {
					t.Errorf("elements (-want +got)\n%s", diff)
				}
			}
		})
	}
}
