package preview

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"millrace/dtype"
	"millrace/tfbridge"
)

// Limits of what is shown.
const (
	mostNumbers  = 64
	mostText     = 2000      // bytes
	mostEmbedded = 4 << 20   // bytes of an image or a sound
	mostPixels   = 512 * 512 // larger tensors are thinned
	leastSamples = 800       // shorter vectors are numbers
	soundRate    = 16000     // samples a second, since a tensor has no rate
)

// view shows the value of one example: t has a first axis of size 1, and then shape.
func view(t *tfbridge.Tensor, shape []int64) (v View, err error) {
	if t.DataType() == dtype.String {
		return viewStrings(t)
	}
	values, err := numbersOf(t)
	if err != nil {
		return v, err
	}
	v.same = digest(values)
	switch {
	case values == nil:
		v.Text = "not shown"
	case isImage(shape):
		v.Image, err = picture(values, int(shape[0]), int(shape[1]), int(shape[2]))
		v.Alt = fmt.Sprintf("image of %d by %d pixels", shape[1], shape[0])
	case len(shape) == 2 && shape[0] >= 8 && shape[1] >= 8:
		v.Image, err = spectrogram(values, int(shape[0]), int(shape[1]))
		v.Alt = fmt.Sprintf("%d rows of %d values as shades", shape[0], shape[1])
		v.Text = span(values)
	case len(values) >= leastSamples && (len(shape) == 1 || len(shape) == 2 && shape[1] <= 2):
		channels := 1
		if len(shape) == 2 {
			channels = int(shape[1])
		}
		v.Sound = sound(values, channels)
		v.Text = span(values)
	default:
		v.Text = list(values)
	}
	return v, err
}

// isImage reports whether a tensor of a shape is an image.
func isImage(shape []int64) bool {
	return len(shape) == 3 && shape[0] > 0 && shape[1] > 0 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4)
}

func digest(values []float64) string {
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, values)
	return string(h.Sum(nil))
}

// numbersOf returns the values of a tensor as float64, nil for dtypes that are not shown.
func numbersOf(t *tfbridge.Tensor) ([]float64, error) {
	switch t.DataType() {
	case dtype.Float:
		return converted[float32](t)
	case dtype.Double:
		return converted[float64](t)
	case dtype.Int8:
		return converted[int8](t)
	case dtype.Int16:
		return converted[int16](t)
	case dtype.Int32:
		return converted[int32](t)
	case dtype.Int64:
		return converted[int64](t)
	case dtype.Uint8:
		return converted[uint8](t)
	case dtype.Uint16:
		return converted[uint16](t)
	case dtype.Uint32:
		return converted[uint32](t)
	case dtype.Uint64:
		return converted[uint64](t)
	case dtype.Bool:
		list, err := tfbridge.View[bool](t)
		values := make([]float64, len(list))
		for i, x := range list {
			if x {
				values[i] = 1
			}
		}
		return values, err
	}
	return nil, nil
}

func converted[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](t *tfbridge.Tensor) ([]float64, error) {
	list, err := tfbridge.View[T](t)
	values := make([]float64, len(list))
	for i, x := range list {
		values[i] = float64(x)
	}
	return values, err
}

// limits returns the smallest and the largest finite value.
func limits(values []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, x := range values {
		if !math.IsInf(x, 0) && x == x {
			least, most = min(least, x), max(most, x)
		}
	}
	return least, most
}

func span(values []float64) string {
	least, most := limits(values)
	return fmt.Sprintf("%.4g to %.4g", least, most)
}

// list prints numbers.
func list(values []float64) string {
	var words []string
	for _, x := range values[:min(len(values), mostNumbers)] {
		words = append(words, strconv.FormatFloat(x, 'g', 6, 64))
	}
	text := strings.Join(words, " ")
	if len(values) > mostNumbers {
		text += fmt.Sprintf(" … (%d values)", len(values))
	}
	return text
}

// picture makes an image of a tensor. Values from 0 to 255 are shades, and those from 0 to 1 are,
// too; others are stretched between the smallest and the largest.
func picture(values []float64, height, width, channels int) (template.URL, error) {
	least, most := limits(values)
	switch {
	case least >= 0 && most <= 1:
		least, most = 0, 1
	case least >= 0 && most <= 255:
		least, most = 0, 255
	}
	step := 1
	for height/step*(width/step) > mostPixels {
		step++
	}
	shade := func(x float64) uint8 {
		if x != x || most <= least {
			return 0
		}
		return uint8(math.Round(255 * min(max((x-least)/(most-least), 0), 1)))
	}
	m := image.NewNRGBA(image.Rect(0, 0, max(width/step, 1), max(height/step, 1)))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			pixel := values[(y*step*width+x*step)*channels:]
			c := color.NRGBA{shade(pixel[0]), shade(pixel[0]), shade(pixel[0]), 255}
			if channels >= 3 {
				c.G, c.B = shade(pixel[1]), shade(pixel[2])
			}
			if channels == 4 {
				c.A = shade(pixel[3])
			}
			m.SetNRGBA(x, y, c)
		}
	}
	var text bytes.Buffer
	if err := png.Encode(&text, m); err != nil {
		return "", err
	}
	return embedded("image/png", text.Bytes()), nil
}

// spectrogram shows a matrix: time, the first axis, from left to right, and the second one from
// below.
func spectrogram(values []float64, frames, bins int) (template.URL, error) {
	turned := make([]float64, len(values))
	for t := range frames {
		for k := range bins {
			turned[(bins-1-k)*frames+t] = values[t*bins+k]
		}
	}
	least, most := limits(turned)
	for i, x := range turned {
		turned[i] = (x - least) / max(most-least, 1e-30)
	}
	return picture(turned, bins, frames, 1)
}

// sound makes a WAV file of samples from -1 to 1.
func sound(values []float64, channels int) template.URL {
	values = values[:min(len(values), mostEmbedded/2)]
	var w bytes.Buffer
	number := func(x any) { binary.Write(&w, binary.LittleEndian, x) } // a buffer takes all
	w.WriteString("RIFF")
	number(uint32(36 + 2*len(values)))
	w.WriteString("WAVEfmt ")
	number(uint32(16))
	number([]uint16{1, uint16(channels)})
	number([]uint32{soundRate, uint32(soundRate * 2 * channels)})
	number([]uint16{uint16(2 * channels), 16})
	w.WriteString("data")
	number(uint32(2 * len(values)))
	for _, x := range values {
		if x != x {
			x = 0
		}
		number(int16(math.Round(32767 * min(max(x, -1), 1))))
	}
	return embedded("audio/wav", w.Bytes())
}

// embedded returns data as a URL.
func embedded(kind string, data []byte) template.URL {
	return template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data))
}

// viewStrings shows strings: one that is an image or a sound as that, and others as text.
func viewStrings(t *tfbridge.Tensor) (v View, err error) {
	all, err := t.Strings()
	if err != nil {
		return v, err
	}
	v.same = strings.Join(all, "\x00")
	if len(all) == 1 {
		kind := http.DetectContentType([]byte(all[0]))
		switch {
		case len(all[0]) > mostEmbedded:
		case kind == "image/jpeg" || kind == "image/png" || kind == "image/gif" || kind == "image/bmp":
			v.Image, v.Alt = embedded(kind, []byte(all[0])), "the bytes of an image"
			v.Text = fmt.Sprintf("%s, %d bytes", kind, len(all[0]))
			return v, nil
		case kind == "audio/wave":
			v.Sound, v.Text = embedded("audio/wav", []byte(all[0])), fmt.Sprintf("%d bytes", len(all[0]))
			return v, nil
		}
	}
	var words []string
	size := 0
	for i, text := range all {
		if size += len(text); size > mostText {
			words = append(words, fmt.Sprintf("… (%d strings)", len(all)-i))
			break
		}
		if !utf8.ValidString(text) {
			text = strconv.QuoteToASCII(text)
		} else if len(all) > 1 {
			text = strconv.Quote(text)
		}
		words = append(words, text)
	}
	v.Text = strings.Join(words, " ")
	return v, nil
}
