package text

import (
	"millrace/diag"
	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// UnicodeDecodeArgs are the arguments of a step of type unicode_decode.
type UnicodeDecodeArgs struct {
	decl.Object
	Encoding string `json:"encoding" decl:"default=UTF-8" doc:"How the strings are encoded: UTF-8, UTF-16-BE, UTF-32-BE, US-ASCII, ISO-8859-1 or another one that TensorFlow knows. What does not decode becomes U+FFFD."`
}

// encodings are those that TensorFlow's operation is known to support.
var encodings = []string{"UTF-8", "UTF-16-BE", "UTF-32-BE", "UTF-16", "UTF-16-LE", "UTF-32", "UTF-32-LE", "US-ASCII", "ISO-8859-1", "ISO-8859-15", "windows-1252", "Shift_JIS", "EUC-JP", "GB18030", "Big5", "KOI8-R"}

// Check returns a step that makes a vector of the code points of a string.
func (a *UnicodeDecodeArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("encoding") {
		return nil
	}
	if hint := diag.DidYouMean(a.Encoding, encodings); hint != "" || a.Encoding == "" {
		known := false
		for _, e := range encodings {
			known = known || e == a.Encoding
		}
		if !known {
			c.Report(a.Key("encoding"), "no encoding named %s", decl.Quote(a.Encoding)).Hint = hint
			return nil
		}
	}
	return parts(c, a.Encoding, dtype.Int32, func(b *processing.Site, x tfbridge.Output) processing.Joined {
		out := b.Op("UnicodeDecode", map[string]any{"input_encoding": a.Encoding, "errors": "replace", "replacement_char": int64(0xFFFD)}, x)
		if b.Err() != nil {
			return processing.Joined{}
		}
		return processing.Joined{Values: out[1], Splits: out[0]}
	})
}
