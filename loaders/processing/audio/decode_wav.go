package audio

import (
	"fmt"

	"millrace/dtype"
	"millrace/internal/base/bytecheck"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// DecodeWavArgs are the arguments of a step of type decode_wav.
type DecodeWavArgs struct {
	decl.Object
	Channels int64 `json:"channels" decl:"default=-1,min=-1,max=65535" doc:"How many channels the result has; -1 as many as the file."`
}

// Check returns a step that decodes a WAV file with samples of 16 bits to float32 from -1 to 1,
// [samples, channels].
func (a *DecodeWavArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if a.At == nil || a.Bad("channels") || !ok || !c.Ranked(t, 0, 0) {
		return nil
	}
	channels := a.Channels
	if channels == 0 {
		channels = -1
	}
	to := processing.Tensor{DType: dtype.Float, Shape: []int64{-1, channels}}
	return processing.Fold{What: fmt.Sprintf("%d channels", channels), To: to, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		spec := &bytecheck.Spec{Op: "DecodeWav", Channels: channels, Samples: -1, Limit: b.DecodeLimit}
		checked := b.Checked("decode_wav", in[0], spec)
		if b.Err() != nil {
			return tfbridge.Output{}
		}
		return b.Shaped(b.Op("DecodeWav", map[string]any{"desired_channels": channels, "desired_samples": int64(-1)}, checked)[0], to.Shape)
	}}
}
