package rest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/serving/internal/message"
)

// status answers with the states of versions.
func (c *call) status() ([]byte, error) {
	all, err := c.server.Status(c.spec)
	if err != nil {
		return nil, err
	}
	text, err := asJSON(message.ModelStatus(all))
	return append(text, '\n'), err
}

// metadata answers with the signatures of a version.
func (c *call) metadata() ([]byte, error) {
	v, err := c.acquire(c.ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	signatures, err := message.Signatures(v.MetaGraph())
	if err != nil {
		return nil, err
	}
	spec, err := asJSON(&servingproto.ModelSpec{Name: v.Name, VersionChoice: message.VersionNumber(v.Number)})
	if err != nil {
		return nil, err
	}
	defs, err := asJSON(signatures)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "{\"model_spec\":%s,\"metadata\":{\"signature_def\":%s}}\n", spec, defs), nil
}

// asJSON returns a message as JSON with all its fields.
func asJSON(m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "the answer cannot be written as JSON: %w", err)
	}
	var compact bytes.Buffer // protojson varies its spaces
	if err := json.Compact(&compact, text); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}
