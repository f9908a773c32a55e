// Package wire reads protobuf messages field by field, where a corner of a large
// message is wanted and no generated code. [Each] stops at damage and reports it;
// [Fields] is for messages that have been checked.
package wire

import "google.golang.org/protobuf/encoding/protowire"

// Each calls fn with the fields of a message in their order: the bytes of one,
// or its number if it is a varint. It stops and returns false when fn does, and
// where the message is damaged.
func Each(message []byte, fn func(num protowire.Number, bytes []byte, number uint64) bool) bool {
	for len(message) > 0 {
		num, typ, size := protowire.ConsumeTag(message)
		if size < 0 {
			return false
		}
		message = message[size:]
		var bytes []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			bytes, size = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(message)
		default:
			size = protowire.ConsumeFieldValue(num, typ, message)
		}
		if size < 0 || !fn(num, bytes, number) {
			return false
		}
		message = message[size:]
	}
	return true
}
