package wire

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestEach(t *testing.T) {
	message := protowire.AppendTag(nil, 1, protowire.VarintType)
	message = protowire.AppendVarint(message, 300)
	message = protowire.AppendTag(message, 2, protowire.Fixed32Type)
	message = protowire.AppendFixed32(message, 7)
	message = protowire.AppendTag(message, 3, protowire.BytesType)
	message = protowire.AppendBytes(message, []byte("text"))
	fields := 0
	ok := Each(message, func(num protowire.Number, bytes []byte, number uint64) bool {
		fields++
		if num == 1 && number != 300 || num == 3 && string(bytes) != "text" {
			t.Errorf("field %d: %q, %d", num, bytes, number)
		}
		return true
	})
	if !ok || fields != 3 {
		t.Errorf("%d fields, ended well: %v", fields, ok)
	}
	ends := map[int]bool{0: true, 3: true, 8: true, len(message): true} // between fields
	for n := range len(message) + 1 {
		if Each(message[:n], func(protowire.Number, []byte, uint64) bool { return true }) != ends[n] {
			t.Errorf("cut to %d bytes: damaged is %v", n, ends[n])
		}
	}
	if Each(message, func(protowire.Number, []byte, uint64) bool { return false }) {
		t.Error("went on although the function said no")
	}
}
