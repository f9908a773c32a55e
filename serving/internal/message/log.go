package message

import (
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
)

// Serialized returns the serialized description of a request for its log. It returns
// nil if describe returns nil, or if the message cannot be serialized.
func Serialized(describe func() *servingproto.PredictionLog) func() []byte {
	return func() []byte {
		m := describe()
		if m == nil {
			return nil
		}
		text, err := proto.Marshal(m)
		if err != nil {
			return nil
		}
		return text
	}
}
